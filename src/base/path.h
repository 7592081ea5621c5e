/*
 * path: names that somebody else chose, resolved below a directory.
 *
 * openat2(2) with RESOLVE_BENEATH and friends; Linux >= 5.6, which is below
 * our floor, so there is no fallback by hand: a kernel that
 * answers ENOSYS makes every call fail, and hutch doctor says why.
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <sys/types.h>

struct err;

enum path_how {
	PATH_BENEATH,  /* no step may leave dir; links inside are followed */
	PATH_NO_LINKS, /* ... and no symbolic link anywhere */
	PATH_IN_ROOT,  /* as chroot(dir): "/" and ".." stop at dir */
};

/* Like openat; O_CLOEXEC is added.  Never crosses to magic links. */
int path_open(int dir, const char *path, int flags, mode_t mode, enum path_how,
    struct err *);

#endif
