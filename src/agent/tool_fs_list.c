#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tool.h"
#include "agent/turn.h"
#include "agent/walk.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/own.h"

#define AT_A_TIME 256

struct listing {
	struct call *call;
	struct fs fs;
	struct walk walk;
	struct turn *turn;
	size_t depth; /* 0: all */
};

static void
finish(struct listing *l, const struct err *err)
{
	struct call *call = l->call;

	walk_end(&l->walk);
	fs_close(&l->fs);
	turn_free(l->turn);
	free(l);
	call_done(call, &(struct call_result){ .err = err });
}

static int
tell(struct listing *l, struct stat *st, struct err *err)
{
	auto_str struct str path = { 0 };
	struct call_entry e;
	int r;

	str_puts(&path, str_text(&l->fs.path));
	if (path.len > 0)
		str_putc(&path, '/');
	str_puts(&path, l->walk.path.at);
	if (path.len + 256 > PATH_MAX)
		return err_set(err, ERR_LIMIT,
		    "a path in it is longer than "
		    "%d bytes",
		    PATH_MAX - 256);
	r = fs_entry(&l->fs, l->walk.dir, l->walk.name, path.at, &e, st);
	if (r < 0 && errno == ENOENT)
		return 0; /* gone meanwhile */
	if (r < 0)
		return fs_error(err, "list");
	if (r > 0)
		call_list(l->call, &e);
	return r;
}

static int
one(struct listing *l, struct err *err)
{
	struct stat st;
	int r = tell(l, &st, err);

	if (r <= 0)
		return r;
	if (!S_ISDIR(st.st_mode) ||
	    (l->depth > 0 && walk_depth(&l->walk) >= l->depth))
		return 0;
	if (walk_enter(&l->walk) == 0 || errno == ENOENT || errno == ENOTDIR ||
	    errno == ELOOP)
		return 0;
	if (errno == EMLINK)
		return err_set(err, ERR_LIMIT, "it is deeper than %d levels",
		    WALK_DEPTH);
	return fs_error(err, "list");
}

static enum turn_result
some(void *arg)
{
	struct listing *l = arg;
	struct err err;

	for (int i = 0; i < AT_A_TIME; i++) {
		enum walk_step step;

		if (!call_may_list(l->call))
			return TURN_WAIT;
		step = walk_next(&l->walk);
		if (step == WALK_END) {
			finish(l, NULL);
			return TURN_OVER;
		}
		if (step == WALK_ENTRY && one(l, &err) < 0) {
			finish(l, &err);
			return TURN_OVER;
		}
	}
	return TURN_AGAIN;
}

static void
room(void *work)
{
	turn_go(((struct listing *)work)->turn);
}

static void
end(void *work, enum call_end why)
{
	struct err err;

	(void)why;
	err_set(&err, ERR_BUSY, "cancelled");
	finish(work, &err);
}

static void
nobody_reads(void *work)
{
	finish(work, NULL);
}

static const struct call_ops ops = {
	.room = room,
	.alone = nobody_reads,
	.end = end,
};

static int
fs_list(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	struct walk walk;
	struct listing *l;
	int fd;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0)
		return -1;
	fd = fs_use(&fs, O_RDONLY | O_DIRECTORY, err);
	if (fd < 0 && err->code == ERR_MISSING)
		return err_set(err, ERR_MISSING, "not found");
	if (fd < 0 || walk_begin(&walk, fd, err) < 0)
		return -1;
	l = xcalloc(1, sizeof *l);
	l->call = call;
	l->fs = fs;
	fs = (struct fs)FS_INIT;
	l->walk = walk;
	l->depth = (size_t)arg_num(args, "depth", 0);
	l->turn = turn_new(call_world(call)->loop, some, l);
	call_work(call, &ops, l);
	return 0;
}

/* clang-format off */
static const struct param params[] = {
	{ "path",  ARG_TEXT, 0, 4095,	   "A directory.", true },
	{ "depth", ARG_INT,  0, INT32_MAX, "Levels; 0, or absent: all.", true },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_list = {
	.name = "fs_list",
	.text = "Entries below a directory, depth first; links are not "
		"entered, links to nothing left out, one that leads out of "
		"the workspace has type 2.  ERR_MISSING: not there, or no "
		"directory; ERR_DENIED: outside of the workspace.",
	.params = params,
	.internal = true,
	.run = fs_list,
};
