#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "agent/fs.h"
#include "agent/tool.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"

#define HOPS_MAX 40

int
fs_error(struct err *err, const char *text)
{
	/* clang-format off */
	static const struct {
		int sys;
		enum err_code code;
	} codes[] = {
		{ ENOENT,	ERR_MISSING },
		{ ENOTDIR,	ERR_MISSING },
		{ EXDEV,	ERR_DENIED },
		{ ELOOP,	ERR_INVALID },
		{ ENAMETOOLONG,	ERR_INVALID },
		{ EINVAL,	ERR_INVALID },
		{ EISDIR,	ERR_BUSY },
		{ EEXIST,	ERR_BUSY },
		{ ENOTEMPTY,	ERR_BUSY },
		{ EBUSY,	ERR_BUSY },
		{ ENOSPC,	ERR_LIMIT },
		{ EDQUOT,	ERR_LIMIT },
		{ EFBIG,	ERR_LIMIT },
	};
	/* clang-format on */
	int sys = errno;

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].sys == sys)
			return err_set(err, codes[i].code, "%s: %s", text,
			    strerror(sys));
	return err_sys(err, "%s", text);
}

void
fs_close(struct fs *fs)
{
	own_closep(&fs->root);
	str_free(&fs->path);
}

static int
denied(const struct fs *fs, struct err *err)
{
	return err_set(err, ERR_DENIED,
	    "Permission error. Access restricted to %s directory.", fs->base);
}

/* What follows the base in an absolute name; NULL: not below it. */
static const char *
below(const char *base, const char *path)
{
	size_t n = strlen(base);

	while (path[0] == '/' && path[1] == '/')
		path++;
	if (strncmp(path, base, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	return path + n;
}

/* ---- resolution ---- */

struct walker {
	struct fs *fs;
	char rest[2 * PATH_MAX]; /* still to be walked */
	int hops;
};

static int
put_front(struct walker *w, const char *text, struct err *err)
{
	size_t n = strlen(text), old = strlen(w->rest);

	if (n + 1 + old >= sizeof w->rest)
		return err_set(err, ERR_INVALID, "the path is too long");
	memmove(w->rest + n + 1, w->rest, old + 1);
	memcpy(w->rest, text, n);
	w->rest[n] = '/';
	return 0;
}

/* Takes the next part off rest; "" when there is none. */
static void
next_part(struct walker *w, char part[NAME_MAX + 2])
{
	size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");
	size_t fits = n <= NAME_MAX ? n : NAME_MAX + 1;

	memcpy(part, w->rest + skip, fits);
	part[fits] = '\0';
	memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
}

static int
go_up(struct walker *w, struct err *err)
{
	struct str *path = &w->fs->path;
	const char *slash;

	if (path->len == 0)
		return denied(w->fs, err);
	slash = strrchr(path->at, '/');
	str_cut(path, slash != NULL ? (size_t)(slash - path->at) : 0);
	return 0;
}

/* The link at fs->path leads elsewhere: its text takes its place in rest. */
static int
follow(struct walker *w, const char *target, struct err *err)
{
	if (++w->hops > HOPS_MAX)
		return err_set(err, ERR_INVALID, "too many links");
	if (target[0] == '/') {
		target = below(w->fs->base, target);
		if (target == NULL)
			return denied(w->fs, err);
		str_cut(&w->fs->path, 0);
		return put_front(w, target, err);
	}
	if (go_up(w, err) < 0)
		return -1;
	return put_front(w, target, err);
}

static bool
is_last(const struct walker *w)
{
	return w->rest[strspn(w->rest, "/")] == '\0';
}

/* 1: a link, its text in target; 0: none, or nothing there. */
static int
read_link(const struct fs *fs, char target[PATH_MAX], struct err *err)
{
	auto_fd int fd = path_open(fs->root, fs->path.at, O_PATH | O_NOFOLLOW,
	    0, PATH_BENEATH, err);
	ssize_t n;

	if (fd < 0 && (err->sys == ENOENT || err->sys == ENOTDIR))
		return 0;
	if (fd < 0) {
		errno = err->sys;
		return fs_error(err, "path");
	}
	n = readlinkat(fd, "", target, PATH_MAX - 1);
	if (n < 0)
		return 0; /* not a link */
	target[n] = '\0';
	return 1;
}

static int
walk(struct walker *w, bool last, struct err *err)
{
	char part[NAME_MAX + 2], target[PATH_MAX];
	int r;

	for (;;) {
		next_part(w, part);
		if (part[0] == '\0')
			return 0;
		if (strlen(part) > NAME_MAX)
			return err_set(err, ERR_INVALID,
			    "a name in the path is longer than %d bytes",
			    NAME_MAX);
		if (strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			if (go_up(w, err) < 0)
				return -1;
			continue;
		}
		if (w->fs->path.len > 0)
			str_putc(&w->fs->path, '/');
		str_puts(&w->fs->path, part);
		if (is_last(w) && !last)
			continue;
		r = read_link(w->fs, target, err);
		if (r < 0 || (r > 0 && follow(w, target, err) < 0))
			return -1;
	}
}

int
fs_open(struct fs *fs, const struct world *world, const struct args *args,
    const char *name, bool last, struct err *err)
{
	struct walker w = { .fs = fs };
	const char *path;

	fs->base = arg_num(args, "anywhere", 0) != 0 ? "" : world->files;
	if (arg_text(args, name, &path, err) < 0)
		return -1;
	if (path == NULL)
		path = "";
	if (path[0] == '/' && (path = below(fs->base, path)) == NULL)
		return denied(fs, err);
	if (strlen(path) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "%s is too long", name);
	snprintf(w.rest, sizeof w.rest, "%s", path);
	fs->root = open(fs->base[0] != '\0' ? fs->base : "/",
	    O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fs->root < 0)
		return fs_error(err, fs->base);
	return walk(&w, last, err);
}

/* ---- use ---- */

static int
open_below(const struct fs *fs, const char *path, int flags, struct err *err)
{
	int fd = path_open(fs->root, path[0] != '\0' ? path : ".", flags, 0,
	    PATH_NO_LINKS, err);

	if (fd < 0) {
		errno = err->sys;
		return fs_error(err, "path");
	}
	return fd;
}

int
fs_use(const struct fs *fs, int flags, struct err *err)
{
	return open_below(fs, str_text(&fs->path), flags, err);
}

static int
split(const struct fs *fs, struct str *dir, const char **name, struct err *err)
{
	const char *slash;

	if (fs->path.len == 0)
		return err_set(err, ERR_BUSY,
		    "this is the workspace itself, which stays");
	slash = strrchr(fs->path.at, '/');
	*name = slash != NULL ? slash + 1 : fs->path.at;
	if (slash != NULL)
		str_add(dir, fs->path.at, (size_t)(slash - fs->path.at));
	return 0;
}

int
fs_parent(const struct fs *fs, const char **name, struct err *err)
{
	auto_str struct str dir = { 0 };

	if (split(fs, &dir, name, err) < 0)
		return -1;
	return open_below(fs, str_text(&dir), O_PATH | O_DIRECTORY, err);
}

static int
step_into(int dir, const char *name, bool *made, struct err *err)
{
	int fd =
	    openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
			return fs_error(err, name);
		*made = true;
		fd = openat(dir, name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(err, ERR_BUSY,
		    "path exists and is not a directory");
	return fd < 0 ? fs_error(err, name) : fd;
}

/* path is free of links: whatever is one now was put there meanwhile. */
static int
make_all(const struct fs *fs, char *path, bool *made, struct err *err)
{
	int dir = fcntl(fs->root, F_DUPFD_CLOEXEC, 3);
	char *part, *mark;

	if (dir < 0)
		return err_sys(err, "duplicate");
	for (part = strtok_r(path, "/", &mark); part != NULL;
	     part = strtok_r(NULL, "/", &mark)) {
		int next = step_into(dir, part, made, err);

		close(dir);
		if (next < 0)
			return -1;
		dir = next;
	}
	return dir;
}

int
fs_make_parent(const struct fs *fs, const char **name, struct err *err)
{
	auto_str struct str dir = { 0 };
	bool made = false;

	if (split(fs, &dir, name, err) < 0)
		return -1;
	str_puts(&dir, "");
	return make_all(fs, dir.at, &made, err);
}

int
fs_make(const struct fs *fs, struct err *err)
{
	auto_free char *path = xstrdup(str_text(&fs->path));
	bool made = false;
	auto_fd int fd = make_all(fs, path, &made, err);

	return fd < 0 ? -1 : made;
}

/* ---- entries ---- */

static uint32_t
type_of(mode_t mode)
{
	return S_ISREG(mode) ? 0 : S_ISDIR(mode) ? 1 : 3;
}

/* What a link leads to decides its type: 0 nothing, -1 outside, else a mode. */
static int
behind(const struct fs *fs, const char *path, mode_t *mode)
{
	struct fs there = { .root = fs->root, .base = fs->base };
	struct walker w = { .fs = &there };
	auto_fd int fd = -1;
	struct stat st;
	struct err err;
	int r;

	snprintf(w.rest, sizeof w.rest, "%s", path);
	r = walk(&w, true, &err);
	if (r == 0)
		fd = fs_use(&there, O_PATH, &err);
	str_free(&there.path);
	if (r < 0)
		return err.code == ERR_DENIED ? -1 : 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	*mode = st.st_mode;
	return 1;
}

int
fs_entry(const struct fs *fs, int dir, const char *name, const char *path,
    struct call_entry *out, struct stat *st)
{
	mode_t mode;
	int link = 1;

	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return -1;
	mode = st->st_mode;
	if (S_ISLNK(mode))
		link = behind(fs, path, &mode);
	if (link == 0)
		return 0;
	*out = (struct call_entry){ .base = fs->base,
		.path = path,
		.name = name,
		.type = link < 0 ? 2 : type_of(mode),
		.size = -1,
		.mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 +
		    st->st_mtim.tv_nsec / 1000000 };
	if (out->type == 0)
		out->size = st->st_size;
	return 1;
}

int
fs_tell(const struct fs *fs, struct call *call, struct err *err)
{
	auto_fd int fd = fs_use(fs, O_PATH | O_NOFOLLOW, err);
	const char *path = str_text(&fs->path), *slash = strrchr(path, '/');
	struct call_entry e;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fs_entry(fs, fd, "", path, &e, &st) <= 0)
		return fs_error(err, "not found");
	e.name = slash != NULL ? slash + 1 : path;
	if (path[0] == '\0') /* the root has no name below itself */
		e.name = fs->base[0] != '\0' ? strrchr(fs->base, '/') + 1 : "/";
	call_list(call, &e);
	return 0;
}
