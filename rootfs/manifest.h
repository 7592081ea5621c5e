/*
 * manifest: the JSON documents of an image, read strictly.
 *
 * Text in, plain structs out; every size is bounded, a key twice is an error,
 * and a document is what its descriptor says it is.  Opens nothing and fetches
 * nothing: a "urls" list is not looked at.
 */
#ifndef ROOTFS_MANIFEST_H
#define ROOTFS_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

struct err;

#define MANIFEST_TEXT_MAX (4u << 20) /* of one document */
#define MANIFEST_LAYERS 128
#define MANIFEST_ENTRIES 1024 /* of an index */
#define MANIFEST_DIGEST 32

enum media {
	MEDIA_NONE, /* not said */
	MEDIA_INDEX,
	MEDIA_MANIFEST,
	MEDIA_CONFIG,
	MEDIA_LAYER,
	MEDIA_OTHER /* said, and of no use to us */
};

struct desc { /* a descriptor: what points to a blob */
	enum media media;
	char type[128]; /* the media type as it was written */
	uint8_t digest[MANIFEST_DIGEST];
	uint64_t size;
	bool has_platform;
	char os[32], arch[32];
	char called[2][256]; /* names by annotation; "" when absent */
};

struct index {
	struct desc *at;
	size_t n;
};

struct manifest {
	struct desc config, layer[MANIFEST_LAYERS];
	size_t n;
};

struct image_config {
	json_t *doc; /* the whole document */
	uint8_t diff[MANIFEST_LAYERS][MANIFEST_DIGEST];
	size_t n;
	char os[32], arch[32];
};

/* One image of a manifest.json of docker save. */
struct saved {
	char *config;
	char *layer[MANIFEST_LAYERS];
	size_t n;
};

const char *manifest_arch(void); /* ours, as images call it */
/* "sha256:" and 64 lower-case digits, or an error. */
int manifest_digest(const char *text, uint8_t digest[MANIFEST_DIGEST],
    struct err *);
int manifest_layout(const char *text, size_t n, struct err *);
/* said: the media type by which the document was pointed to. */
int manifest_index(const char *text, size_t n, struct index *, struct err *);
int manifest_read(const char *text, size_t n, struct manifest *, struct err *);
/* MEDIA_INDEX or MEDIA_MANIFEST; the document agrees with what was said. */
int manifest_kind(const char *text, size_t n, const char *said, enum media *,
    struct err *);
int manifest_config(const char *text, size_t n, struct image_config *,
    struct err *);
/* The image of that name, or the only one. */
int manifest_saved(const char *text, size_t n, const char *name, struct saved *,
    struct err *);
void index_free(struct index *);
void image_config_free(struct image_config *);
void saved_free(struct saved *);

#endif
