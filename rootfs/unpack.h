/*
 * unpack: one layer while it is being made: places for its entries.
 *
 * Makes directories that an entry needs, brings files of lower layers up so
 * that they can be linked to, and counts what it all takes.  Knows no archive.
 */
#ifndef ROOTFS_UNPACK_H
#define ROOTFS_UNPACK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include "rootfs/late.h"
#include "rootfs/view.h"

struct err;

struct budget {
	uint64_t bytes, entries; /* what is left */
};

int budget_bytes(struct budget *, uint64_t n, struct err *);
int budget_entry(struct budget *, struct err *);

struct unpack {
	struct view view;
	struct late late;
	struct budget left;
	bool owners;
	/* the directory of the entry before: most share it with the next */
	char *raw;
	char *canon;
	int fd;
};

void unpack_start(struct unpack *, const struct view *, const struct budget *,
    bool owners);
void unpack_free(struct unpack *);
/*
 * The directory in which path (as policy_path() left it) is to be made, made
 * itself where it is missing: a descriptor, borrowed until the next call.
 * canon: the path without links above its last component.
 */
int unpack_parent(struct unpack *, const char *path, const struct timespec *,
    char canon[PATH_MAX], struct err *);
/* The directory of this canonical path in the layer, made like those below. */
int unpack_dir(struct unpack *, const char *canon, const struct timespec *,
    struct err *);
/* Room for name in dir: whatever has the name is removed. */
int unpack_clear(struct unpack *, int dir, const char *name, struct err *);
/* The thing found below, copied into the layer under its own name. */
int unpack_raise(struct unpack *, const char *canon, const struct view_hit *,
    struct err *);

#endif
