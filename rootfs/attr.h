/*
 * attr: owner, mode, times and extended attributes of one file, by descriptor.
 */
#ifndef ROOTFS_ATTR_H
#define ROOTFS_ATTR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

struct err;

struct attr {
	uid_t uid;
	gid_t gid;
	mode_t mode; /* permission bits, set-id and sticky ones too */
	struct timespec mtime;
};

struct attr attr_of(const struct stat *);
/* In the order that keeps set-id bits: owner (unless !owners), mode, time. */
int attr_put(int fd, const struct attr *, bool owners, struct err *);
/* The same for what can't be opened: a link (its mode is left) or a fifo. */
int attr_put_at(int dir, const char *name, const struct attr *, bool owners,
    struct err *);
/* Those that policy takes; both descriptors are open for reading at least. */
int attr_copy_xattrs(int from, int to, struct err *);

#endif
