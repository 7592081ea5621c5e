#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "isolator/mount.h"

#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467 /* Linux 6.15; the same on all machines */
#endif

int
mount_err(int context, struct err *err, const char *what)
{
	char line[160];
	int saved = errno;
	ssize_t n = read(context, line, sizeof line - 1);

	errno = saved;
	if (n <= 2) /* "e ": the kernel says nothing */
		return err_sys(err, "%s", what);
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return err_sys(err, "%s: %s", what, line + 2);
}

static int
set(int context, const struct mount_opt *o)
{
	if (o->value == NULL)
		return fsconfig(context, FSCONFIG_SET_FLAG, o->key, NULL, 0);
	return fsconfig(context, FSCONFIG_SET_STRING, o->key, o->value, 0);
}

int
mount_new(const char *type, const struct mount_opt *opt, unsigned attr,
    struct err *err)
{
	auto_fd int context = fsopen(type, FSOPEN_CLOEXEC);
	int tree;

	if (context < 0)
		return err_sys(err, "%s", type);
	for (; opt != NULL && opt->key != NULL; opt++)
		if (set(context, opt) < 0) {
			mount_err(context, err, opt->key);
			return err_wrap(err, "%s", type);
		}
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return mount_err(context, err, type);
	tree = fsmount(context, FSMOUNT_CLOEXEC, attr);
	if (tree < 0)
		return mount_err(context, err, type);
	return tree;
}

int
mount_clone(int fd, bool recursive, struct err *err)
{
	int tree = open_tree(fd, "",
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
		(recursive ? AT_RECURSIVE : 0));

	if (tree < 0)
		return err_sys(err, "clone mount");
	return tree;
}

static struct mount_attr
attr_of(unsigned bits, int userns)
{
	struct mount_attr a = { .attr_set = bits };

	if (userns >= 0) {
		a.attr_set |= MOUNT_ATTR_IDMAP;
		a.userns_fd = (unsigned)userns;
	}
	return a;
}

/* EINVAL is all that the kernel says of a file system it won't idmap. */
static int
not_changed(int userns, struct err *err)
{
	if (userns < 0)
		return err_sys(err, "change mount");
	return err_sys(err, "idmap mount%s",
	    errno == EINVAL ? " (can its file system be? overlay and NFS can't)"
			    : "");
}

int
mount_attr(int fd, unsigned bits, int userns, struct err *err)
{
	struct mount_attr a = attr_of(bits, userns);

	if (mount_setattr(fd, "", AT_EMPTY_PATH, &a, sizeof a) < 0)
		return not_changed(userns, err);
	return 0;
}

int
mount_clone_attr(int fd, unsigned bits, int userns, struct err *err)
{
	static bool missing; /* the kernel won't grow it while we run */
	struct mount_attr a = attr_of(bits, userns);
	auto_fd int tree = -1;

	if (!missing) {
		tree = (int)syscall(SYS_open_tree_attr, fd, "",
		    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH, &a,
		    sizeof a);
		if (tree >= 0)
			return take_fd(&tree);
		missing = errno == ENOSYS;
	}
	tree = mount_clone(fd, false, err);
	if (tree < 0 || mount_attr(tree, bits, userns, err) < 0)
		return -1;
	return take_fd(&tree);
}

int
mount_move(int tree, int dir, const char *name, struct err *err)
{
	auto_fd int at = -1;

	if (name[0] != '\0') {
		at = path_open(dir, name, O_PATH, 0, PATH_NO_LINKS, err);
		if (at < 0)
			return -1;
		dir = at;
	}
	if (move_mount(tree, "", dir, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_sys(err, "mount at %s", name);
	return 0;
}

int
mount_over_root(int tree, struct err *err)
{
	if (move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "mount over the root");
	return 0;
}

int
mount_pivot(int root, struct err *err)
{
	/* The old root ends up on top of the new one, where "." then is. */
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_sys(err, "let go of the old root");
	if (chdir("/") < 0)
		return err_sys(err, "enter the new root");
	return 0;
}

/* One more part of a path, below the directory at. */
static int
step_into(int at, const char *part, bool directory, struct err *err)
{
	struct err first;
	int fd = path_open(at, part, O_PATH, 0, PATH_NO_LINKS, &first);

	if (fd >= 0)
		return fd;
	if (first.sys != ENOENT) {
		*err = first;
		return -1;
	}
	if (directory ? mkdirat(at, part, 0755)
		      : mknodat(at, part, S_IFREG | 0644, 0))
		return err_sys(err, "make %s", part);
	return path_open(at, part, O_PATH, 0, PATH_NO_LINKS, err);
}

int
mount_point(int dir, const char *name, bool directory, struct err *err)
{
	struct err first;
	auto_fd int at = path_open(dir, name, O_PATH, 0, PATH_NO_LINKS, &first);
	char part[NAME_MAX + 1];

	if (at >= 0)
		return take_fd(&at);
	if (first.sys != ENOENT) {
		*err = first;
		return -1;
	}
	for (const char *p = name; *p != '\0';) {
		size_t n = strcspn(p, "/");
		int next;

		if (n == 0 || n > NAME_MAX)
			return err_set(err, ERR_INVALID, "mount point %s",
			    name);
		snprintf(part, sizeof part, "%.*s", (int)n, p);
		p += n;
		next = step_into(at < 0 ? dir : at, part,
		    directory || *p == '/', err);
		if (next < 0)
			return err_wrap(err, "mount point %s", name);
		if (at >= 0)
			close(at);
		at = next;
		p += *p == '/';
	}
	return take_fd(&at);
}
