#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tool.h"
#include "agent/turn.h"
#include "agent/walk.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/own.h"

#define AT_A_TIME 512
#define ATTEMPTS 100 /* while somebody makes files in it */

struct removing {
	struct call *call;
	int dir; /* where it is */
	char name[256];
	struct walk walk;
	struct turn *turn;
	int attempts;
	unsigned lifted;
};

static void
finish(struct removing *r, const struct err *err)
{
	struct call *call = r->call;

	walk_end(&r->walk);
	turn_free(r->turn);
	own_closep(&r->dir);
	free(r);
	call_done(call, &(struct call_result){ .err = err });
}

/* Too deep to hold a descriptor a level: its inside goes up to the top. */
static int
lift(struct removing *r, struct err *err)
{
	char name[64];
	int top = walk_root(&r->walk);

	do {
		snprintf(name, sizeof name, ".hutch-%u.gone", ++r->lifted);
		if (renameat2(r->walk.dir, r->walk.name, top, name,
			RENAME_NOREPLACE) == 0) {
			r->attempts = 0; /* we made that entry ourselves */
			return 0;
		}
	} while (errno == EEXIST);
	return fs_error(err, "remove");
}

static int
entry(struct removing *r, struct err *err)
{
	if (unlinkat(r->walk.dir, r->walk.name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return fs_error(err, "remove");
	if (walk_enter(&r->walk) == 0 || errno == ENOENT)
		return 0;
	return errno == EMLINK ? lift(r, err) : fs_error(err, "remove");
}

static int
leave(struct removing *r, struct err *err)
{
	if (unlinkat(r->walk.dir, r->walk.name, AT_REMOVEDIR) == 0 ||
	    errno == ENOENT)
		return 0;
	if (errno == ENOTEMPTY && walk_enter(&r->walk) == 0 &&
	    ++r->attempts < ATTEMPTS)
		return 0;
	return fs_error(err, "remove");
}

/* 1: over */
static int
last(struct removing *r, struct err *err)
{
	int fd;

	if (unlinkat(r->dir, r->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 1;
	if (errno != ENOTEMPTY || ++r->attempts >= ATTEMPTS)
		return fs_error(err, "remove");
	walk_end(&r->walk);
	fd = openat(r->dir, r->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fs_error(err, "remove");
	return walk_begin(&r->walk, fd, err);
}

static int
step(struct removing *r, struct err *err)
{
	switch (walk_next(&r->walk)) {
	case WALK_ENTRY:
		return entry(r, err);
	case WALK_LEAVE:
		return leave(r, err);
	default:
		return last(r, err);
	}
}

static enum turn_result
some(void *arg)
{
	struct removing *r = arg;
	struct err err;

	for (int i = 0; i < AT_A_TIME; i++) {
		int result = step(r, &err);

		if (result == 0)
			continue;
		finish(r, result < 0 ? &err : NULL);
		return TURN_OVER;
	}
	return TURN_AGAIN;
}

static void
end(void *work, enum call_end why)
{
	struct err err;

	(void)why;
	err_set(&err, ERR_BUSY, "cancelled, with some of it removed");
	finish(work, &err);
}

static const struct call_ops ops = { .end = end };

static int
begin(struct call *call, int dir, const char *name, struct err *err)
{
	struct removing *r;
	struct walk walk;
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fs_error(err, "remove");
	if (walk_begin(&walk, fd, err) < 0)
		return -1;
	r = xcalloc(1, sizeof *r);
	r->call = call;
	r->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	snprintf(r->name, sizeof r->name, "%s", name);
	r->walk = walk;
	r->turn = turn_new(call_world(call)->loop, some, r);
	call_work(call, &ops, r);
	return 0;
}

static int
fs_remove(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	auto_fd int dir = -1;
	const char *name;

	if (fs_open(&fs, call_world(call), args, "path", false, err) < 0)
		return -1;
	dir = fs_parent(&fs, &name, err);
	if (dir < 0)
		return -1;
	if (unlinkat(dir, name, 0) == 0) {
		call_done(call, &(struct call_result){ .err = NULL });
		return 0;
	}
	if (errno == ENOENT)
		return err_set(err, ERR_MISSING, "not found");
	if (errno != EISDIR && errno != EPERM)
		return fs_error(err, "remove");
	return begin(call, dir, name, err);
}

/* clang-format off */
static const struct param params[] = {
	{ "path", ARG_TEXT, 0, 4095, "Relative to the workspace, or absolute and in it.", false },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_remove = {
	.name = "fs_remove",
	.text = "Remove a file, a link or a whole directory.  ERR_MISSING: not "
		"there; ERR_BUSY: the workspace itself; ERR_DENIED: outside "
		"of it.",
	.params = params,
	.internal = true,
	.run = fs_remove,
};
