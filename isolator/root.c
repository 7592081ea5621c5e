#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/idmap.h"
#include "isolator/mount.h"
#include "isolator/nest.h"
#include "isolator/ns.h"
#include "isolator/root.h"

enum { MAX_LAYERS = NEST_PLACES - 1, GRAVES = 16 };

struct roots {
	struct ns *ns;
	struct nest *nest;
	struct idmap *idmap;
	uint32_t id_base;
	bool by_fd;
	int grave[GRAVES]; /* to be closed by roots_tidy */
	size_t ngrave;
};

/* ---- a writable tree: for the upper and for all else ---- */

static int
sized_tmpfs(const struct roots *r, uint64_t bytes, struct err *err)
{
	char size[24], inodes[24], id[16];
	struct mount_opt opt[] = { { "mode", "0755" }, { "size", size },
		{ "nr_inodes", inodes }, { "uid", id }, { "gid", id },
		{ NULL } };

	/* 0 is no bound to tmpfs, too; else an inode for every page. */
	snprintf(size, sizeof size, "%llu", (unsigned long long)bytes);
	snprintf(inodes, sizeof inodes, "%llu",
	    (unsigned long long)(bytes > 0 && bytes < 1 << 22 ? 1024
							      : bytes / 4096));
	snprintf(id, sizeof id, "%u", r->id_base);
	return mount_new("tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	    err);
}

int
root_writable(struct roots *r, uint32_t slot, uint64_t bytes, struct err *err)
{
	int userns = idmap_rest(r->idmap, slot, err);
	auto_fd int tree = -1;

	if (userns < 0)
		return -1;
	tree = sized_tmpfs(r, bytes, err);
	if (tree < 0 || mount_attr(tree, 0, userns, err) < 0)
		return -1;
	return take_fd(&tree);
}

/*
 * As root of the slot, with our capabilities: what is made then belongs to it,
 * and an overlay's creator is who writes to its upper ever after.  Without the
 * securebit setfsuid() would take the capabilities away, of which trusted.*
 * attributes need one.
 */
static void
as_slot(uint32_t first, bool on)
{
	if (on) {
		prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
		setfsuid(first);
		setfsgid(first);
	} else {
		setfsuid(0);
		setfsgid(0);
		prctl(PR_SET_SECUREBITS, 0, 0, 0, 0);
	}
}

static int
small_file(int dir, const char *name, const char *text, struct err *err)
{
	auto_fd int fd = openat(dir, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	size_t n = strlen(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return err_sys(err, "/etc/%s", name);
	return 0;
}

/* What a name is to others: /etc/hostname, and /etc/hosts. */
static int
name_files(int etc, const char *name, struct err *err)
{
	char text[256];

	snprintf(text, sizeof text, "%s\n", name);
	if (small_file(etc, "hostname", text, err) < 0)
		return -1;
	snprintf(text, sizeof text,
	    "127.0.0.1\tlocalhost\n"
	    "::1\tlocalhost ip6-localhost ip6-loopback\n"
	    "127.0.1.1\t%s\n",
	    name);
	return small_file(etc, "hosts", text, err);
}

/*
 * What of /etc says where the sandbox is.  It lies in the upper from the
 * beginning, where nobody has been before: nothing that an image brings
 * (links, say) is in the way.
 */
static int
etc_files(const struct root *q, int upper, struct err *err)
{
	auto_fd int etc = -1;
	char text[64];

	if (q->hostname == NULL && q->resolver == NULL)
		return 0;
	if (mkdirat(upper, "etc", 0755) < 0)
		return err_sys(err, "/etc");
	etc = openat(upper, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (etc < 0)
		return err_sys(err, "/etc");
	if (q->hostname != NULL && name_files(etc, q->hostname, err) < 0)
		return -1;
	if (q->resolver == NULL)
		return 0;
	snprintf(text, sizeof text, "nameserver %s\n", q->resolver);
	return small_file(etc, "resolv.conf", text, err);
}

static int
upper_files(const struct root *q, int tree, struct err *err)
{
	auto_fd int upper = -1;

	upper = openat(tree, "u", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (upper < 0)
		return err_sys(err, "upper directory");
	return etc_files(q, upper, err);
}

/*
 * Idmapped before anything is in it: a mount that has a file open for writing
 * can't be, and for a moment a child that is just being born has a copy of our
 * descriptors.
 */
int
root_upper(struct roots *r, uint32_t slot, uint64_t bytes, struct err *err)
{
	auto_fd int tree = root_writable(r, slot, bytes, err);
	int got;

	if (tree < 0)
		return -1;
	as_slot(idmap_first(r->idmap, slot), true);
	got = mkdirat(tree, "u", 0755) < 0 || mkdirat(tree, "w", 0755) < 0
	    ? err_sys(err, "upper directory")
	    : 0;
	as_slot(0, false);
	return got < 0 ? -1 : take_fd(&tree);
}

static int
upper_tree(struct roots *r, const struct root *q, struct err *err)
{
	auto_fd int tree = q->upper != NULL ? take_fd(q->upper) : -1;
	int got;

	if (tree < 0)
		tree = root_upper(r, q->slot, q->bytes, err);
	if (tree < 0)
		return -1;
	as_slot(idmap_first(r->idmap, q->slot), true);
	got = upper_files(q, tree, err);
	as_slot(0, false);
	return got < 0 ? -1 : take_fd(&tree);
}

int
root_volume(struct roots *r, uint32_t slot, int fd, struct err *err)
{
	struct stat st;
	auto_fd int userns = -1;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "volume");
	userns = ns_user(r->ns, st.st_uid, st.st_gid,
	    idmap_first(r->idmap, slot), 1, err);
	if (userns < 0)
		return -1;
	return mount_clone_attr(fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	    userns, err);
}

/* ---- an overlay ---- */

struct parts {
	int tree[MAX_LAYERS]; /* idmapped layers, lowest first */
	size_t n;
	int upper; /* the tmpfs; -1: read-only */
};

static void
bury(struct roots *r, int fd)
{
	/* They all go with the first one. */
	if (r->by_fd && r->ngrave > 0 &&
	    move_mount(fd, "", r->grave[0], "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0) {
		close(fd);
		fd = -1;
	}
	r->grave[r->ngrave++] = fd;
	if (r->ngrave == GRAVES)
		roots_tidy(r);
}

/*
 * The overlay has its own copies.  Each detached mount that is closed waits for
 * an RCU period; hung below another one they go together, where a kernel
 * (6.15) lets that be done.
 */
static void
parts_drop(struct roots *r, struct parts *p)
{
	int top = p->upper >= 0 ? p->upper : p->n > 0 ? p->tree[0] : -1;

	for (size_t i = 0; i < p->n; i++) {
		if (p->tree[i] == top)
			continue;
		if (r->by_fd &&
		    move_mount(p->tree[i], "", top, "",
			MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0)
			close(p->tree[i]);
		else
			bury(r, p->tree[i]);
	}
	if (top >= 0)
		bury(r, top);
}

static int
add_fd(int context, const char *key, int fd, struct err *err)
{
	if (fsconfig(context, FSCONFIG_SET_FD, key, NULL, fd) < 0)
		return mount_err(context, err, key);
	return 0;
}

static int
add_path(int context, const char *key, const char *path, struct err *err)
{
	if (fsconfig(context, FSCONFIG_SET_STRING, key, path, 0) < 0)
		return mount_err(context, err, key);
	return 0;
}

static int
feed_fds(int context, const struct parts *p, struct err *err)
{
	auto_fd int upper = -1, work = -1;

	for (size_t i = p->n; i-- > 0;) /* the first is the topmost */
		if (add_fd(context, "lowerdir+", p->tree[i], err) < 0)
			return -1;
	if (p->upper < 0)
		return 0;
	upper = openat(p->upper, "u", O_PATH | O_DIRECTORY | O_CLOEXEC);
	work = openat(p->upper, "w", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (upper < 0 || work < 0)
		return err_sys(err, "upper directory");
	if (add_fd(context, "upperdir", upper, err) < 0)
		return -1;
	return add_fd(context, "workdir", work, err);
}

/* In the nest, where place i of it is for layer i, and the last for upper. */
static int
feed_paths(int context, const struct parts *p, int nest, struct err *err)
{
	char at[32];

	for (size_t i = p->n; i-- > 0;) {
		snprintf(at, sizeof at, "/l/%zu", i);
		if (mount_move(p->tree[i], nest, at + 1, err) < 0 ||
		    add_path(context, "lowerdir+", at, err) < 0)
			return -1;
	}
	if (p->upper < 0)
		return 0;
	snprintf(at, sizeof at, "l/%d", MAX_LAYERS);
	if (mount_move(p->upper, nest, at, err) < 0)
		return -1;
	snprintf(at, sizeof at, "/l/%d/u", MAX_LAYERS);
	if (add_path(context, "upperdir", at, err) < 0)
		return -1;
	snprintf(at, sizeof at, "/l/%d/w", MAX_LAYERS);
	return add_path(context, "workdir", at, err);
}

static void
clear_places(const struct parts *p)
{
	char at[32];

	for (size_t i = 0; i < p->n; i++) {
		snprintf(at, sizeof at, "/l/%zu", i);
		umount2(at, MNT_DETACH); /* EINVAL: it never got there */
	}
	snprintf(at, sizeof at, "/l/%d", MAX_LAYERS);
	umount2(at, MNT_DETACH);
}

static int
create(int context, uint32_t first, bool writable, struct err *err)
{
	int got;

	if (writable) {
		if (add_path(context, "redirect_dir", "on", err) < 0)
			return -1;
		as_slot(first, true);
	}
	got = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (writable) {
		int saved = errno;

		as_slot(first, false);
		errno = saved;
	}
	return got < 0 ? mount_err(context, err, "overlay") : 0;
}

static int
overlay(struct roots *r, const struct parts *p, uint32_t first, struct err *err)
{
	auto_fd int context = fsopen("overlay", FSOPEN_CLOEXEC);
	int tree, got;

	if (context < 0)
		return err_sys(err, "overlay");
	if (r->by_fd)
		got = feed_fds(context, p, err);
	else
		got = nest_enter(r->nest, err) < 0
		    ? -2
		    : feed_paths(context, p, nest_root(r->nest), err);
	if (got == 0)
		got = create(context, first, p->upper >= 0, err);
	if (!r->by_fd && got != -2) {
		clear_places(p);
		nest_leave(r->nest);
	}
	if (got < 0)
		return -1;
	tree = fsmount(context, FSMOUNT_CLOEXEC,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		(p->upper < 0 ? MOUNT_ATTR_RDONLY : 0));
	return tree < 0 ? mount_err(context, err, "overlay") : tree;
}

static int
lower_parts(struct parts *p, const int *layer, size_t n, int userns,
    struct err *err)
{
	if (n == 0 || n > MAX_LAYERS)
		return err_set(err, ERR_INVALID, "%zu layers", n);
	for (size_t i = 0; i < n; i++) {
		p->tree[i] = userns < 0
		    ? mount_clone(layer[i], false, err)
		    : mount_clone_attr(layer[i], 0, userns, err);
		if (p->tree[i] < 0)
			return err_wrap(err, "layer %zu", i);
		p->n++;
	}
	return 0;
}

int
root_make(struct roots *r, const struct root *q, struct err *err)
{
	struct parts p = { .upper = -1 };
	int userns = q->plain ? idmap_plain(r->idmap, q->slot, err)
			      : idmap_rest(r->idmap, q->slot, err);
	int tree = -1;

	if (userns < 0)
		return -1;
	if (lower_parts(&p, q->layer, q->nlayer, userns, err) == 0 &&
	    (p.upper = upper_tree(r, q, err)) >= 0)
		tree = overlay(r, &p, idmap_first(r->idmap, q->slot), err);
	parts_drop(r, &p);
	return tree < 0 ? err_wrap(err, "root") : tree;
}

int
root_merged(struct roots *r, const int *layer, size_t n, struct err *err)
{
	struct parts p = { .upper = -1 };
	int tree = -1;

	if (n == 1)
		return mount_clone_attr(layer[0],
		    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		    -1, err);
	if (lower_parts(&p, layer, n, -1, err) == 0)
		tree = overlay(r, &p, 0, err);
	parts_drop(r, &p);
	return tree < 0 ? err_wrap(err, "merged layers") : tree;
}

/* ---- which way ---- */

/* A real one, of next to nothing; its layer need not be anyone's directory. */
static int
try_one(struct roots *r, struct err *err)
{
	struct root q = { .slot = 0, .bytes = 1 << 20 };
	struct parts p = { .upper = -1 };
	int tree = -1, made, userns = idmap_rest(r->idmap, 0, err);

	if (userns < 0)
		return -1;
	p.tree[0] = sized_tmpfs(r, 1 << 16, err);
	if (p.tree[0] < 0)
		return -1;
	p.n = 1;
	if (mount_attr(p.tree[0], 0, userns, err) == 0 &&
	    (p.upper = upper_tree(r, &q, err)) >= 0)
		tree = overlay(r, &p, idmap_first(r->idmap, 0), err);
	parts_drop(r, &p);
	if (tree < 0)
		return -1;
	as_slot(idmap_first(r->idmap, 0), true); /* others have no way in */
	made = mkdirat(tree, "try", 0755);
	if (made < 0)
		err_sys(err, "root: write");
	as_slot(0, false);
	close(tree);
	return made;
}

struct roots *
roots_open(struct ns *ns, struct nest *nest, struct idmap *idmap,
    uint32_t id_base, unsigned avoid, struct err *err)
{
	struct roots *r = xcalloc(1, sizeof *r);

	*r = (struct roots){ .ns = ns,
		.nest = nest,
		.idmap = idmap,
		.id_base = id_base,
		.by_fd = true };
	if (!(avoid & ROOT_BY_FD) && try_one(r, err) == 0)
		return r;
	r->by_fd = false;
	if (try_one(r, err) == 0)
		return r;
	err_wrap(err,
	    "an overlay of idmapped tmpfs (Linux 6.6, modprobe "
	    "overlay)");
	roots_close(r);
	return NULL;
}

void
roots_close(struct roots *r)
{
	if (r != NULL)
		roots_tidy(r);
	free(r);
}

void
roots_tidy(struct roots *r)
{
	while (r->ngrave > 0)
		if (r->grave[--r->ngrave] >= 0)
			close(r->grave[r->ngrave]);
}
