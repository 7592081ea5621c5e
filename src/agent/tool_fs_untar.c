#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tar.h"
#include "agent/tool.h"
#include "base/err.h"
#include "base/own.h"

#define ROOM (1024 * 1024)

struct dir { /* its time is set when nothing is added any more */
	SLIST_ENTRY(dir) next;
	struct timespec time;
	char path[];
};

struct unpacking {
	struct call *call;
	struct fs fs; /* its .path is the entry's */
	size_t base;  /* length of the path that all is below */
	struct str in;
	struct tar_entry entry;
	bool pax;  /* its records come next */
	bool used; /* .entry has been dealt with */
	bool ended;
	int64_t skip; /* bytes that nobody wants: padding, others' entries */
	SLIST_HEAD(, dir) dirs;
	/* the file that is being written */
	int fd, dir;
	const char *name;
	bool mapped;
	struct tar_piece map[TAR_MAP_MAX];
	size_t piece, pieces;
	int64_t done, left; /* of the piece; stored bytes of the file */
};

/* ---- entries ---- */

static void
fresh(struct tar_entry *e)
{
	tar_entry_free(e);
	*e = (struct tar_entry){ .size = -1,
		.stored = -1,
		.seconds = INT64_MIN };
}

static int64_t
padded(int64_t n)
{
	return n + (TAR_BLOCK - n % TAR_BLOCK) % TAR_BLOCK;
}

/* Its path below the root, from the archive's: no "..", nothing odd. */
static int
place(struct unpacking *u, const struct str *name, struct str *out,
    struct err *err)
{
	auto_free char *copy = xstrdup(str_text(name));
	char *mark;

	if (strlen(copy) != name->len)
		return err_set(err, ERR_INVALID, "a name with a NUL byte");
	str_cut(out, 0);
	str_add(out, str_text(&u->fs.path), u->base);
	for (char *part = strtok_r(copy, "/", &mark); part != NULL;
	     part = strtok_r(NULL, "/", &mark)) {
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0)
			return err_set(err, ERR_INVALID,
			    "a name that leads upward");
		if (out->len > 0)
			str_putc(out, '/');
		str_puts(out, part);
	}
	str_puts(out, "");
	return 0;
}

static int
set_meta(const struct tar_entry *e, int dir, const char *name, struct err *err)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = e->seconds, .tv_nsec = e->nano } };

	if (fchownat(dir, name, e->uid, e->gid, AT_SYMLINK_NOFOLLOW) < 0 &&
	    geteuid() == 0)
		return fs_error(err, "owner");
	if (e->type != TAR_LINK && fchmodat(dir, name, e->mode, 0) < 0)
		return fs_error(err, "mode");
	if (utimensat(dir, name, t, AT_SYMLINK_NOFOLLOW) < 0)
		return fs_error(err, "time");
	return 0;
}

static int
make_dir(struct unpacking *u, struct err *err)
{
	auto_fd int dir = -1;
	struct str *path = &u->fs.path;
	struct dir *d = xcalloc(1, sizeof *d + path->len + 1);
	const char *name;

	d->time = (struct timespec){ u->entry.seconds, u->entry.nano };
	strcpy(d->path, path->at);
	SLIST_INSERT_HEAD(&u->dirs, d, next);
	if (fs_make(&u->fs, err) < 0)
		return -1;
	if (path->len == 0) { /* the root: not ours to give away */
		dir = fs_use(&u->fs, O_RDONLY | O_DIRECTORY, err);
		if (dir < 0 || fchmod(dir, u->entry.mode) < 0)
			return fs_error(err, "mode");
		return 0;
	}
	dir = fs_parent(&u->fs, &name, err);
	return dir < 0 ? -1 : set_meta(&u->entry, dir, name, err);
}

static int
make_hard(struct unpacking *u, int dir, const char *name, struct err *err)
{
	struct fs other = { .root = u->fs.root, .base = u->fs.base };
	auto_fd int from = -1;
	const char *from_name;
	int r;

	str_puts(&other.path, "");
	r = place(u, &u->entry.link, &other.path, err);
	if (r == 0)
		from = fs_parent(&other, &from_name, err);
	if (from < 0)
		r = -1;
	else if (linkat(from, from_name, dir, name, 0) < 0)
		r = fs_error(err, "link");
	str_free(&other.path);
	return r;
}

static int
make_one(struct unpacking *u, int dir, const char *name, struct err *err)
{
	const struct tar_entry *e = &u->entry;
	int r = 0;

	if (e->type == TAR_HARD)
		return make_hard(u, dir, name, err);
	if (e->type == TAR_LINK)
		r = symlinkat(str_text(&e->link), dir, name);
	else
		r = mkfifoat(dir, name, 0600);
	if (r < 0)
		return fs_error(err, "make");
	return set_meta(e, dir, name, err);
}

static int
make_file(struct unpacking *u, int dir, const char *name, struct err *err)
{
	u->fd = openat(dir, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (u->fd < 0)
		return fs_error(err, "create");
	u->name = name;
	u->left = u->entry.stored;
	u->mapped = !u->entry.sparse;
	u->map[0] = (struct tar_piece){ 0, u->entry.stored };
	u->pieces = 1;
	u->piece = 0;
	u->done = 0;
	return 0;
}

static int
begin_entry(struct unpacking *u, struct err *err)
{
	struct str path = { 0 };
	const char *name;
	int r = place(u, &u->entry.path, &path, err);

	str_free(&u->fs.path);
	u->fs.path = path;
	if (r < 0)
		return -1;
	if (u->entry.type == TAR_DIR)
		return make_dir(u, err);
	if (u->entry.type == TAR_OTHER) {
		u->skip = padded(u->entry.stored);
		return 0;
	}
	own_closep(&u->dir);
	u->dir = fs_make_parent(&u->fs, &name, err);
	if (u->dir < 0)
		return -1;
	if (unlinkat(u->dir, name, 0) < 0 && errno != ENOENT)
		return fs_error(err, "replace");
	if (u->entry.type == TAR_FILE)
		return make_file(u, u->dir, name, err);
	return make_one(u, u->dir, name, err);
}

/* ---- bytes ---- */

static int
end_file(struct unpacking *u, struct err *err)
{
	if (ftruncate(u->fd, u->entry.size) < 0)
		return fs_error(err, "size");
	close(take_fd(&u->fd));
	u->skip = padded(u->entry.stored) - u->entry.stored;
	return set_meta(&u->entry, u->dir, u->name, err);
}

/* 1: got on; 0: more bytes are needed */
static int
read_map(struct unpacking *u, struct err *err)
{
	size_t used;
	int r = tar_map(str_text(&u->in), u->in.len, u->map, &u->pieces, &used,
	    err);

	if (r == 0 && u->in.len > TAR_PAX_MAX)
		return err_set(err, ERR_PROTO, "the map of a sparse file");
	if (r <= 0)
		return r;
	u->mapped = true;
	str_drop(&u->in, used);
	u->left -= (int64_t)used;
	return 1;
}

static int
write_file(struct unpacking *u, struct err *err)
{
	struct tar_piece *at = &u->map[u->piece];
	int64_t n;
	ssize_t w;

	if (!u->mapped)
		return read_map(u, err);
	if (u->left <= 0 || u->piece == u->pieces)
		return end_file(u, err) < 0 ? -1 : 1;
	if (u->done == at->size) {
		u->piece++;
		u->done = 0;
		return 1;
	}
	n = at->size - u->done;
	n = n < u->left ? n : u->left;
	n = n < (int64_t)u->in.len ? n : (int64_t)u->in.len;
	if (n == 0)
		return 0;
	w = pwrite(u->fd, u->in.at, (size_t)n, at->at + u->done);
	if (w < 0)
		return fs_error(err, "write");
	str_drop(&u->in, (size_t)w);
	u->done += w;
	u->left -= w;
	return 1;
}

static int
read_pax(struct unpacking *u, struct err *err)
{
	int64_t n = u->entry.stored;

	if (n > TAR_PAX_MAX)
		return err_set(err, ERR_PROTO, "pax records of %lld bytes",
		    (long long)n);
	if ((int64_t)u->in.len < padded(n))
		return 0;
	fresh(&u->entry);
	if (tar_records(u->in.at, (size_t)n, &u->entry, err) < 0)
		return -1;
	str_drop(&u->in, (size_t)padded(n));
	u->pax = false;
	return 1;
}

static int
read_header(struct unpacking *u, struct err *err)
{
	int r;

	if (u->in.len < TAR_BLOCK)
		return 0;
	if (u->used)
		fresh(&u->entry);
	r = tar_get((const uint8_t *)u->in.at, &u->entry, err);
	if (r < 0)
		return -1;
	str_drop(&u->in, TAR_BLOCK);
	if (r == 0) {
		u->ended = true;
		return 1;
	}
	u->pax = u->entry.type == TAR_PAX;
	u->used = !u->pax;
	return u->pax || begin_entry(u, err) == 0 ? 1 : -1;
}

/* 1: got on; 0: more bytes are needed */
static int
step(struct unpacking *u, struct err *err)
{
	if (u->ended) { /* whatever follows the end */
		str_cut(&u->in, 0);
		return 0;
	}
	if (u->skip > 0) {
		size_t n =
		    (int64_t)u->in.len < u->skip ? u->in.len : (size_t)u->skip;

		str_drop(&u->in, n);
		u->skip -= (int64_t)n;
		return u->skip > 0 ? 0 : 1;
	}
	if (u->fd >= 0)
		return write_file(u, err);
	if (u->pax)
		return read_pax(u, err);
	return read_header(u, err);
}

/* ---- the call ---- */

static void
set_times(struct unpacking *u, bool apply)
{
	struct dir *d;
	struct err err;

	while ((d = SLIST_FIRST(&u->dirs)) != NULL) {
		struct fs at = { .root = u->fs.root, .base = u->fs.base };
		struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, d->time };
		auto_fd int fd = -1;

		SLIST_REMOVE_HEAD(&u->dirs, next);
		str_puts(&at.path, d->path);
		if (apply)
			fd = fs_use(&at, O_RDONLY | O_DIRECTORY, &err);
		if (fd >= 0)
			futimens(fd, t);
		str_free(&at.path);
		free(d);
	}
}

static void
finish(struct unpacking *u, const struct err *err)
{
	struct call *call = u->call;

	set_times(u, err == NULL);
	own_closep(&u->fd);
	own_closep(&u->dir);
	fs_close(&u->fs);
	tar_entry_free(&u->entry);
	str_free(&u->in);
	free(u);
	call_done(call, &(struct call_result){ .err = err });
}

static void
input(void *work, const uint8_t *bytes, size_t n, bool eof)
{
	struct unpacking *u = work;
	struct err err;
	int r;

	str_add(&u->in, bytes, n);
	while ((r = step(u, &err)) > 0)
		;
	if (r == 0 && eof && !u->ended)
		r = err_set(&err, ERR_PROTO, "the archive ends too early");
	if (r < 0)
		err_wrap(&err, "%s", str_text(&u->fs.path));
	if (r < 0 || eof)
		finish(u, r < 0 ? &err : NULL);
	else
		call_want(u->call, n);
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
fs_untar(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	struct unpacking *u;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0)
		return -1;
	u = xcalloc(1, sizeof *u);
	u->call = call;
	u->fs = fs;
	fs = (struct fs)FS_INIT;
	str_puts(&u->fs.path, "");
	u->base = u->fs.path.len;
	u->fd = u->dir = -1;
	fresh(&u->entry);
	call_work(call, &ops, u);
	call_want(call, ROOM);
	return 0;
}

/* clang-format off */
static const struct param params[] = {
	{ "path",     ARG_TEXT, 0, 4095, "A directory; the workspace if absent.", true },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_untar = {
	.name = "fs_untar",
	.text = "Unpack Input, a tar as fs_tar makes it, below a directory; "
		"what is there stays, unless it has the same name.",
	.params = params,
	.internal = true,
	.run = fs_untar,
};
