/*
 * late: what can be done only when a layer's last entry has been read.
 *
 * Times and modes of directories, since writing into one changes them; and
 * whiteouts, since they hide what is below and never what is beside them.
 * A list of paths, bounded in memory.
 */
#ifndef ROOTFS_LATE_H
#define ROOTFS_LATE_H

#include <stddef.h>
#include "rootfs/attr.h"

struct err;

enum late_kind { LATE_DIR, LATE_WHITEOUT, LATE_OPAQUE };

struct late_item {
	char *path;
	struct attr attr; /* LATE_DIR */
	enum late_kind kind;
	size_t order;
};

struct late {
	struct late_item *at;
	size_t n, room, bytes;
};

void late_free(struct late *);
int late_add(struct late *, enum late_kind, const char *path,
    const struct attr *, struct err *);
void late_path(struct late *, size_t i, const char *path); /* replaces it */
/* By path, parents first; equal paths by kind, then as they came. */
void late_sort(struct late *);
/* Give the directories what they shall have; sorted, below top. */
int late_dirs(const struct late *, int top, bool owners, struct err *);

#endif
