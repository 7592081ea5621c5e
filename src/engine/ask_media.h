/*
 * ask_media: bytes that a client sends or points to, as a part of our messages
 * (spec 2.4), whatever its protocol calls them.  Pure.
 */
#ifndef ENGINE_ASK_MEDIA_H
#define ENGINE_ASK_MEDIA_H

#include <jansson.h>

struct media { /* where a part's bytes are; NULL: not there, not known */
	const char *url, *base64, *id, *mime, *name;
};

/* type: image, audio, video; anything else is a file.  A new reference. */
json_t *media_part(const char *type, const struct media *);
/* The same by its MIME type. */
json_t *media_part_by_mime(const struct media *);

#endif
