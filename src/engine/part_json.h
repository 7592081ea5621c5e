/*
 * part_json: what is in a part's fields as JSON values, and where the bytes of a
 * picture, a sound or a file are, for replies that name it otherwise.  Pure.
 */
#ifndef ENGINE_PART_JSON_H
#define ENGINE_PART_JSON_H

#include <jansson.h>

struct part;

/* A new reference; NULL: nothing is in the field. */
json_t *part_value(const struct part *, unsigned field);
/* The MIME type of what says it as a format: audio; else NULL.  New. */
char *part_mime(const struct part *);

struct place {              /* points into the texts that it was made of */
	const char *base64; /* of this type; NULL: they are elsewhere */
	const char *mime;
	size_t nmime;
	const char *url; /* then */
};

/* A data: URL, base64 of this type (NULL: it can't be that), or a URL. */
struct place place_of(const char *text, const char *mime);

#endif
