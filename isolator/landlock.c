#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "isolator/landlock.h"

/* Newer than the headers that we build with; by version of the interface. */
#define ACCESS_REFER (UINT64_C(1) << 13)    /* 2 */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14) /* 3 */
#define SCOPE_ALL UINT64_C(3)               /* 6: abstract sockets, signals */

struct ruleset {
	uint64_t fs, net, scoped;
};

#define WRITES                                                                 \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |       \
	    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |    \
	    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |        \
	    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |      \
	    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static int
add(int set, const char *path, uint64_t access, struct err *err)
{
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr a = { .allowed_access = access,
		.parent_fd = fd };

	if (fd < 0)
		return err_sys(err, "%s", path);
	if (syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &a,
		0) < 0)
		return err_sys(err, "landlock %s", path);
	return 0;
}

int
landlock_write_below(const char *const *at, size_t n, struct err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset r = { .fs = WRITES };
	auto_fd int set = -1;

	if (abi < 1)
		return 0;
	if (abi >= 2)
		r.fs |= ACCESS_REFER;
	if (abi >= 3)
		r.fs |= ACCESS_TRUNCATE;
	if (abi >= 6)
		r.scoped = SCOPE_ALL;
	set = (int)syscall(SYS_landlock_create_ruleset, &r,
	    abi >= 6 ? sizeof r : sizeof r.fs, 0);
	if (set < 0)
		return err_sys(err, "landlock");
	for (size_t i = 0; i < n; i++)
		if (add(set, at[i], r.fs, err) < 0)
			return -1;
	if (syscall(SYS_landlock_restrict_self, set, 0) < 0)
		return err_sys(err, "landlock");
	return 0;
}
