#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/attr.h"
#include "rootfs/policy.h"

#define XATTRS_MAX 65536 /* the kernel's own bound of names, and of a value */

struct attr
attr_of(const struct stat *st)
{
	return (struct attr){ st->st_uid, st->st_gid, st->st_mode & 07777,
		st->st_mtim };
}

int
attr_put(int fd, const struct attr *a, bool owners, struct err *err)
{
	const struct timespec times[2] = { a->mtime, a->mtime };

	if (owners && fchown(fd, a->uid, a->gid) < 0)
		return err_sys(err, "owner %u:%u", a->uid, a->gid);
	if (fchmod(fd, a->mode & 07777) < 0)
		return err_sys(err, "mode %o", a->mode);
	if (futimens(fd, times) < 0)
		return err_sys(err, "time");
	return 0;
}

int
attr_put_at(int dir, const char *name, const struct attr *a, bool owners,
    struct err *err)
{
	const struct timespec times[2] = { a->mtime, a->mtime };
	struct stat st;

	if (owners &&
	    fchownat(dir, name, a->uid, a->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "owner %u:%u of %.120s", a->uid, a->gid,
		    name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "stat %.120s", name);
	if (!S_ISLNK(st.st_mode) && fchmodat(dir, name, a->mode & 07777, 0) < 0)
		return err_sys(err, "mode %o of %.120s", a->mode, name);
	if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "time of %.120s", name);
	return 0;
}

static int
copy_one(int from, int to, const char *name, char *value, struct err *err)
{
	ssize_t n = fgetxattr(from, name, value, XATTRS_MAX);

	if (n < 0)
		return err_sys(err, "read attribute %.120s", name);
	if (fsetxattr(to, name, value, (size_t)n, 0) < 0)
		return err_sys(err, "attribute %.120s", name);
	return 0;
}

int
attr_copy_xattrs(int from, int to, struct err *err)
{
	auto_free char *names = NULL;
	auto_free char *value = NULL;
	ssize_t n = flistxattr(from, NULL, 0);

	if (n == 0 || (n < 0 && errno == ENOTSUP))
		return 0;
	names = xmalloc(XATTRS_MAX);
	value = xmalloc(XATTRS_MAX);
	n = flistxattr(from, names, XATTRS_MAX);
	if (n < 0)
		return err_sys(err, "list attributes");
	for (char *p = names; p < names + n; p += strlen(p) + 1)
		if (policy_xattr(p) && copy_one(from, to, p, value, err) < 0)
			return -1;
	return 0;
}
