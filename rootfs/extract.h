/*
 * extract: a tar stream of a whole tree becomes a directory of the user's.
 *
 * The same extractor as for layers (layer.h), with nothing below and no
 * whiteouts.  Owners are set as the stream has them when asked to.
 */
#ifndef ROOTFS_EXTRACT_H
#define ROOTFS_EXTRACT_H

#include <stdbool.h>

struct err;

struct extract_to {
	int dir; /* an empty directory; borrowed */
	bool owners;
	/* Called now and then; may be NULL. */
	void (*tick)(void *, unsigned long long bytes);
	void *arg;
};

int extract_tar(int fd, const struct extract_to *, struct err *);
/*
 * Make path (whose parent exists; itself missing or empty), extract into it,
 * and on a failure take away again what was made.
 */
int extract_path(int fd, const char *path, struct extract_to *, struct err *);

#endif
