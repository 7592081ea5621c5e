#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tool.h"
#include "base/err.h"
#include "base/own.h"

struct reading {
	struct call *call;
	int fd;
};

static void
finish(struct reading *r, const struct err *err)
{
	struct call *call = r->call;

	close(r->fd);
	free(r);
	call_done(call, &(struct call_result){ .err = err });
}

static void
more(void *work)
{
	static char buf[64 * 1024];
	struct reading *r = work;
	struct err err;

	for (;;) {
		size_t room = call_room(r->call, STREAM_FILE);
		ssize_t n;

		if (room == 0)
			return; /* until there is */
		n = read(r->fd, buf, room < sizeof buf ? room : sizeof buf);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err_sys(&err, "read");
		if (n <= 0) {
			finish(r, n < 0 ? &err : NULL);
			return;
		}
		call_output(r->call, STREAM_FILE, buf, (size_t)n);
	}
}

static void
nobody_reads(void *work)
{
	finish(work, NULL);
}

static void
end(void *work, enum call_end why)
{
	struct err err;

	(void)why;
	err_set(&err, ERR_BUSY, "cancelled");
	finish(work, &err);
}

static const struct call_ops ops = {
	.room = more,
	.alone = nobody_reads,
	.end = end,
};

/*
 * Looked at before it is opened, because opening alone may do something (a
 * FIFO, a device); and again after, because it may be another by then.
 */
static int
open_regular(const struct fs *fs, struct err *err)
{
	auto_fd int look = fs_use(fs, O_PATH, err), fd = -1;
	struct statfs sf;
	struct stat st;

	if (look < 0 || fstat(look, &st) < 0 || S_ISDIR(st.st_mode))
		return err_set(err, ERR_MISSING, "not found");
	if (S_ISREG(st.st_mode)) {
		fd = fs_use(fs, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
		if (fd < 0)
			return -1;
		if (fstat(fd, &st) < 0)
			return fs_error(err, "stat");
	}
	/* Of /proc we would see our own side, which is nobody's. */
	if (!S_ISREG(st.st_mode) || fstatfs(fd, &sf) < 0 ||
	    sf.f_type == PROC_SUPER_MAGIC)
		return err_set(err, ERR_INVALID, "not a regular file");
	return take_fd(&fd);
}

static int
fs_read(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	auto_fd int fd = -1;
	struct reading *r;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0 ||
	    (fd = open_regular(&fs, err)) < 0 || fs_tell(&fs, call, err) < 0)
		return -1;
	r = xcalloc(1, sizeof *r);
	r->call = call;
	r->fd = take_fd(&fd);
	call_work(call, &ops, r);
	more(r);
	return 0;
}

/* clang-format off */
static const struct param params[] = {
	{ "path", ARG_TEXT, 0, 4095, "Relative to the workspace, or absolute and in it.", false },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_read = {
	.name = "fs_read",
	.text = "The file's entry, then its bytes as stream 3.  ERR_MISSING: "
		"not there, or a directory; ERR_DENIED: outside of the "
		"workspace; ERR_INVALID: not a regular file, or no name.",
	.params = params,
	.internal = true,
	.run = fs_read,
};
