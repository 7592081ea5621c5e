#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/fs.h"
#include "agent/tar.h"
#include "agent/tool.h"
#include "agent/turn.h"
#include "agent/walk.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/own.h"

#define AT_A_TIME (1024 * 1024) /* bytes, and then others have a turn */
#define CHUNK (64 * 1024)

struct name { /* of a file that has several */
	dev_t dev;
	ino_t ino;
	char path[];
};

struct packing {
	struct call *call;
	struct walk walk;
	struct turn *turn;
	struct str out; /* on its way */
	bool root_told, ended;
	void *names;
	/* the file that is being read */
	int fd;
	struct tar_piece map[TAR_MAP_MAX];
	size_t piece, pieces;
	int64_t done, stored; /* of the piece; of the file */
};

static void
finish(struct packing *p, const struct err *err)
{
	struct call *call = p->call;

	walk_end(&p->walk);
	turn_free(p->turn);
	str_free(&p->out);
	own_closep(&p->fd);
	tdestroy(p->names, free);
	free(p);
	call_done(call, &(struct call_result){ .err = err });
}

static int
same_file(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->dev < y->dev ? -1 : x->dev > y->dev;
}

/* The first name of this file; NULL: this is it. */
static const char *
first_name(struct packing *p, const struct stat *st, const char *path)
{
	struct name *n = xcalloc(1, sizeof *n + strlen(path) + 1), **at;

	n->dev = st->st_dev;
	n->ino = st->st_ino;
	strcpy(n->path, path);
	at = tsearch(n, &p->names, same_file);
	if (at == NULL || *at == n)
		return NULL;
	free(n);
	return (*at)->path;
}

/* Where its bytes are; one piece for all of it when it has no holes. */
static void
map_file(struct packing *p, int64_t size)
{
	int64_t at = 0;

	p->piece = p->pieces = 0;
	p->done = 0;
	while (at < size && p->pieces < TAR_MAP_MAX - 1) {
		int64_t from = lseek(p->fd, at, SEEK_DATA), to;

		if (from < 0 && errno == ENXIO)
			break; /* a hole to the end */
		if (from < 0)
			from = at;
		to = lseek(p->fd, from, SEEK_HOLE);
		if (to < 0 || to > size || p->pieces == TAR_MAP_MAX - 2)
			to = size;
		if (from >= to)
			break;
		p->map[p->pieces++] = (struct tar_piece){ from, to - from };
		at = to;
	}
}

static void
put_file(struct packing *p, struct tar_entry *e)
{
	bool whole;

	map_file(p, e->size);
	whole = p->pieces == 1 && p->map[0].size == e->size;
	e->sparse = !whole && e->size > 0;
	if (e->sparse) /* the usual last piece, which tells the length */
		p->map[p->pieces++] = (struct tar_piece){ e->size, 0 };
	p->stored = 0;
	for (size_t i = 0; i < p->pieces; i++)
		p->stored += p->map[i].size;
	tar_put(&p->out, e, p->map, p->pieces);
}

static int
describe(struct packing *p, struct tar_entry *e, const struct stat *st)
{
	char target[PATH_MAX];
	const char *other;
	ssize_t n;

	e->mode = st->st_mode & 07777;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->seconds = st->st_mtim.tv_sec;
	e->nano = (uint32_t)st->st_mtim.tv_nsec;
	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(p->walk.dir, p->walk.name, target,
		    sizeof target);
		if (n < 0)
			return -1;
		str_add(&e->link, target, (size_t)n);
		e->type = TAR_LINK;
	} else if (S_ISDIR(st->st_mode)) {
		e->type = TAR_DIR;
	} else if (S_ISFIFO(st->st_mode)) {
		e->type = TAR_FIFO;
	} else {
		e->type = TAR_FILE;
		e->size = st->st_size;
	}
	if (e->type != TAR_DIR && st->st_nlink > 1 &&
	    (other = first_name(p, st, e->path.at)) != NULL) {
		e->type = TAR_HARD;
		str_cut(&e->link, 0);
		str_puts(&e->link, other);
		e->size = 0;
	}
	return 0;
}

/* What can't be told of any more, because it is gone, is left out. */
static int
put_entry(struct packing *p, struct tar_entry *e, struct err *err)
{
	auto_fd int fd = -1;
	struct stat st;

	if (fstatat(p->walk.dir, p->walk.name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return 0;
	if (S_ISREG(st.st_mode)) {
		fd = openat(p->walk.dir, p->walk.name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			return 0;
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
			return fs_error(err, p->walk.path.at);
	}
	str_puts(&e->path, p->walk.path.at);
	if (describe(p, e, &st) < 0)
		return 0;
	if (e->type == TAR_FILE) {
		p->fd = take_fd(&fd);
		put_file(p, e);
		return 0;
	}
	tar_put(&p->out, e, NULL, 0);
	if (e->type != TAR_DIR || walk_enter(&p->walk) == 0 || errno != EMLINK)
		return 0;
	return err_set(err, ERR_LIMIT, "it is deeper than %d levels",
	    WALK_DEPTH);
}

/* The directory itself, for its mode and owner. */
static void
put_root(struct packing *p)
{
	struct tar_entry e = { .type = TAR_DIR };
	struct stat st;

	p->root_told = true;
	if (fstat(walk_root(&p->walk), &st) < 0)
		return;
	str_puts(&e.path, ".");
	describe(p, &e, &st);
	tar_put(&p->out, &e, NULL, 0);
	tar_entry_free(&e);
}

static int
next_entry(struct packing *p, struct err *err)
{
	struct tar_entry e = { 0 };
	int r = 0;

	if (!p->root_told) {
		put_root(p);
		return 0;
	}
	switch (walk_next(&p->walk)) {
	case WALK_ENTRY:
		r = put_entry(p, &e, err);
		tar_entry_free(&e);
		break;
	case WALK_LEAVE:
		break;
	case WALK_END:
		tar_put_end(&p->out);
		p->ended = true;
	}
	return r;
}

/* A file that became shorter meanwhile is filled up: its size was told. */
static void
more_of_file(struct packing *p)
{
	static char buf[CHUNK];
	struct tar_piece *at = &p->map[p->piece];
	int64_t left = at->size - p->done;
	size_t n = left < CHUNK ? (size_t)left : CHUNK;
	ssize_t got;

	if (p->piece == p->pieces || (left == 0 && p->piece + 1 == p->pieces)) {
		tar_pad(&p->out, p->stored);
		close(take_fd(&p->fd));
		return;
	}
	if (left == 0) {
		p->piece++;
		p->done = 0;
		return;
	}
	got = pread(p->fd, buf, n, at->at + p->done);
	if (got < 0)
		got = 0;
	memset(buf + got, 0, n - (size_t)got);
	str_add(&p->out, buf, n);
	p->done += (int64_t)n;
}

static enum turn_result
some(void *arg)
{
	struct packing *p = arg;
	struct err err;

	for (size_t sent = 0; sent < AT_A_TIME;) {
		size_t room = call_room(p->call, STREAM_FILE);
		size_t n = p->out.len < room ? p->out.len : room;

		if (n > 0) {
			call_output(p->call, STREAM_FILE, p->out.at, n);
			str_drop(&p->out, n);
			sent += n;
		} else if (p->out.len > 0) {
			return TURN_WAIT;
		} else if (p->ended) {
			finish(p, NULL);
			return TURN_OVER;
		} else if (p->fd >= 0) {
			more_of_file(p);
		} else if (next_entry(p, &err) < 0) {
			finish(p, &err);
			return TURN_OVER;
		}
	}
	return TURN_AGAIN;
}

static void
room(void *work)
{
	turn_go(((struct packing *)work)->turn);
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
	end(work, END_CANCEL);
}

static const struct call_ops ops = {
	.room = room,
	.alone = nobody_reads,
	.end = end,
};

static int
fs_tar(struct call *call, const struct args *args, struct err *err)
{
	auto_fs struct fs fs = FS_INIT;
	struct packing *p;
	struct walk walk;
	int fd;

	if (fs_open(&fs, call_world(call), args, "path", true, err) < 0)
		return -1;
	fd = fs_use(&fs, O_RDONLY | O_DIRECTORY, err);
	if (fd < 0 || walk_begin(&walk, fd, err) < 0)
		return -1;
	p = xcalloc(1, sizeof *p);
	p->call = call;
	p->walk = walk;
	p->fd = -1;
	p->turn = turn_new(call_world(call)->loop, some, p);
	call_work(call, &ops, p);
	return 0;
}

/* clang-format off */
static const struct param params[] = {
	{ "path",     ARG_TEXT, 0, 4095, "A directory; the workspace if absent.", true },
	FS_ANYWHERE,
	{ NULL },
};
/* clang-format on */

const struct tool tool_fs_tar = {
	.name = "fs_tar",
	.text = "All that is below a directory, as a tar on stream 3: modes, "
		"owners, times, links of both kinds, holes; no sockets, no "
		"extended attributes.",
	.params = params,
	.internal = true,
	.run = fs_tar,
};
