#include <fcntl.h>
#include <stdint.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/err.h"
#include "base/path.h"

int
path_open(int dir, const char *path, int flags, mode_t mode, enum path_how how,
    struct err *err)
{
	static const uint64_t resolve[] = {
		[PATH_BENEATH] = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
		[PATH_NO_LINKS] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
		[PATH_IN_ROOT] = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct open_how oh = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.mode = flags & (O_CREAT | O_TMPFILE) ? mode : 0,
		.resolve = resolve[how],
	};
	long fd = syscall(SYS_openat2, dir, path, &oh, sizeof oh);

	if (fd < 0)
		return err_sys(err, "open %s", path);
	return (int)fd;
}
