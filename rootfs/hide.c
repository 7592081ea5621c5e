#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "rootfs/hide.h"
#include "rootfs/policy.h"
#include "rootfs/unpack.h"

static int hide_below(struct unpack *, const char *path, int depth,
    struct err *);

/* Is path in the layer itself, and is it a directory? */
static int
own_kind(const struct unpack *u, const char *path, bool *dir, struct err *err)
{
	struct view alone = { .top = u->view.top };
	struct view_hit hit;
	int r = view_find(&alone, path, VIEW_ALL, &hit, err);

	*dir = r == 1 && S_ISDIR(hit.st.st_mode);
	return r;
}

static int
make_whiteout(struct unpack *u, const char *path, struct err *err)
{
	const struct timespec then = { 0 };
	const char *base = policy_base(path);
	auto_free char *parent = policy_above(path);
	auto_fd int dir = unpack_dir(u, parent, &then, err);

	if (dir < 0 || budget_entry(&u->left, err) < 0)
		return -1;
	if (mknodat(dir, base, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST)
		return err_sys(err, "whiteout of %.120s", path);
	return 0;
}

/* path must not show what the layers below have there. */
static int
hide(struct unpack *u, const char *path, int depth, struct err *err)
{
	struct view_hit hit;
	bool dir;
	int mine, r = view_find(&u->view, path, VIEW_LOWER, &hit, err);

	if (r <= 0)
		return r;
	mine = own_kind(u, path, &dir, err);
	if (mine < 0)
		return -1;
	if (mine == 0)
		return make_whiteout(u, path, err);
	/* What replaces a directory hides it; two directories would merge. */
	return dir && S_ISDIR(hit.st.st_mode) ? hide_below(u, path, depth, err)
					      : 0;
}

static int
hide_each(struct unpack *u, int dirfd, const char *path, int depth,
    struct err *err)
{
	DIR *d = fdopendir(dirfd);
	struct dirent *e;
	int r = 0;

	if (d == NULL) {
		err_sys(err, "list %.120s", path);
		close(dirfd);
		return -1;
	}
	while (r == 0 && (e = readdir(d)) != NULL) {
		char child[PATH_MAX];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		r = policy_join(path, e->d_name, child, err);
		if (r == 0)
			r = hide(u, child, depth, err);
	}
	closedir(d);
	return r;
}

static int
hide_below(struct unpack *u, const char *path, int depth, struct err *err)
{
	if (depth == 0)
		return err_set(err, ERR_LIMIT, "too deep: %.120s", path);
	for (size_t i = 0; i < u->view.nlower; i++) {
		struct err why;
		int fd = path_open(u->view.lower[i], *path == '\0' ? "." : path,
		    O_RDONLY | O_DIRECTORY, 0, PATH_NO_LINKS, &why);

		if (fd < 0 && why.sys == ENOENT)
			continue;
		if (fd < 0 && (why.sys == ENOTDIR || why.sys == ELOOP))
			return 0;
		if (fd < 0) {
			*err = why;
			return -1;
		}
		if (hide_each(u, fd, path, depth - 1, err) < 0)
			return -1;
	}
	return 0;
}

/* A mark's path, with the links above its last component followed. */
static int
resolve(struct unpack *u, size_t i, struct err *err)
{
	const struct late_item *it = &u->late.at[i];
	bool opaque = it->kind == LATE_OPAQUE;
	auto_free char *parent =
	    opaque ? xstrdup(it->path) : policy_above(it->path);
	const char *base = opaque ? "" : policy_base(it->path);
	char canon[PATH_MAX];

	if (it->kind == LATE_DIR)
		return 0;
	if (view_resolve(&u->view, parent, canon, err) < 0 ||
	    policy_join(canon, base, canon, err) < 0)
		return err_wrap(err, "whiteout");
	late_path(&u->late, i, canon);
	return 0;
}

/* 1: the directory path is there to be seen, in the layer or below. */
static int
shows(struct unpack *u, const char *path, struct err *err)
{
	struct view_hit hit;
	int r;

	if (*path == '\0')
		return 1;
	r = view_find(&u->view, path, VIEW_ALL, &hit, err);
	return r == 1 ? S_ISDIR(hit.st.st_mode) : r;
}

static int
apply(struct unpack *u, enum late_kind kind, const char *path, struct err *err)
{
	auto_free char *dir =
	    kind == LATE_OPAQUE ? xstrdup(path) : policy_above(path);
	int r = shows(u, dir, err);

	if (r <= 0) /* an earlier whiteout has hidden it as a whole */
		return r;
	if (kind == LATE_OPAQUE)
		return hide_below(u, path, POLICY_DEPTH, err);
	return hide(u, path, POLICY_DEPTH, err);
}

int
hide_apply(struct unpack *u, struct err *err)
{
	size_t n = u->late.n; /* directories may be added, not looked at */

	for (size_t i = 0; i < n; i++)
		if (resolve(u, i, err) < 0)
			return -1;
	late_sort(&u->late);
	for (size_t i = 0; i < n; i++) {
		enum late_kind kind = u->late.at[i].kind;
		auto_free char *path = NULL;

		if (kind == LATE_DIR)
			continue;
		path = xstrdup(u->late.at[i].path);
		if (apply(u, kind, path, err) < 0)
			return -1;
	}
	late_sort(&u->late);
	return 0;
}
