/* What is about names only: stat, exists, move, mkdir. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tool.h"
#include "base/err.h"
#include "base/own.h"

static int
done(struct call *call, bool flag)
{
	call_done(call, &(struct call_result){ .flag = flag });
	return 0;
}

static int
fs_stat(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0 ||
	    fs_tell(&fs, call, err) < 0)
		return -1;
	return done(call, false);
}

static int
fs_exists(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	auto_fd int fd = -1;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0)
		return -1;
	fd = fs_use(&fs, O_PATH, err);
	if (fd < 0 && err->code != ERR_MISSING)
		return -1;
	return done(call, fd >= 0);
}

static int
fs_mkdir(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	int made;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0)
		return -1;
	made = fs_make(&fs, err);
	return made < 0 ? -1 : done(call, made);
}

/* Why rename(2) said no, in the words of the wire. */
static int
refused(struct err *err)
{
	switch (errno) {
	case EISDIR:
	case EEXIST:
	case ENOTEMPTY:
		return err_set(err, ERR_BUSY,
		    "destination exists and is a directory");
	case ENOTDIR:
		return err_set(err, ERR_BUSY,
		    "destination exists and is not a directory");
	case EINVAL:
		return err_set(err, ERR_INVALID,
		    "a directory can't be moved into itself");
	case ENOENT:
		return err_set(err, ERR_MISSING, "source not found");
	default:
		return fs_error(err, "move");
	}
}

static int
fs_move(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs from = FS_INIT, to = FS_INIT;
	auto_fd int from_dir = -1, to_dir = -1;
	const char *from_name, *to_name;
	struct stat st;

	if (fs_open(&from, call_world(call), args, "source", false, err) < 0 ||
	    fs_open(&to, call_world(call), args, "destination", false, err) < 0)
		return -1;
	from_dir = fs_parent(&from, &from_name, err);
	if (from_dir < 0 && err->code == ERR_MISSING)
		return err_set(err, ERR_MISSING, "source not found");
	if (from_dir < 0)
		return -1;
	/* Before parents are made for nothing. */
	if (fstatat(from_dir, from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return refused(err);
	to_dir = fs_make_parent(&to, &to_name, err);
	if (to_dir < 0)
		return -1;
	if (renameat(from_dir, from_name, to_dir, to_name) < 0)
		return refused(err);
	if (fs_tell(&to, call, err) < 0)
		return -1;
	return done(call, false);
}

/* clang-format off */
static const struct param path_only[] = {
	{ "path", ARG_TEXT, 0, 4095, "Relative to the workspace, or absolute and in it.", false },
	FS_ANYWHERE,
	{ NULL },
};
static const struct param from_to[] = {
	{ "source",	 ARG_TEXT, 1, 4095, "What is moved; a link itself.", false },
	{ "destination", ARG_TEXT, 1, 4095, "Its new name; a file there is replaced.", false },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_stat = {
	.name = "fs_stat",
	.text = "The entry of a file or directory, links followed.  "
		"ERR_MISSING: not there; ERR_DENIED: outside of the "
		"workspace.",
	.params = path_only,
	.internal = true,
	.run = fs_stat,
};

const struct tool tool_fs_exists = {
	.name = "fs_exists",
	.text = "Done.flag: is it there?  A link to nothing is not.  "
		"ERR_DENIED: outside of the workspace.",
	.params = path_only,
	.internal = true,
	.run = fs_exists,
};

const struct tool tool_fs_mkdir = {
	.name = "fs_mkdir",
	.text = "Make a directory and its parents; Done.flag: it was not there "
		"before.  ERR_BUSY: something is, and is no directory; "
		"ERR_DENIED: outside of the workspace.",
	.params = path_only,
	.internal = true,
	.run = fs_mkdir,
};

const struct tool tool_fs_move = {
	.name = "fs_move",
	.text = "Rename, parents made; the new entry is told.  ERR_MISSING: no "
		"source; ERR_BUSY: a directory is there, or a file where a "
		"directory would go, or it is the workspace itself; "
		"ERR_INVALID: into itself; ERR_DENIED: outside of the "
		"workspace.",
	.params = from_to,
	.internal = true,
	.run = fs_move,
};
