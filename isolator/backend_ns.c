#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/backend.h"
#include "isolator/host.h"
#include "isolator/net.h"
#include "isolator/profile.h"
#include "isolator/root.h"
#include "isolator/spec.h"

/* ---- what is asked for ---- */

#define NAME_CHARS                                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."

/* What must be enforced here and can't be, with what to do about it. */
static int
limits_check(const struct host *h, struct err *err)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = { { CGROUP_MEMORY, "memory" }, { CGROUP_PIDS, "pids" },
		{ CGROUP_CPU, "cpu" }, { CGROUP_IO, "io" } };
	unsigned lacks = h->require & ~cgroups_can(h->cgroups);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (lacks & names[i].bit)
			return err_set(err, ERR_DENIED,
			    "this host's %s cgroups can't limit %s: mount that "
			    "controller, or take it off limits.required",
			    cgroups_kind(h->cgroups), names[i].name);
	return 0;
}

static int
box_check(const struct host *h, const struct box *b, struct err *err)
{
	if (limits_check(h, err) < 0)
		return -1;
	if (b->profile >= PROFILES || !profile_row(b->profile)->agent)
		return err_set(err, ERR_INVALID, "profile %d", b->profile);
	if (b->nlayer == 0 || b->nlayer > BOX_LAYERS || b->nmount > BOX_MOUNTS)
		return err_set(err, ERR_INVALID, "%zu layers, %zu mounts",
		    b->nlayer, b->nmount);
	if (strlen(b->hostname) >= sizeof(struct spec){ 0 }.hostname ||
	    b->hostname[strspn(b->hostname, NAME_CHARS)] != '\0')
		return err_set(err, ERR_INVALID, "host name %.40s",
		    b->hostname);
	for (size_t i = 0; i < b->nmount; i++)
		if (spec_path_check(b->mount[i].at, err) < 0)
			return -1;
	return 0;
}

/* ---- the spec ---- */

/* Every writable place but the root, in one table. */
static void
add_mount(struct spec *s, const char *at, enum spec_mount_kind kind,
    uint64_t bytes, uint32_t flags)
{
	struct spec_mount *m = &s->mount[s->nmount++];

	snprintf(m->at, sizeof m->at, "%s", at);
	m->kind = kind;
	m->bytes = bytes;
	m->flags = flags;
}

/* Where programs expect to write, when the root is not for that. */
static void
add_scratch(struct spec *s, uint64_t bytes)
{
	add_mount(s, "/tmp", SPEC_MOUNT_TMPFS, bytes, 0);
	add_mount(s, "/var/tmp", SPEC_MOUNT_TMPFS, bytes, 0);
	add_mount(s, "/root", SPEC_MOUNT_TMPFS, bytes, SPEC_PRIVATE);
}

static void
fill_spec(struct spec *s, const struct box *b)
{
	const struct profile_row *p = profile_row(b->profile);

	*s = (struct spec){ .magic = SPEC_MAGIC,
		.flags = p->flags | (b->net < 0 ? SPEC_LOOPBACK : 0) |
		    (b->readonly ? SPEC_ROOT_READONLY : 0),
		.caps = p->caps,
		.nofile = b->nofile ? b->nofile : p->nofile };
	snprintf(s->hostname, sizeof s->hostname, "%s", b->hostname);
	add_mount(s, "/workspace", SPEC_MOUNT_GIVEN, 0, 0);
	add_mount(s, "/dev/shm", SPEC_MOUNT_TMPFS, b->shm_bytes, 0);
	for (size_t i = 0; i < b->nmount; i++)
		add_mount(s, b->mount[i].at, SPEC_MOUNT_GIVEN, 0,
		    b->mount[i].readonly ? SPEC_READONLY : 0);
	if (s->flags & SPEC_ROOT_READONLY)
		add_scratch(s, b->root_bytes);
}

/* Descriptors of the spec that are ours to close. */
struct trees {
	int fd[SPEC_FDS];
};

static void
trees_drop(struct trees *t)
{
	for (int i = 0; i < SPEC_FDS; i++)
		if (t->fd[i] >= 0)
			close(t->fd[i]);
}

static int
make_trees(struct host *h, const struct box *b, struct blank *k,
    struct trees *t, struct err *err)
{
	struct root q = { b->layer, b->nlayer, b->plain, b->slot, b->root_bytes,
		b->hostname[0] ? b->hostname : NULL,
		b->net < 0 ? NULL : NET_RESOLVER,
		k->sizes.root == b->root_bytes ? &k->upper : NULL };
	int *mount = t->fd + SPEC_FD_MOUNT;

	t->fd[SPEC_FD_ROOT] = root_make(h->roots, &q, err);
	if (t->fd[SPEC_FD_ROOT] < 0)
		return -1;
	mount[0] = k->work >= 0 && k->sizes.work == b->work_bytes
	    ? take_fd(&k->work)
	    : root_writable(h->roots, b->slot, b->work_bytes, err);
	if (mount[0] < 0)
		return -1;
	for (size_t i = 0; i < b->nmount; i++) { /* [1] is the stage's own */
		mount[2 + i] =
		    root_volume(h->roots, b->slot, b->mount[i].fd, err);
		if (mount[2 + i] < 0)
			return err_wrap(err, "mount %s", b->mount[i].at);
	}
	return 0;
}

static int
stream_pair(int fd[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		fd) < 0)
		return err_sys(err, "stream");
	return 0;
}

/* ---- start: a blank, and its claim ---- */

struct claim {
	int64_t at;
	uint32_t us[BACKEND_STEPS];
	int stream;
};

static void
lap(struct claim *c, enum backend_step step)
{
	int64_t now = clock_us();

	c->us[step] += (uint32_t)(now - c->at);
	c->at = now;
}

static int
send_all(struct host *h, const struct box *b, struct blank *k, struct trees *t,
    struct claim *c, struct err *err)
{
	struct spec s;
	int pair[2];
	int got;

	fill_spec(&s, b);
	if (stream_pair(pair, err) < 0)
		return -1;
	t->fd[SPEC_FD_STREAM] = pair[1];
	t->fd[SPEC_FD_DEV] = take_fd(&k->dev);
	t->fd[SPEC_FD_SYS] = take_fd(&k->sys);
	s.nfilter = h->filter[b->profile].n;
	got = spec_send(k->born.control, &s, t->fd, h->filter[b->profile].at,
	    err);
	if (got < 0)
		close(pair[0]);
	else
		c->stream = pair[0];
	return got;
}

static int
blank_claim(struct host *h, struct blank *k, const struct box *b,
    struct claim *c, struct err *err)
{
	struct trees t;
	int got = -1;

	memset(&t, 0xff, sizeof t);
	if (make_trees(h, b, k, &t, err) == 0) {
		lap(c, STEP_ROOT);
		got = send_all(h, b, k, &t, c, err);
	}
	trees_drop(&t);
	lap(c, STEP_SPEC);
	return got;
}

static int
make_ahead(struct host *h, const struct blank_want *w, struct blank *k,
    struct err *err)
{
	if (w->sizes == NULL)
		return 0;
	k->sizes = *w->sizes;
	k->upper = root_upper(h->roots, w->slot, k->sizes.root, err);
	if (k->upper < 0)
		return -1;
	k->work = root_writable(h->roots, w->slot, k->sizes.work, err);
	return k->work < 0 ? -1 : 0;
}

static struct blank *
ns_backend_prepare(struct host *h, const struct blank_want *w, struct err *err)
{
	struct blank *k = xcalloc(1, sizeof *k);

	if (blank_start(h, w, k, err) < 0) {
		free(k);
		return NULL;
	}
	if (blank_enter(h, k, w->limits, err) < 0 ||
	    make_ahead(h, w, k, err) < 0) {
		blank_drop(h, k);
		free(k);
		return NULL;
	}
	return k;
}

static void
ns_backend_discard(struct host *h, struct blank *k)
{
	blank_drop(h, k);
	free(k);
}

/*
 * 0: the box is on its way; else there is nothing of it any more.  Groups of a
 * new one come last: it is at work by then.
 */
static int
become(struct host *h, struct blank *k, const struct box *b, bool anew,
    struct claim *c, struct instance *out, struct err *err)
{
	int got = blank_claim(h, k, b, c, err);

	if (got == 0 && anew) {
		got = blank_enter(h, k, &b->limits, err);
		lap(c, STEP_CGROUP);
	}
	if (got < 0) {
		blank_drop(h, k);
		if (c->stream >= 0)
			close(take_fd(&c->stream));
		return -1;
	}
	blank_take(k, h, out);
	out->stream = c->stream;
	memcpy(out->step_us, c->us, sizeof c->us);
	return 0;
}

static bool
same_limits(const struct cgroup_limits *a, const struct cgroup_limits *b)
{
	return a->memory == b->memory && a->pids == b->pids &&
	    a->cpu_milli == b->cpu_milli && a->io_weight == b->io_weight;
}

/* What is limited already can't be let go of: a file takes no "none". */
static bool
may_become(const struct blank *k, const struct box *b)
{
	const struct cgroup_limits *is = &k->limits, *want = &b->limits;

	return (want->memory > 0 || is->memory == 0) &&
	    (want->pids > 0 || is->pids == 0) &&
	    (want->cpu_milli > 0 || is->cpu_milli == 0) &&
	    (want->io_weight > 0 || is->io_weight == 0);
}

static int
start_ahead(struct host *h, const struct box *b, struct claim *c,
    struct instance *out, struct err *err)
{
	struct blank k = *b->blank;

	free(b->blank);
	if (!may_become(&k, b)) {
		blank_drop(h, &k);
		return err_set(err, ERR_BUSY, "it is limited");
	}
	if (!same_limits(&k.limits, &b->limits) &&
	    cgroup_limit(h->cgroups, &k.cgroup, &b->limits, err) < 0) {
		blank_drop(h, &k);
		return -1;
	}
	lap(c, STEP_CGROUP);
	return become(h, &k, b, false, c, out, err);
}

static int
start_anew(struct host *h, const struct box *b, struct claim *c,
    struct instance *out, struct err *err)
{
	struct blank_want w = { b->name, b->slot, b->net, NULL, h->owner,
		NULL };
	struct blank k;

	if (blank_start(h, &w, &k, err) < 0)
		return -1;
	lap(c, STEP_CGROUP); /* what was neither clone nor maps: the first */
	c->us[STEP_CLONE] = k.born.clone_us;
	c->us[STEP_MAPS] = k.born.maps_us;
	c->us[STEP_CGROUP] -= k.born.clone_us + k.born.maps_us;
	return become(h, &k, b, true, c, out, err);
}

static int
ns_backend_start(struct host *h, const struct box *b, struct instance *out,
    struct err *err)
{
	struct claim c = { .at = clock_us(), .stream = -1 };

	if (box_check(h, b, err) < 0) {
		if (b->blank != NULL)
			ns_backend_discard(h, b->blank);
		return -1;
	}
	/* A blank may have died meanwhile: then as if there had been none. */
	if (b->blank != NULL && start_ahead(h, b, &c, out, err) == 0)
		return 0;
	return start_anew(h, b, &c, out, err);
}

/* ---- a running one ---- */

static int
ns_backend_attach(struct instance *in, struct err *err)
{
	int pair[2];

	if (stream_pair(pair, err) < 0)
		return -1;
	if (spec_word_send(in->control, SPEC_STREAM, &pair[1], err) < 0) {
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	close(pair[1]);
	return pair[0];
}

static int
ns_backend_stop(struct instance *in, struct err *err)
{
	struct err why;

	/* All at once; its first process alone would do, a moment later. */
	if (in->cgroup.v2 >= 0 && cgroup_kill(&in->cgroup, &why) == 0)
		return 0;
	if (pidfd_send_signal(in->pidfd, SIGKILL, NULL, 0) < 0 &&
	    errno != ESRCH)
		return err_sys(err, "kill");
	return 0;
}

static int
ns_backend_freeze(struct instance *in, bool on, struct err *err)
{
	return cgroup_freeze(&in->cgroup, on, err);
}

static int
ns_backend_usage(const struct instance *in, struct usage *u, struct err *err)
{
	return cgroup_usage(in->host->cgroups, &in->cgroup, u, err);
}

/* host_new() has tried everything else, or there would be no host. */
static int
ns_backend_probe(struct host *h, struct err *err)
{
	return limits_check(h, err);
}

const struct backend backend_ns = { "ns", ns_backend_probe, ns_backend_start,
	ns_backend_prepare, ns_backend_discard, ns_backend_attach,
	ns_backend_stop, ns_backend_freeze, ns_backend_usage };

void
instance_init(struct instance *in)
{
	memset(in, 0, sizeof *in);
	in->pid = in->pidfd = in->control = in->stream = -1;
	cgroup_init(&in->cgroup);
}

void
instance_drop(struct instance *in)
{
	if (in->host != NULL)
		cgroup_destroy(in->host->cgroups, &in->cgroup);
	for (int i = 0; i < 3; i++) {
		int fd = (int[]){ in->pidfd, in->control, in->stream }[i];

		if (fd >= 0)
			close(fd);
	}
	instance_init(in);
}
