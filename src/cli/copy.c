/*
 * cp: files and folders into a sandbox and out of it.
 *
 * What comes out has names that the sandbox chose: each is checked to be one
 * name and is opened below a descriptor, no link followed, written beside its
 * place and then renamed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/progress.h"

enum { DEPTH_MAX = 64 };

struct copy {
	struct api *api;
	const char *id; /* of the sandbox, quoted */
	struct progress *progress;
	uint64_t files, bytes;
};

struct transfer {
	struct copy *copy;
	int fd;
};

static char *
request(const struct copy *c, const char *path, const char *more)
{
	auto_free char *quoted = api_quote(path);

	return xasprintf("sandboxes/%s/files?path=%s%s", c->id, quoted, more);
}

static char *
join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	return xasprintf("%s%s%s", dir, n > 0 && dir[n - 1] == '/' ? "" : "/",
	    name);
}

static const char *
last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void
moved(struct copy *c, size_t n)
{
	c->bytes += n;
	progress_bytes(c->progress, c->bytes, 0);
}

/* NULL: path is no directory. */
static int
list(struct copy *c, const char *path, json_t **entries, struct err *err)
{
	auto_free char *url = request(c, path, "&list=1");
	json_t *answer = NULL;

	if (api_call(c->api, "GET", url, NULL, &answer, err) < 0) {
		*entries = NULL;
		return err->code == ERR_INVALID ? 0 : err_wrap(err, "%s", path);
	}
	*entries = json_incref(json_object_get(answer, "entries"));
	json_decref(answer);
	return 0;
}

/* ---- into it ---- */

static ssize_t
on_read(void *arg, void *buf, size_t n, struct err *err)
{
	struct transfer *t = arg;
	ssize_t got;

	do
		got = read(t->fd, buf, n);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_sys(err, "read");
	moved(t->copy, (size_t)got);
	return got;
}

static int
on_nothing(void *arg, const void *bytes, size_t n, struct err *err)
{
	(void)arg, (void)bytes, (void)n, (void)err;
	return 0;
}

static int
put_file(struct copy *c, int fd, const struct stat *st, const char *to,
    struct err *err)
{
	auto_free char *mode =
	    xasprintf("&mode=%o", (unsigned)(st->st_mode & 0777));
	auto_free char *url = request(c, to, mode);
	struct transfer t = { c, fd };
	struct api_stream s = { .method = "PUT",
		.path = url,
		.read = on_read,
		.length = S_ISREG(st->st_mode) ? st->st_size : -1,
		.write = on_nothing,
		.arg = &t };

	c->files++;
	if (api_stream(c->api, &s, err) < 0)
		return err_wrap(err, "%s", to);
	return 0;
}

static int put_any(struct copy *, int dir, const char *name, const char *to,
    int depth, struct err *);

static int
put_dir(struct copy *c, int fd, const char *to, int depth, struct err *err)
{
	auto_free char *url = request(c, to, "&dir=1");
	struct dirent *e;
	DIR *d;
	int r = 0;

	if (depth > DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "%s: more than %d folders deep",
		    to, DEPTH_MAX);
	if (api_call(c->api, "PUT", url, NULL, NULL, err) < 0)
		return err_wrap(err, "%s", to);
	d = fdopendir(dup(fd));
	if (d == NULL)
		return err_sys(err, "read folder");
	while (r == 0 && (e = readdir(d)) != NULL) {
		auto_free char *at = join(to, e->d_name);

		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = put_any(c, fd, e->d_name, at, depth + 1, err);
	}
	closedir(d);
	return r;
}

static int
put_any(struct copy *c, int dir, const char *name, const char *to, int depth,
    struct err *err)
{
	/* The link that was named is followed, those below it are not. */
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
	auto_fd int fd =
	    openat(dir, name, flags | (depth > 0 ? O_NOFOLLOW : 0));
	struct stat st;

	if (fd < 0 && errno == ELOOP) {
		progress_say(c->progress, "left out, a link", name);
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%s", name);
	if (S_ISDIR(st.st_mode))
		return put_dir(c, fd, to, depth, err);
	if (S_ISREG(st.st_mode))
		return put_file(c, fd, &st, to, err);
	if (depth == 0)
		return err_set(err, ERR_INVALID,
		    "%s is neither a file nor a folder", name);
	progress_say(c->progress, "left out, no file", name);
	return 0;
}

static int
copy_in(struct copy *c, const char *from, const char *to, struct err *err)
{
	const struct stat pipe = { .st_mode = 0644 };
	auto_free char *below = NULL;
	json_t *there = NULL;
	struct err missing;

	if (strcmp(from, "-") == 0)
		return put_file(c, STDIN_FILENO, &pipe, to, err);
	/* An existing folder takes it under its own name, as cp does. */
	if (list(c, to, &there, &missing) == 0 && there != NULL)
		below = join(to, last_name(from));
	json_decref(there);
	return put_any(c, AT_FDCWD, from, below != NULL ? below : to, 0, err);
}

/* ---- out of it ---- */

static int
on_write(void *arg, const void *bytes, size_t n, struct err *err)
{
	struct transfer *t = arg;

	moved(t->copy, n);
	return file_write_all(t->fd, bytes, n, err);
}

static int
get_bytes(struct copy *c, const char *from, int fd, struct err *err)
{
	auto_free char *url = request(c, from, "");
	struct transfer t = { c, fd };
	struct api_stream s = { .method = "GET",
		.path = url,
		.write = on_write,
		.arg = &t };

	c->files++;
	return api_stream(c->api, &s, err) < 0 ? err_wrap(err, "%s", from) : 0;
}

static int
get_file(struct copy *c, const char *from, int dir, const char *name,
    struct err *err)
{
	auto_free char *part = xasprintf(".hutch-cp.%d", getpid());
	auto_fd int fd = openat(dir, part,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0)
		return err_sys(err, "create a file beside %s", name);
	if (get_bytes(c, from, fd, err) == 0) {
		if (renameat(dir, part, dir, name) == 0)
			return 0;
		err_sys(err, "%s", name);
	}
	unlinkat(dir, part, 0);
	return -1;
}

static int
get_dir(struct copy *c, const char *from, json_t *entries, int dir,
    const char *name, int depth, struct err *err)
{
	auto_fd int fd = -1;
	json_t *e;
	size_t i;

	if (depth > DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "%s: more than %d folders deep",
		    from, DEPTH_MAX);
	fd = file_mkdir_at(dir, name, 0777, err);
	if (fd < 0)
		return -1;
	json_array_foreach(entries, i, e) {
		const char *n = json_string_value(json_object_get(e, "name"));
		const char *type =
		    json_string_value(json_object_get(e, "type"));
		auto_free char *path = NULL;
		json_t *below = NULL;
		int r = 0;

		if (n == NULL || type == NULL || *n == '\0' ||
		    strchr(n, '/') != NULL || strcmp(n, ".") == 0 ||
		    strcmp(n, "..") == 0)
			return err_set(err, ERR_PROTO,
			    "%s: the sandbox tells of a name that is none",
			    from);
		path = join(from, n);
		if (strcmp(type, "file") == 0)
			r = get_file(c, path, fd, n, err);
		else if (strcmp(type, "dir") != 0)
			progress_say(c->progress, "left out, no file", path);
		else if ((r = list(c, path, &below, err)) == 0)
			r = get_dir(c, path, below, fd, n, depth + 1, err);
		json_decref(below);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int
copy_out(struct copy *c, const char *from, const char *to, struct err *err)
{
	auto_fd int dir = -1;
	const char *name = last_name(to);
	auto_free char *parent = xstrndup(to, (size_t)(name - to));
	json_t *entries = NULL;
	int r;

	if (strcmp(to, "-") == 0)
		return get_bytes(c, from, STDOUT_FILENO, err);
	dir = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		name = last_name(from); /* into it */
	else
		dir = open(*parent != '\0' ? parent : ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(err, "%s", *parent != '\0' ? parent : ".");
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(err, ERR_INVALID,
		    "name the file or folder: \"%s\" has no last part", from);
	if (list(c, from, &entries, err) < 0)
		return -1;
	if (entries == NULL)
		return get_file(c, from, dir, name, err);
	r = get_dir(c, from, entries, dir, name, 0, err);
	json_decref(entries);
	return r;
}

/* "ID:PATH": the path; NULL for a path of this host. */
static const char *
inside(char *arg)
{
	static const char workspace[] = "/workspace";
	char *colon = strchr(arg, ':');

	if (colon == NULL || colon == arg ||
	    memchr(arg, '/', (size_t)(colon - arg)) != NULL)
		return NULL;
	*colon = '\0';
	return colon[1] != '\0' ? colon + 1 : workspace;
}

int
cmd_cp(struct cli *cli, struct err *err)
{
	const char *from = inside(cli->arg[0]), *to = inside(cli->arg[1]);
	auto_free char *id = api_quote(cli->arg[from != NULL ? 0 : 1]);
	struct copy c = { .api = cli_api(cli), .id = id };
	int r;

	if ((from == NULL) == (to == NULL)) {
		cli->status = CLI_USAGE;
		return err_set(err, ERR_INVALID,
		    "cp: one of the two must be in a sandbox: ID:PATH");
	}
	c.progress = progress_new(cli->quiet || cli->json);
	r = from != NULL ? copy_out(&c, from, cli->arg[1], err)
			 : copy_in(&c, cli->arg[0], to, err);
	progress_end(c.progress);
	if (r == 0 && cli->json)
		cli_json(json_pack("{s:I, s:I}", "files", (json_int_t)c.files,
		    "bytes", (json_int_t)c.bytes));
	return r;
}
