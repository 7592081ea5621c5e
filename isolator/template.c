#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "isolator/mount.h"
#include "isolator/template.h"

/* clang-format off */
static const struct {
	const char *name;
	unsigned major, minor;
} nodes[] = {
	{ "null",	1, 3 },
	{ "zero",	1, 5 },
	{ "full",	1, 7 },
	{ "random",	1, 8 },
	{ "urandom",	1, 9 },
	{ "tty",	5, 0 },
};

static const struct {
	const char *name, *to;
} links[] = {
	{ "ptmx",	"pts/ptmx" },
	{ "fd",		"/proc/self/fd" },
	{ "stdin",	"/proc/self/fd/0" },
	{ "stdout",	"/proc/self/fd/1" },
	{ "stderr",	"/proc/self/fd/2" },
};

static const char *const dev_dirs[] = { "pts", "shm" };

/* Shown as the host has it; where it has none, as an empty directory. */
static const char *const sys_shown[] = {
	"devices/system/cpu",
	"devices/system/node",
	"kernel/mm/hugepages",
	"kernel/mm/transparent_hugepage",
};

static const char *const sys_dirs[] = {
	"block", "bus", "class", "class/net", "dev", "devices", "firmware",
	"fs", "fs/cgroup", "kernel", "module", "power",
};
/* clang-format on */

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static int
small_tmpfs(struct err *err)
{
	static const struct mount_opt opt[] = { { "mode", "0755" },
		{ "size", "64k" }, { "nr_inodes", "64" }, { NULL } };

	return mount_new("tmpfs", opt, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
	    err);
}

static int
fill_dev(int dev, struct err *err)
{
	for (size_t i = 0; i < COUNT(nodes); i++)
		if (mknodat(dev, nodes[i].name, S_IFCHR,
			makedev(nodes[i].major, nodes[i].minor)) < 0 ||
		    fchmodat(dev, nodes[i].name, 0666, 0) < 0)
			return err_sys(err, "/dev/%s", nodes[i].name);
	for (size_t i = 0; i < COUNT(links); i++)
		if (symlinkat(links[i].to, dev, links[i].name) < 0)
			return err_sys(err, "/dev/%s", links[i].name);
	for (size_t i = 0; i < COUNT(dev_dirs); i++)
		if (mkdirat(dev, dev_dirs[i], 0755) < 0)
			return err_sys(err, "/dev/%s", dev_dirs[i]);
	return 0;
}

int
template_dev(int dir, const char *name, struct err *err)
{
	auto_fd int dev = small_tmpfs(err);

	if (dev < 0 || fill_dev(dev, err) < 0 ||
	    mount_attr(dev, MOUNT_ATTR_RDONLY, -1, err) < 0)
		return -1;
	return mount_move(dev, dir, name, err);
}

static int
show(int sys, int host, const char *name, struct err *err)
{
	auto_fd int to = mount_point(sys, name, true, err);
	auto_fd int from = -1, tree = -1;

	if (to < 0)
		return -1;
	if (host >= 0)
		from = openat(host, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (from < 0) /* this host's kernel has no such thing */
		return 0;
	tree = mount_clone(from, false, err);
	if (tree < 0)
		return -1;
	return mount_move(tree, to, "", err);
}

int
template_sys(int dir, const char *name, int host, struct err *err)
{
	auto_fd int sys = small_tmpfs(err);
	struct mount_attr all = { .attr_set = MOUNT_ATTR_RDONLY |
		    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

	if (sys < 0 || mount_move(sys, dir, name, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(sys_dirs); i++)
		if (mkdirat(sys, sys_dirs[i], 0755) < 0)
			return err_sys(err, "/sys/%s", sys_dirs[i]);
	for (size_t i = 0; i < COUNT(sys_shown); i++)
		if (show(sys, host, sys_shown[i], err) < 0)
			return err_wrap(err, "/sys/%s", sys_shown[i]);
	if (mount_setattr(sys, "", AT_EMPTY_PATH | AT_RECURSIVE, &all,
		sizeof all) < 0)
		return err_sys(err, "/sys");
	return 0;
}
