#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/mount.h"
#include "isolator/nest.h"
#include "isolator/template.h"

struct nest {
	int home, there; /* mount namespaces */
	int root, dev, sys;
};

static const char *const nest_dirs[] = { "proc", "dev", "sys", "l" };

static int
make_places(int root, struct err *err)
{
	char name[16];

	for (size_t i = 0; i < sizeof nest_dirs / sizeof *nest_dirs; i++)
		if (mkdirat(root, nest_dirs[i], 0755) < 0)
			return err_sys(err, "nest");
	for (int i = 0; i < NEST_PLACES; i++) {
		snprintf(name, sizeof name, "l/%d", i);
		if (mkdirat(root, name, 0700) < 0)
			return err_sys(err, "nest");
	}
	return 0;
}

/* In the new namespace: everything of the host's goes, and ours stands. */
static int
furnish(struct nest *n, struct err *err)
{
	static const struct mount_opt opt[] = { { "mode", "0755" },
		{ "size", "1m" }, { NULL } };
	auto_fd int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd int proc = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "private mounts");
	n->root = mount_new("tmpfs", opt,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (n->root < 0 || make_places(n->root, err) < 0 ||
	    mount_over_root(n->root, err) < 0)
		return -1;
	proc = mount_new("proc", NULL,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (proc < 0 || mount_move(proc, n->root, "proc", err) < 0 ||
	    template_dev(n->root, "dev", err) < 0 ||
	    template_sys(n->root, "sys", sys, err) < 0)
		return -1;
	if (mount_pivot(n->root, err) < 0)
		return -1;
	n->dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	n->sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	n->there = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (n->dev < 0 || n->sys < 0 || n->there < 0)
		return err_sys(err, "open");
	return 0;
}

struct nest *
nest_open(struct err *err)
{
	struct nest *n = xcalloc(1, sizeof *n);
	int got;

	n->there = n->root = n->dev = n->sys = -1;
	n->home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (n->home < 0 || unshare(CLONE_NEWNS) < 0) {
		err_sys(err, "mount namespace (needs CAP_SYS_ADMIN)");
		nest_close(n);
		return NULL;
	}
	got = furnish(n, err);
	nest_leave(n);
	if (got < 0) {
		err_wrap(err, "nest");
		nest_close(n);
		return NULL;
	}
	return n;
}

void
nest_close(struct nest *n)
{
	if (n == NULL)
		return;
	for (int i = 0; i < 5; i++) {
		int fd =
		    (int[]){ n->home, n->there, n->root, n->dev, n->sys }[i];

		if (fd >= 0)
			close(fd);
	}
	free(n);
}

int
nest_enter(struct nest *n, struct err *err)
{
	if (setns(n->there, CLONE_NEWNS) < 0)
		return err_sys(err, "enter the nest");
	return 0;
}

void
nest_leave(struct nest *n)
{
	if (setns(n->home, CLONE_NEWNS) == 0)
		return;
	log_f(LOG_ERROR, "cannot return to the host's mounts");
	abort();
}

int
nest_dev(struct nest *n, struct err *err)
{
	return mount_clone(n->dev, false, err);
}

int
nest_sys(struct nest *n, struct err *err)
{
	return mount_clone(n->sys, true, err);
}

int
nest_root(const struct nest *n)
{
	return n->root;
}
