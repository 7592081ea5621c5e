#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "rootfs/policy.h"
#include "rootfs/unpack.h"

int
budget_bytes(struct budget *b, uint64_t n, struct err *err)
{
	if (n > b->bytes)
		return err_set(err, ERR_LIMIT,
		    "more bytes than an image may have");
	b->bytes -= n;
	return 0;
}

int
budget_entry(struct budget *b, struct err *err)
{
	if (b->entries == 0)
		return err_set(err, ERR_LIMIT,
		    "more entries than an image may have");
	b->entries--;
	return 0;
}

void
unpack_start(struct unpack *u, const struct view *view,
    const struct budget *left, bool owners)
{
	*u = (struct unpack){ .view = *view,
		.left = *left,
		.owners = owners,
		.fd = -1 };
}

static void
forget(struct unpack *u)
{
	free(u->raw);
	free(u->canon);
	u->raw = u->canon = NULL;
	if (u->fd >= 0)
		close(u->fd);
	u->fd = -1;
}

void
unpack_free(struct unpack *u)
{
	forget(u);
	late_free(&u->late);
}

static int
open_dir(int dir, const char *path, struct err *err)
{
	return path_open(dir, *path == '\0' ? "." : path,
	    O_RDONLY | O_DIRECTORY, 0, PATH_NO_LINKS, err);
}

/* name in dir, with the attributes of the directory that it stands on. */
static int
make_dir(struct unpack *u, int dir, const char *canon,
    const struct timespec *mtime, struct err *err)
{
	const char *name = policy_base(canon);
	struct attr a = { 0, 0, 0755, *mtime };
	struct view_hit hit;
	auto_fd int below = -1, fd = -1;
	int r = view_find(&u->view, canon, VIEW_LOWER, &hit, err);

	if (r < 0 || budget_entry(&u->left, err) < 0)
		return -1;
	if (mkdirat(dir, name, 0700) < 0)
		return err_sys(err, "make directory %.120s", canon);
	fd = open_dir(dir, name, err);
	if (fd < 0)
		return -1;
	if (r == 1 && S_ISDIR(hit.st.st_mode)) {
		a = attr_of(&hit.st);
		below = open_dir(hit.dir, canon, err);
		if (below < 0 || attr_copy_xattrs(below, fd, err) < 0)
			return -1;
	}
	if (late_add(&u->late, LATE_DIR, canon, &a, err) < 0)
		return -1;
	return take_fd(&fd);
}

int
unpack_dir(struct unpack *u, const char *canon, const struct timespec *mtime,
    struct err *err)
{
	char path[PATH_MAX];
	auto_fd int at = open_dir(u->view.top, "", err);

	strcpy(path, canon);
	for (char *name = path; at >= 0 && *name != '\0';) {
		size_t n = strcspn(name, "/");
		struct err why;
		int next;
		char end = name[n];

		name[n] = '\0';
		next = open_dir(at, name, &why);
		if (next < 0 && why.sys == ENOENT)
			next = make_dir(u, at, path, mtime, &why);
		if (next < 0)
			*err = why;
		close(at);
		at = next;
		name[n] = end;
		name += n + (end == '/');
	}
	return take_fd(&at);
}

int
unpack_parent(struct unpack *u, const char *path, const struct timespec *mtime,
    char canon[PATH_MAX], struct err *err)
{
	auto_free char *raw = policy_above(path);
	char at[PATH_MAX];
	struct err why;

	if (u->raw == NULL || strcmp(u->raw, raw) != 0) {
		forget(u);
		/* What the layer has without links needs no resolving. */
		u->fd = open_dir(u->view.top, raw, &why);
		if (u->fd >= 0)
			strcpy(at, raw);
		else if (view_resolve(&u->view, raw, at, err) < 0)
			return -1;
		else
			u->fd = unpack_dir(u, at, mtime, err);
		if (u->fd < 0)
			return -1;
		/* Where a link was followed, the next entry may change it. */
		if (strcmp(raw, at) == 0)
			u->raw = take_ptr(&raw);
		u->canon = xstrdup(at);
	}
	if (policy_join(u->canon, policy_base(path), canon, err) < 0)
		return -1;
	return u->fd;
}

int
unpack_clear(struct unpack *u, int dir, const char *name, struct err *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "stat %.120s", name);
	free(u->raw); /* what is remembered may have led through it */
	u->raw = NULL;
	return file_remove_tree(dir, name, err);
}

static int
copy_bytes(struct unpack *u, int from, int to, struct err *err)
{
	auto_free char *buf = xmalloc(1 << 17);

	for (;;) {
		ssize_t n = read(from, buf, 1 << 17);

		if (n <= 0)
			return n == 0 ? 0 : err_sys(err, "read");
		if (budget_bytes(&u->left, (uint64_t)n, err) < 0 ||
		    file_write_all(to, buf, (size_t)n, err) < 0)
			return -1;
	}
}

static int
raise_file(struct unpack *u, int dir, const char *canon,
    const struct view_hit *hit, struct err *err)
{
	struct attr a = attr_of(&hit->st);
	auto_fd int to = -1,
		    from = path_open(hit->dir, canon, O_RDONLY | O_NOFOLLOW, 0,
			PATH_NO_LINKS, err);

	if (from < 0)
		return -1;
	to = path_open(dir, policy_base(canon),
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, PATH_NO_LINKS, err);
	if (to < 0 || copy_bytes(u, from, to, err) < 0 ||
	    attr_copy_xattrs(from, to, err) < 0)
		return -1;
	return attr_put(to, &a, u->owners, err);
}

static int
raise_link(struct unpack *u, int dir, const char *canon,
    const struct view_hit *hit, struct err *err)
{
	struct attr a = attr_of(&hit->st);
	const char *name = policy_base(canon);
	char target[PATH_MAX];
	ssize_t n;
	auto_fd int from = path_open(hit->dir, canon, O_PATH | O_NOFOLLOW, 0,
	    PATH_NO_LINKS, err);

	if (from < 0)
		return -1;
	n = readlinkat(from, "", target, sizeof target - 1);
	if (n < 0)
		return err_sys(err, "read link");
	target[n] = '\0';
	if (symlinkat(target, dir, name) < 0)
		return err_sys(err, "make link %.120s", name);
	return attr_put_at(dir, name, &a, u->owners, err);
}

int
unpack_raise(struct unpack *u, const char *canon, const struct view_hit *hit,
    struct err *err)
{
	auto_free char *parent = policy_above(canon);
	auto_fd int dir = unpack_dir(u, parent, &hit->st.st_mtim, err);

	if (dir < 0 || budget_entry(&u->left, err) < 0)
		return -1;
	if (S_ISREG(hit->st.st_mode))
		return raise_file(u, dir, canon, hit, err);
	if (S_ISLNK(hit->st.st_mode))
		return raise_link(u, dir, canon, hit, err);
	return err_set(err, ERR_INVALID, "%.120s is no file to link to", canon);
}
