/*
 * image: one image archive becomes layers in a store, and a record.
 *
 * Works in a staging directory, next to a directory of finished layers that it
 * reads; what is finished is handed over by the callbacks, layers first, the
 * record last.  So an import is there as a whole or not at all.
 *
 * A layer is known by its chain id (OCI): what a layer becomes depends on the
 * layers below it, since links and hard links lead into them.
 */
#ifndef ROOTFS_IMAGE_H
#define ROOTFS_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include "rootfs/unpack.h"

struct err;

#define IMAGE_DIGEST 32
#define IMAGE_RECORD "record.json"  /* in staging */
#define IMAGE_LAYER_PREFIX "layer-" /* in staging: then 64 digits */

struct image_ops {
	/* The layer of this chain id is complete in staging: take it. */
	int (*commit)(void *, const uint8_t id[IMAGE_DIGEST], struct err *);
	/* IMAGE_RECORD is complete; its layers, lowest first. */
	int (*record)(void *, const uint8_t (*id)[IMAGE_DIGEST], size_t n,
	    struct err *);
	void (*say)(void *, const char *text); /* progress */
};

struct image_job {
	int staging, layers; /* directories; borrowed */
	const char *name;    /* what it shall be called; ref_parse() takes it */
	struct budget most;  /* of all layers together */
	const struct image_ops *ops;
	void *arg;
};

/* in: the archive, an OCI layout or docker save's, plain or compressed. */
int image_import(int in, const struct image_job *, struct err *);

#endif
