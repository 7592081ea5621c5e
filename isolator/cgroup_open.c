#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/cgroup_tree.h"

/* All of this happens once, at start, when waiting is nobody's delay. */

enum { WALK_DEPTH = 12, PURGE_MS = 3000 };

static int
open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- what a former life left ---- */

/* SIGKILL to all in dir; v1, or a v2 kernel without cgroup.kill. */
static void
kill_listed(int dir)
{
	auto_str struct str list = { 0 };
	struct err err;
	char *save = NULL;

	if (file_read_at(dir, "cgroup.procs", &list, 1 << 20, &err) < 0 ||
	    list.len == 0)
		return;
	for (char *w = strtok_r(list.at, "\n", &save); w != NULL;
	     w = strtok_r(NULL, "\n", &save)) {
		pid_t pid = (pid_t)strtol(w, NULL, 10);

		if (pid > 1 && pid != getpid())
			kill(pid, SIGKILL);
	}
}

typedef void visit_fn(int parent, const char *name, void *arg);

static void
each_dir(int dir, visit_fn *visit, void *arg)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (d == NULL) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			visit(dir, e->d_name, arg);
	closedir(d);
}

static void
remove_group(int parent, const char *name, void *kill_too)
{
	auto_fd int dir = openat(parent, name,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return;
	if (kill_too != NULL)
		kill_listed(dir);
	each_dir(dir, remove_group, kill_too);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static void
purge(int parent, const char *name)
{
	int64_t end = clock_ms() + PURGE_MS;
	bool first = true;
	struct err err;

	while (faccessat(parent, name, F_OK, 0) == 0 && clock_left(end) > 0) {
		auto_fd int dir =
		    openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (!first)
			usleep(2000);
		if (dir >= 0 && file_put_at(dir, "cgroup.kill", "1", &err) == 0)
			remove_group(parent, name, NULL);
		else
			remove_group(parent, name, &first);
		first = false;
	}
	if (faccessat(parent, name, F_OK, 0) == 0)
		log_say(LOG_WARN, "cgroup of a former life stays", "cgroup",
		    name, NULL);
}

struct walk {
	const char *name;
	int depth;
};

static void
walk_one(int parent, const char *name, void *arg)
{
	struct walk *w = arg;
	auto_fd int dir = -1;

	if (strcmp(name, w->name) == 0) {
		purge(parent, name);
		return;
	}
	if (strncmp(name, w->name, strlen(w->name)) == 0 &&
	    strcmp(name + strlen(w->name), ".main") == 0)
		unlinkat(parent, name, AT_REMOVEDIR); /* if nobody is in it */
	if (w->depth == WALK_DEPTH)
		return;
	dir = openat(parent, name,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return;
	w->depth++;
	each_dir(dir, walk_one, w);
	w->depth--;
}

/* Wherever in the tree: the former life may have been started elsewhere. */
static void
sweep(const char *root, const char *name)
{
	struct walk w = { name, 0 };
	auto_fd int dir = root[0] == '\0' ? -1 : open_dir(root);

	if (dir >= 0)
		each_dir(dir, walk_one, &w);
}

/* ---- our directories ---- */

static bool
controllers(int dir)
{
	auto_str struct str s = { 0 };
	struct err err;

	return file_read_at(dir, "cgroup.controllers", &s, 4096, &err) == 0 &&
	    strstr(str_text(&s), "memory") != NULL &&
	    strstr(str_text(&s), "pids") != NULL &&
	    strstr(str_text(&s), "cpu") != NULL;
}

static int
enable(int dir, struct err *err)
{
	struct err ignored;

	if (file_put_at(dir, "cgroup.subtree_control", "+memory +pids +cpu",
		err) < 0)
		return -1;
	file_put_at(dir, "cgroup.subtree_control", "+io", &ignored);
	return 0;
}

static void
main_name(const struct cgroups *cs, char *out, size_t room)
{
	snprintf(out, room, "%s.main", cs->name);
}

/* This process alone from dir into dir/NAME.main: a leaf, and never killed. */
static int
move_self(struct cgroups *cs, int dir, struct err *err)
{
	char leaf[64];
	auto_fd int at = -1;

	main_name(cs, leaf, sizeof leaf);
	at = file_mkdir_at(dir, leaf, 0755, err);
	if (at < 0)
		return -1;
	if (file_put_at(at, "cgroup.procs", "0", err) < 0) {
		unlinkat(dir, leaf, AT_REMOVEDIR);
		return -1;
	}
	if (cs->from < 0)
		cs->from = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	return 0;
}

/* A group that hands controllers down takes no process: it stops that first. */
void
cgroups_return(struct cgroups *cs)
{
	char leaf[64];
	struct err err;

	if (cs->from < 0)
		return;
	main_name(cs, leaf, sizeof leaf);
	if (file_put_at(cs->from, "cgroup.procs", "0", &err) < 0) {
		if (cs->v2 >= 0)
			unlinkat(cs->v2_up, cs->name, AT_REMOVEDIR);
		file_put_at(cs->from, "cgroup.subtree_control", "-io", &err);
		file_put_at(cs->from, "cgroup.subtree_control",
		    "-memory -pids -cpu", &err);
		file_put_at(cs->from, "cgroup.procs", "0", &err);
	}
	unlinkat(cs->from, leaf, AT_REMOVEDIR);
	close(take_fd(&cs->from));
}

/*
 * v2 with controllers: they are handed down only from a group without
 * processes.  Ours, if it is only ours (a unit with Delegate=yes); else the
 * root of the tree.
 */
static int
v2_parent(struct cgroups *cs, const struct cgroup_layout *l, struct err *err)
{
	auto_fd int own = open_dir(l->v2);
	auto_fd int root = -1;
	struct err ignored;

	if (own >= 0 && controllers(own) &&
	    (enable(own, &ignored) == 0 ||
		(move_self(cs, own, &ignored) == 0 &&
		    enable(own, &ignored) == 0)))
		return take_fd(&own);
	cgroups_return(cs);
	root = open_dir(l->v2_root);
	if (root < 0)
		return err_sys(err, "%s", l->v2_root);
	if (enable(root, err) < 0)
		return err_wrap(err,
		    "controllers (the unit needs Delegate=yes)");
	return take_fd(&root);
}

static int
open_v2(struct cgroups *cs, const struct cgroup_layout *l, struct err *err)
{
	auto_fd int root = open_dir(l->v2_root);

	if (root < 0)
		return err_set(err, ERR_MISSING,
		    "no cgroup2 is mounted: mount -t cgroup2 none "
		    "/sys/fs/cgroup/unified");
	cs->ops = controllers(root) ? &cgroup_v2 : &cgroup_hybrid;
	cs->v2_up =
	    cs->ops == &cgroup_v2 ? v2_parent(cs, l, err) : open_dir(l->v2);
	if (cs->v2_up < 0)
		return cs->ops == &cgroup_v2 ? -1 : err_sys(err, "%s", l->v2);
	cs->v2 = file_mkdir_at(cs->v2_up, cs->name, 0755, err);
	if (cs->v2 < 0)
		return -1;
	return cs->ops == &cgroup_v2 ? enable(cs->v2, err) : 0;
}

/* Missing ones are not an error here: see cgroups_can. */
static void
open_v1(struct cgroups *cs, const struct cgroup_layout *l)
{
	struct err err;

	for (int i = 0; i < CG_V1; i++) {
		if (l->v1[i][0] == '\0')
			continue;
		cs->v1_up[i] = open_dir(l->v1[i]);
		if (cs->v1_up[i] >= 0)
			cs->v1[i] =
			    file_mkdir_at(cs->v1_up[i], cs->name, 0755, &err);
	}
}

/* ---- trying it ---- */

/*
 * Does a child cloned into dir live?  On Linux 6.18 it is killed at birth when
 * its parent's own group was ever killed.
 */
static int
born(int dir, struct err *err)
{
	struct clone_args a = { .flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)dir };
	long pid = syscall(SYS_clone3, &a, sizeof a);
	int status = 0;

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return err_sys(err, "clone into a cgroup");
	while (waitpid((pid_t)pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, "wait");
	return WIFEXITED(status) ? 0 : 1;
}

static int
try_birth(struct cgroups *cs, struct err *err)
{
	int got = 1;

	for (int i = 0; i < 2 && got == 1; i++) {
		auto_fd int dir = -1;

		if (i == 1 && move_self(cs, cs->v2_up, err) < 0)
			return -1;
		dir = file_mkdir_at(cs->v2, "try", 0755, err);
		if (dir < 0)
			return -1;
		got = born(dir, err);
		unlinkat(cs->v2, "try", AT_REMOVEDIR);
	}
	if (got == 1)
		return err_set(err, ERR_SYS,
		    "a child cloned into a fresh cgroup is killed");
	return got;
}

static unsigned
core(const struct cgroups *cs)
{
	return (faccessat(cs->v2, "cgroup.freeze", W_OK, 0) == 0 ? CGROUP_FREEZE
								 : 0) |
	    (faccessat(cs->v2, "cgroup.kill", W_OK, 0) == 0 ? CGROUP_KILL : 0);
}

struct cgroups *
cgroups_open(const char *name, struct err *err)
{
	struct cgroups *cs = xcalloc(1, sizeof *cs);
	struct cgroup_layout *l = xcalloc(1, sizeof *l);
	auto_str struct str mounts = { 0 }, self = { 0 };
	int got = -1;

	cs->v2 = cs->v2_up = cs->from = -1;
	memset(cs->v1, 0xff, sizeof cs->v1);
	memset(cs->v1_up, 0xff, sizeof cs->v1_up);
	snprintf(cs->name, sizeof cs->name, "hutch-%s", name);
	if (file_read_at(AT_FDCWD, "/proc/self/mountinfo", &mounts, 4 << 20,
		err) == 0 &&
	    file_read_at(AT_FDCWD, "/proc/self/cgroup", &self, 1 << 16, err) ==
		0) {
		cgroup_layout(str_text(&mounts), str_text(&self), l);
		sweep(l->v2_root, cs->name);
		for (int i = 0; i < CG_V1; i++)
			sweep(l->v1_root[i], cs->name);
		got = open_v2(cs, l, err);
	}
	if (got == 0 && cs->ops == &cgroup_hybrid)
		open_v1(cs, l);
	free(l);
	if (got == 0 && try_birth(cs, err) == 0) {
		cs->can = cs->ops->can(cs) | core(cs);
		return cs;
	}
	cgroups_close(cs);
	err_wrap(err, "cgroups");
	return NULL;
}
