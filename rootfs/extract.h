/*
 * extract: a tar stream of a whole tree becomes a directory of the user's.
 *
 * The same extractor as for layers (layer.h), with nothing below and no
 * whiteouts.  A failure leaves a partial tree.
 */
#ifndef ROOTFS_EXTRACT_H
#define ROOTFS_EXTRACT_H

#include <stdbool.h>

struct err;

/* Into dir, which is empty, and to the stream's very end; owners: as it has
 * them, which root can set. */
int extract_tar(int fd, int dir, bool owners, struct err *);

#endif
