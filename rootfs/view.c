#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "rootfs/policy.h"
#include "rootfs/view.h"

#define LINKS_MAX 40

bool
view_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

enum look { LOOK_FOUND, LOOK_NOT_HERE, LOOK_HIDDEN, LOOK_FAILED };

static enum look
look(int dir, const char *path, struct stat *st, struct err *err)
{
	struct err why;
	auto_fd int fd = path_open(dir, *path == '\0' ? "." : path,
	    O_PATH | O_NOFOLLOW, 0, PATH_NO_LINKS, &why);

	if (fd >= 0) {
		if (fstat(fd, st) == 0)
			return view_whiteout(st) ? LOOK_HIDDEN : LOOK_FOUND;
		err_sys(err, "stat %.120s", path);
		return LOOK_FAILED;
	}
	if (why.sys == ENOENT)
		return LOOK_NOT_HERE;
	if (why.sys == ENOTDIR || why.sys == ELOOP)
		return LOOK_HIDDEN;
	*err = why;
	return LOOK_FAILED;
}

int
view_find(const struct view *v, const char *path, enum view_from from,
    struct view_hit *hit, struct err *err)
{
	for (size_t i = from == VIEW_ALL ? 0 : 1; i <= v->nlower; i++) {
		int dir = i == 0 ? v->top : v->lower[i - 1];
		struct stat st;

		switch (look(dir, path, &st, err)) {
		case LOOK_FOUND:
			*hit = (struct view_hit){ dir, st };
			return 1;
		case LOOK_HIDDEN:
			return 0;
		case LOOK_FAILED:
			return -1;
		case LOOK_NOT_HERE:
			break;
		}
	}
	return 0;
}

/* What has been resolved, what is still to come, how many links so far. */
struct walk {
	const struct view *view;
	char *done; /* PATH_MAX */
	struct str rest;
	int links;
};

static void
up(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash == NULL ? path : slash) = '\0';
}

static int
follow(struct walk *w, const char *path, const struct view_hit *hit,
    struct err *err)
{
	char target[PATH_MAX];
	auto_free char *rest = str_take(&w->rest);
	auto_fd int fd = -1;
	ssize_t n;

	if (++w->links > LINKS_MAX)
		return err_set(err, ERR_INVALID, "too many links: %.120s",
		    path);
	fd = path_open(hit->dir, path, O_PATH | O_NOFOLLOW, 0, PATH_NO_LINKS,
	    err);
	if (fd < 0)
		return -1;
	n = readlinkat(fd, "", target, sizeof target - 1);
	if (n < 0)
		return err_sys(err, "read link %.120s", path);
	target[n] = '\0';
	if (target[0] == '/')
		w->done[0] = '\0';
	str_printf(&w->rest, "%s/%s", target, rest);
	return 0;
}

static int
step(struct walk *w, const char *name, struct err *err)
{
	char next[PATH_MAX];
	struct view_hit hit;
	int r;

	if (strcmp(name, "..") == 0) {
		up(w->done);
		return 0;
	}
	if (strlen(name) > NAME_MAX)
		return err_set(err, ERR_LIMIT, "name too long: %.120s", name);
	if (policy_join(w->done, name, next, err) < 0)
		return -1;
	r = view_find(w->view, next, VIEW_ALL, &hit, err);
	if (r < 0)
		return -1;
	if (r == 1 && S_ISLNK(hit.st.st_mode))
		return follow(w, next, &hit, err);
	if (r == 1 && !S_ISDIR(hit.st.st_mode))
		return err_set(err, ERR_INVALID, "%.120s is not a directory",
		    next);
	strcpy(w->done, next);
	return 0;
}

int
view_resolve(const struct view *v, const char *path, char out[PATH_MAX],
    struct err *err)
{
	struct walk w = { .view = v, .done = out };
	int r = 0;

	out[0] = '\0';
	str_puts(&w.rest, path);
	while (r == 0 && w.rest.len > 0) {
		size_t n = strcspn(w.rest.at, "/");
		auto_free char *name = xstrndup(w.rest.at, n);

		str_drop(&w.rest, n + (w.rest.at[n] == '/'));
		if (n > 0 && strcmp(name, ".") != 0)
			r = step(&w, name, err);
	}
	str_free(&w.rest);
	return r;
}
