/*
 * ref: an image's name, as "host:port/path/name:tag".
 *
 * Text only.  A name never becomes a path; it is checked all the same.
 */
#ifndef ROOTFS_REF_H
#define ROOTFS_REF_H

#include <stdbool.h>

struct err;

#define REF_MAX 255 /* bytes of a whole name */
#define REF_TAG_MAX 128

struct ref {
	char repo[REF_MAX + 1];    /* without "docker.io/" and "library/" */
	char tag[REF_TAG_MAX + 1]; /* "latest" when none is given */
};

int ref_parse(const char *name, struct ref *, struct err *);
enum ref_match {
	REF_OTHER,
	REF_TAG, /* the tag is the same, and that is all an annotation says */
	REF_SAME
};
/* Does what an archive calls an image (may be NULL) mean this name? */
enum ref_match ref_match(const struct ref *, const char *called);

#endif
