/*
 * choose: which of an archive's documents and blobs make up the image.
 *
 * From index to manifest to config and layers, each checked against the digest
 * and size by which it was pointed to.
 */
#ifndef ROOTFS_CHOOSE_H
#define ROOTFS_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "rootfs/manifest.h"

struct err;
struct spool;
struct spool_file;

struct choice {
	struct image_config config;
	uint8_t id[MANIFEST_DIGEST];     /* of the config */
	uint8_t digest[MANIFEST_DIGEST]; /* of the manifest */
	bool has_digest;
	const struct spool_file *layer[MANIFEST_LAYERS];
	size_t n;
};

int choose(const struct spool *, const char *name, struct choice *,
    struct err *);
void choice_free(struct choice *);

#endif
