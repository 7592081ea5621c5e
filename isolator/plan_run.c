#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "isolator/mount.h"
#include "isolator/plan.h"

/* What later steps need of earlier ones. */
struct run {
	const int *fd;
	int root;
	int proc;        /* the new /proc */
	int null, empty; /* what hides a file, and a directory */
	struct plan_ahead *ahead;
	bool masked;
};

typedef int verb_fn(struct run *, const struct plan_step *, struct err *);

/* tree is mounted at s->at, which is made if it is missing. */
static int
mount_at(struct run *r, const struct plan_step *s, int tree, struct err *err)
{
	struct stat st;
	auto_fd int at = -1;

	if (fstat(tree, &st) < 0)
		return err_sys(err, "mount");
	at = mount_point(r->root, s->at, S_ISDIR(st.st_mode), err);
	if (at < 0)
		return -1;
	return mount_move(tree, at, "", err);
}

static int
run_root(struct run *r, const struct plan_step *s, struct err *err)
{
	r->root = r->fd[s->fd];
	return mount_over_root(r->root, err);
}

static int
find_hiding(struct run *r, int dev, struct err *err)
{
	r->null = openat(dev, "null", O_PATH | O_CLOEXEC);
	r->empty = openat(dev, "shm", O_PATH | O_CLOEXEC);
	if (r->null < 0 || r->empty < 0)
		return err_sys(err, "template");
	return 0;
}

static int
run_move(struct run *r, const struct plan_step *s, struct err *err)
{
	unsigned attr = (s->flags & PLAN_RO ? MOUNT_ATTR_RDONLY : 0) |
	    (s->flags & PLAN_NOEXEC ? MOUNT_ATTR_NOEXEC : 0);
	int tree = r->fd[s->fd];

	if (attr != 0 && mount_attr(tree, attr, -1, err) < 0)
		return -1;
	/* Before anything covers them. */
	if (s->fd == SPEC_FD_DEV && !r->ahead->masked &&
	    find_hiding(r, tree, err) < 0)
		return -1;
	return mount_at(r, s, tree, err);
}

static int
run_tmpfs(struct run *r, const struct plan_step *s, struct err *err)
{
	char size[24];
	struct mount_opt opt[] = {
		{ "mode", s->flags & PLAN_PRIVATE ? "0700" : "1777" },
		{ "size", size }, { NULL }
	};
	auto_fd int tree = -1;

	snprintf(size, sizeof size, "%llu", (unsigned long long)s->bytes);
	tree = mount_new("tmpfs", opt,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		(s->flags & PLAN_NOEXEC ? MOUNT_ATTR_NOEXEC : 0) |
		(s->flags & PLAN_RO ? MOUNT_ATTR_RDONLY : 0),
	    err);
	return tree < 0 ? -1 : mount_at(r, s, tree, err);
}

static int
new_pts(struct err *err)
{
	/* All sandboxes share what kernel.pty.max grants: none takes it all. */
	static const struct mount_opt opt[] = { { "newinstance", NULL },
		{ "ptmxmode", "0666" }, { "mode", "0620" }, { "gid", "5" },
		{ "max", "64" }, { NULL } };

	return mount_new("devpts", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
	    err);
}

static int
run_pts(struct run *r, const struct plan_step *s, struct err *err)
{
	auto_fd int tree =
	    r->ahead->pts >= 0 ? take_fd(&r->ahead->pts) : new_pts(err);

	return tree < 0 ? -1 : mount_at(r, s, tree, err);
}

static int
new_proc(unsigned flags, struct err *err)
{
	static const struct mount_opt pids[] = { { "subset", "pid" },
		{ NULL } };

	return mount_new("proc", flags & PLAN_PIDS ? pids : NULL,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
		(flags & PLAN_RO ? MOUNT_ATTR_RDONLY : 0),
	    err);
}

static int
run_proc(struct run *r, const struct plan_step *s, struct err *err)
{
	if (s->flags == 0 && r->ahead->proc >= 0) {
		r->proc = take_fd(&r->ahead->proc);
		r->masked = r->ahead->masked;
	} else
		r->proc = new_proc(s->flags, err);
	return r->proc < 0 ? -1 : mount_at(r, s, r->proc, err);
}

/* Names of our own fresh /proc are safe to resolve: nobody else was there. */
static int
onto_proc(struct run *r, const struct plan_step *s, int tree, struct err *err)
{
	if (move_mount(tree, "", r->proc, s->at, MOVE_MOUNT_F_EMPTY_PATH) < 0 &&
	    errno != ENOENT)
		return err_sys(err, "mount");
	return 0;
}

/* What only its owner may open needs no mask: that is an id of the host. */
static int
run_mask(struct run *r, const struct plan_step *s, struct err *err)
{
	auto_fd int tree = -1;
	struct stat st;

	if (r->masked)
		return 0;
	if (fstatat(r->proc, s->at, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "look");
	if ((st.st_mode & 077) == 0)
		return 0;
	tree =
	    mount_clone(s->flags & PLAN_DIR ? r->empty : r->null, false, err);
	return tree < 0 ? -1 : onto_proc(r, s, tree, err);
}

static int
run_seal(struct run *r, const struct plan_step *s, struct err *err)
{
	auto_fd int at = -1, tree = -1;

	if (r->masked)
		return 0;
	at = openat(r->proc, s->at, O_PATH | O_CLOEXEC);
	if (at < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open");
	tree = mount_clone_attr(at, MOUNT_ATTR_RDONLY, -1, err);
	return tree < 0 ? -1 : onto_proc(r, s, tree, err);
}

static int
run_pivot(struct run *r, const struct plan_step *s, struct err *err)
{
	(void)s;
	return mount_pivot(r->root, err);
}

static int
run_readonly(struct run *r, const struct plan_step *s, struct err *err)
{
	(void)s;
	return mount_attr(r->root, MOUNT_ATTR_RDONLY, -1, err);
}

static const struct {
	const char *name;
	verb_fn *run;
} verbs[PLAN_VERBS] = {
	[PLAN_ROOT] = { "root", run_root },
	[PLAN_MOVE] = { "mount", run_move },
	[PLAN_TMPFS] = { "tmpfs", run_tmpfs },
	[PLAN_PTS] = { "devpts", run_pts },
	[PLAN_PROC] = { "proc", run_proc },
	[PLAN_MASK] = { "mask", run_mask },
	[PLAN_SEAL] = { "seal", run_seal },
	[PLAN_PIVOT] = { "pivot", run_pivot },
	[PLAN_READONLY] = { "read-only", run_readonly },
};

static void
run_close(struct run *r)
{
	for (int i = 0; i < 3; i++)
		own_closep((int *[]){ &r->proc, &r->null, &r->empty }[i]);
}

static int
mask_ahead(struct run *r, struct err *err)
{
	auto_fd int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct plan p = { .n = 0 };

	if (dev < 0 || find_hiding(r, dev, err) < 0 || plan_masks(&p, err) < 0)
		return -1;
	for (size_t i = 0; i < p.n; i++)
		if (verbs[p.step[i].verb].run(r, &p.step[i], err) < 0)
			return -1;
	return 0;
}

/*
 * Masks on a mount that is not mounted itself are for Linux 6.15 and up: before
 * that all is done in its place.  "/" still is where the broker clones from.
 */
void
plan_ahead(struct plan_ahead *a)
{
	struct run r = { .root = -1, .null = -1, .empty = -1, .ahead = a };
	struct err err;

	*a = (struct plan_ahead){ -1, -1, false };
	a->pts = new_pts(&err);
	r.proc = new_proc(0, &err);
	if (r.proc >= 0 && mask_ahead(&r, &err) == 0) {
		a->proc = take_fd(&r.proc);
		a->masked = true;
	}
	run_close(&r);
}

int
plan_run(const struct plan *p, struct plan_ahead *ahead, const int fd[SPEC_FDS],
    struct err *err)
{
	struct run r = { fd, -1, -1, -1, -1, ahead, false };
	int got = 0;

	for (size_t i = 0; i < p->n && got == 0; i++) {
		const struct plan_step *s = &p->step[i];

		if (verbs[s->verb].run(&r, s, err) < 0)
			got =
			    err_wrap(err, "%s /%s", verbs[s->verb].name, s->at);
	}
	run_close(&r);
	return got;
}
