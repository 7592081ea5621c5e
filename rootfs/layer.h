/*
 * layer: one tar becomes one directory.
 *
 * Every name is made below the layer's descriptor, by openat2 without links
 * and one component at a time; the archive library only reads.  What an entry
 * may be is policy.h; links above a name are followed as on the finished image
 * (view.h).  A failure leaves a partial tree: remove it.
 */
#ifndef ROOTFS_LAYER_H
#define ROOTFS_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "rootfs/unpack.h"

struct err;
struct stream;

struct layer_stats {
	uint64_t entries, bytes; /* of the archive */
	uint64_t devices;        /* left out */
};

struct layer_to {
	struct view view;   /* .top: the empty directory it becomes */
	struct budget most; /* of bytes and entries */
	bool plain;         /* no layer: ".wh." means nothing, root is kept */
	bool owners;        /* set them (as root, or root of a namespace) */
	/* Called now and then while bytes are written; may be NULL. */
	void (*tick)(void *, const struct layer_stats *);
	void *arg;
};

int layer_unpack(struct stream *, const struct layer_to *, struct layer_stats *,
    struct err *);

#endif
