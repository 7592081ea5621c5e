/*
 * images: what the store holds, and who stands on what.
 *
 * A layer is a directory under its chain id; an image is a record (JSON, which
 * is never read here) and a list of layers, which is.  Layers that no list
 * names are garbage.  Everything moves by rename; bytes are never copied.
 */
#ifndef DAEMON_IMAGES_H
#define DAEMON_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/broker.h"

struct err;
struct images;

struct image {
	char name[256];
	uint32_t nlayer;
	uint8_t (*layer)[BROKER_DIGEST]; /* lowest first */
};

struct images_dirs {
	int layers, images, trash; /* borrowed */
	uint32_t rest;             /* first id of slot 0 */
};

/* Reads the lists; throws away what is only half there. */
struct images *images_open(const struct images_dirs *, struct err *);
void images_free(struct images *);
const struct image *images_find(const struct images *, const char *name);
/* Letters, digits and what references are made of; at most 255. */
bool images_good_name(const char *name);

/* The layer's directory; yours to close. */
int images_layer(const struct images *, const uint8_t digest[BROKER_DIGEST],
    struct err *);
/* staging/layer-<hex> becomes that layer; if there is one it stays. */
int images_commit(struct images *, int staging,
    const uint8_t digest[BROKER_DIGEST], struct err *);
/* staging/record.json becomes the record of q->name. */
int images_record(struct images *, int staging, const struct broker_record *q,
    struct err *);
int images_remove(struct images *, const char *name, struct err *);
/* Moves to the trash what no image names and used() does not know. */
unsigned images_collect(struct images *,
    bool (*used)(void *arg, const uint8_t digest[BROKER_DIGEST]), void *arg);

#endif
