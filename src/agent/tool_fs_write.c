#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tool.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define ROOM (1024 * 1024) /* bytes of input on their way */

struct writing {
	struct call *call;
	struct fs fs;
	int dir, fd;
	char name[256], temp[64];
	bool there; /* a file that will be replaced */
	struct stat old;
	int64_t mode; /* asked for; -1: not */
};

static void
finish(struct writing *w, const struct err *err)
{
	struct call *call = w->call;

	if (err != NULL && w->temp[0] != '\0')
		unlinkat(w->dir, w->temp, 0);
	own_closep(&w->fd);
	own_closep(&w->dir);
	fs_close(&w->fs);
	free(w);
	call_done(call, &(struct call_result){ .err = err });
}

/* Readers see the old file or the new one, with mode and owner kept. */
static int
put_in_place(struct writing *w, struct err *err)
{
	mode_t mode = w->there ? w->old.st_mode & 07777 : 0;

	if (w->there && fchown(w->fd, w->old.st_uid, w->old.st_gid) < 0)
		return fs_error(err, "owner");
	if (w->mode >= 0)
		mode = (mode_t)w->mode;
	if ((w->there || w->mode >= 0) && fchmod(w->fd, mode) < 0)
		return fs_error(err, "mode");
	if (renameat(w->dir, w->temp, w->dir, w->name) < 0)
		return fs_error(err, "rename");
	w->temp[0] = '\0';
	return fs_tell(&w->fs, w->call, err);
}

static void
input(void *work, const uint8_t *bytes, size_t n, bool eof)
{
	struct writing *w = work;
	struct err err;

	if (file_write_all(w->fd, bytes, n, &err) < 0) {
		errno = err.sys;
		fs_error(&err, "write");
		finish(w, &err);
		return;
	}
	call_want(w->call, n);
	if (eof)
		finish(w, put_in_place(w, &err) < 0 ? &err : NULL);
}

static void
nobody_waits(void *work)
{
	struct err err;

	err_set(&err, ERR_BUSY, "nobody sends it any more");
	finish(work, &err);
}

static void
end(void *work, enum call_end why)
{
	(void)why;
	nobody_waits(work);
}

static const struct call_ops ops = {
	.alone = nobody_waits,
	.input = input,
	.end = end,
};

static int
create(struct writing *w, struct err *err)
{
	static unsigned count;
	const char *name;

	w->dir = fs_make_parent(&w->fs, &name, err);
	if (w->dir < 0)
		return -1;
	snprintf(w->name, sizeof w->name, "%s", name);
	w->there = fstatat(w->dir, w->name, &w->old, AT_SYMLINK_NOFOLLOW) == 0;
	if (w->there && S_ISDIR(w->old.st_mode))
		return err_set(err, ERR_BUSY, "path exists and is a directory");
	w->there = w->there && S_ISREG(w->old.st_mode);
	do {
		snprintf(w->temp, sizeof w->temp, ".hutch-%u.part", ++count);
		w->fd = openat(w->dir, w->temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	} while (w->fd < 0 && errno == EEXIST);
	if (w->fd < 0) {
		w->temp[0] = '\0';
		return fs_error(err, "create");
	}
	return 0;
}

static void
drop(struct writing *w)
{
	own_closep(&w->fd);
	own_closep(&w->dir);
	fs_close(&w->fs);
	free(w);
}

static int
fs_write(struct call *call, const struct args *args, struct err *err)
{
	struct writing *w = xcalloc(1, sizeof *w);
	int r;

	w->call = call;
	w->dir = w->fd = w->fs.root = -1;
	w->mode = arg_num(args, "mode", -1);
	r = fs_open(&w->fs, call_world(call), args, "path", true, err);
	if (r == 0 && w->fs.path.len == 0)
		r = err_set(err, ERR_BUSY, "path exists and is a directory");
	if (r < 0 || create(w, err) < 0) {
		drop(w);
		return -1;
	}
	call_work(call, &ops, w);
	call_want(call, ROOM);
	return 0;
}

/* clang-format off */
static const struct param params[] = {
	{ "path", ARG_TEXT, 0, 4095,  "Relative to the workspace, or absolute and in it.", false },
	{ "mode", ARG_INT,  0, 07777, "Of the file; else as it was, or 0644.", true },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_write = {
	.name = "fs_write",
	.text = "Write Input to a file, parents made; in place at its end; its "
		"entry is told.  ERR_BUSY: a directory is there, or no "
		"directory where one is needed; ERR_DENIED: outside of the "
		"workspace; ERR_LIMIT: no room.",
	.params = params,
	.internal = true,
	.run = fs_write,
};
