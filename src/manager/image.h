/*
 * image: what the store's record of an image says, as far as a sandbox needs.
 *
 * A record is a file named by the digest of the image's name in a directory
 * that the broker lends (BROKER_IMAGES).  It was written by a fetcher: a
 * stranger's word about the inside of a sandbox.  Records are kept parsed
 * until their file changes.
 */
#ifndef MANAGER_IMAGE_H
#define MANAGER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/broker.h"

struct err;
struct images;

struct image {
	unsigned refs;
	const void *proven; /* a sandbox of it came up, of this type */
	char **env;         /* NULL-ended "NAME=value" */
	size_t nlayer;
	uint8_t layer[][BROKER_DIGEST]; /* lowest first */
};

struct images *images_new(void);
void images_free(struct images *);
void images_dir(struct images *, int dir); /* taken; images are here from now */
bool images_open(const struct images *);

/* As named, or as repo:latest.  The caller's reference: image_drop it. */
struct image *images_get(struct images *, const char *name, struct err *);
void image_drop(struct image *); /* NULL is fine */
/* A sandbox made of one is as good as one made of the other. */
bool image_same(const struct image *, const struct image *);

#endif
