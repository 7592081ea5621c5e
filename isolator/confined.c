#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "isolator/backend.h"
#include "isolator/host.h"
#include "isolator/idmap.h"
#include "isolator/mount.h"
#include "isolator/profile.h"
#include "isolator/spec.h"

/*
 * What one of our own processes sees: enough of the host for a dynamic program
 * and a resolver, as copies where it is a file, so that nothing of /etc but
 * what stands here is there.
 */
static const char *const copied[] = { "etc/ld.so.cache", "etc/resolv.conf",
	"etc/hosts", "etc/nsswitch.conf", "etc/localtime",
	"etc/ssl/openssl.cnf", "etc/ssl/certs/ca-certificates.crt" };

/* Links on today's systems, directories on older ones. */
static const char *const libraries[] = { "usr", "lib", "lib64", "lib32" };

static const char *const places[] = { "proc", "dev", "etc", "etc/ssl",
	"etc/ssl/certs", "tmp", "state" };

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

enum { COPY_MAX = 4 << 20, TMP_BYTES = 64 << 20 };

struct build {
	struct host *host;
	const struct confined *want;
	struct spec spec;
	int fd[SPEC_FDS];
	int root; /* being furnished; sent as SPEC_FD_ROOT */
};

/* ---- its root ---- */

static int
copy_file(int root, const char *name, struct err *err)
{
	char path[64];
	auto_fd int from = -1, to = -1;
	struct stat st;

	snprintf(path, sizeof path, "/%s", name);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > COPY_MAX)
		return 0; /* not every host has it */
	to = openat(root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (to < 0)
		return err_sys(err, "make %s", name);
	while (st.st_size > 0) {
		ssize_t n = sendfile(to, from, NULL, (size_t)st.st_size);

		if (n < 0)
			return err_sys(err, "copy %s", name);
		if (n == 0)
			break;
		st.st_size -= n;
	}
	return 0;
}

static void
add_mount(struct build *b, const char *at, int tree, uint32_t flags)
{
	int i = b->spec.nmount++;
	struct spec_mount *m = &b->spec.mount[i];

	snprintf(m->at, sizeof m->at, "%s", at);
	m->flags = flags;
	m->kind = tree < 0 ? SPEC_MOUNT_TMPFS : SPEC_MOUNT_GIVEN;
	m->bytes = tree < 0 ? TMP_BYTES : 0;
	b->fd[SPEC_FD_MOUNT + i] = tree;
}

static int
add_library(struct build *b, const char *name, struct err *err)
{
	char path[16], to[PATH_MAX];
	ssize_t n;
	int dir, tree;

	snprintf(path, sizeof path, "/%s", name);
	n = readlink(path, to, sizeof to - 1);
	if (n > 0) {
		to[n] = '\0';
		return symlinkat(to, b->root, name) < 0
		    ? err_sys(err, "%s", path)
		    : 0;
	}
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", path);
	tree = mount_clone_attr(dir, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, -1,
	    err);
	close(dir);
	if (tree < 0)
		return err_wrap(err, "%s", path);
	add_mount(b, path, tree, SPEC_READONLY);
	if (mkdirat(b->root, name, 0755) < 0)
		return err_sys(err, "make %s", path);
	return 0;
}

static int
make_root(struct build *b, struct err *err)
{
	static const struct mount_opt opt[] = { { "mode", "0755" },
		{ "size", "8m" }, { "nr_inodes", "256" }, { NULL } };

	b->root =
	    mount_new("tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (b->root < 0)
		return -1;
	b->fd[SPEC_FD_ROOT] = b->root;
	for (size_t i = 0; i < COUNT(places); i++)
		if (mkdirat(b->root, places[i], 0755) < 0)
			return err_sys(err, "make %s", places[i]);
	for (size_t i = 0; i < COUNT(libraries); i++)
		if (add_library(b, libraries[i], err) < 0)
			return -1;
	for (size_t i = 0; i < COUNT(copied); i++)
		if (copy_file(b->root, copied[i], err) < 0)
			return -1;
	add_mount(b, "/tmp", -1, SPEC_NOEXEC);
	return 0;
}

/* It belongs to the process's root as it is, or after an idmap from slot 0. */
static int
add_state(struct build *b, uint32_t slot, struct err *err)
{
	struct idmap *ids = b->host->idmap;
	unsigned attr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int userns = -1, tree;
	struct stat st;

	if (b->want->dir < 0)
		return 0;
	if (fstat(b->want->dir, &st) < 0)
		return err_sys(err, "state directory");
	if (st.st_uid != idmap_first(ids, slot)) {
		if (st.st_uid != idmap_first(ids, 0))
			return err_set(err, ERR_INVALID,
			    "state directory belongs to id %u, not to %u",
			    st.st_uid, idmap_first(ids, slot));
		userns = idmap_rest(ids, slot, err);
		if (userns < 0)
			return -1;
	}
	tree = mount_clone_attr(b->want->dir, attr, userns, err);
	if (tree < 0)
		return err_wrap(err, "state directory");
	add_mount(b, "/state", tree, SPEC_NOEXEC);
	return 0;
}

/* ---- its words ---- */

static int
add_words(struct spec *s, size_t *at, const char *const *word, uint16_t *n,
    struct err *err)
{
	for (; *word != NULL; word++) {
		size_t len = strlen(*word) + 1;

		if (len > sizeof s->args - *at)
			return err_set(err, ERR_LIMIT,
			    "arguments and environment: over %zu bytes",
			    sizeof s->args);
		memcpy(s->args + *at, *word, len);
		*at += len;
		(*n)++;
	}
	return 0;
}

static int
fill(struct build *b, struct err *err)
{
	static const char *const env[] = { "PATH=/usr/bin", "HOME=/state",
		"LANG=C.UTF-8",
#ifdef SANITIZED /* looking for leaks at the end needs ptrace */
		"ASAN_OPTIONS=detect_leaks=0",
#endif
		NULL };
	const struct confined *c = b->want;
	const struct profile_row *p = profile_row(c->profile);
	struct spec *s = &b->spec;
	size_t at = 0;

	s->magic = SPEC_MAGIC;
	s->flags = p->flags;
	s->caps = p->caps;
	s->exec_at = (uint16_t)b->host->exec_at;
	s->nofile = s->exec_at; /* keeps that number from ever coming back */
	s->nkeep = (uint16_t)c->nfd;
	s->nfilter = b->host->filter[c->profile].n;
	snprintf(s->hostname, sizeof s->hostname, "hutch-%s", p->name);
	for (size_t i = 0; i < c->nfd; i++)
		b->fd[SPEC_FD_KEEP + i] = c->fd[i];
	b->fd[SPEC_FD_EXEC] = c->exec;
	if (add_words(s, &at, c->argv, &s->argc, err) < 0)
		return -1;
	return add_words(s, &at, c->env ? c->env : env, &s->envc, err);
}

/* ---- start ---- */

/* The rest of .fd is the caller's. */
static void
build_drop(struct build *b)
{
	if (b->fd[SPEC_FD_ROOT] >= 0)
		close(b->fd[SPEC_FD_ROOT]);
	for (int i = 0; i < SPEC_MOUNTS; i++)
		if (b->fd[SPEC_FD_MOUNT + i] >= 0)
			close(b->fd[SPEC_FD_MOUNT + i]);
}

static int
claim(struct build *b, struct blank *k, uint32_t slot, struct err *err)
{
	struct host *h = b->host;

	if (make_root(b, err) < 0 || add_state(b, slot, err) < 0 ||
	    fill(b, err) < 0)
		return -1;
	b->fd[SPEC_FD_DEV] = k->dev;
	return spec_send(k->born.control, &b->spec, b->fd,
	    h->filter[b->want->profile].at, err);
}

int
confined_start(struct host *h, const struct confined *c, struct instance *out,
    struct err *err)
{
	const struct profile_row *p = profile_row(c->profile);
	uint32_t slot = c->profile == PROFILE_FETCH ? 0 : c->slot;
	struct cgroup_limits limits = { .memory = c->memory, .pids = p->pids };
	auto_fd int net =
	    p->net ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) : -1;
	struct build b = { .host = h, .want = c, .root = -1 };
	struct blank_want w = { .slot = slot, .net = net };
	struct blank k;
	char name[32];
	int got;

	if (p->agent || c->nfd > SPEC_KEEP)
		return err_set(err, ERR_INVALID, "profile %s", p->name);
	if (p->net && net < 0)
		return err_sys(err, "our network");
	snprintf(name, sizeof name, "%s-%u", p->name, h->serial++);
	w.name = name;
	memset(b.fd, 0xff, sizeof b.fd);
	if (blank_start(h, &w, &k, err) < 0)
		return -1;
	got = blank_enter(h, &k, &limits, err);
	if (got == 0)
		got = claim(&b, &k, slot, err);
	build_drop(&b);
	if (got < 0) {
		blank_drop(h, &k);
		return err_wrap(err, "%s", p->name);
	}
	blank_take(&k, h, out);
	return 0;
}
