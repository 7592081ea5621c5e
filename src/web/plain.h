/*
 * plain: a file's bytes as text, while they stream by.
 *
 * What a text read promises: UTF-8 whatever the file holds (bytes that are not
 * are replaced) and one LF for each of CR LF, CR, LF.  Keeps at most three
 * bytes and a flag between pieces.
 */
#ifndef WEB_PLAIN_H
#define WEB_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

struct plain {
	uint8_t part[4]; /* the beginning of a character */
	size_t npart;
	bool cr; /* the last byte was one: an LF now is the same line's end */
};

void plain_feed(struct plain *, const uint8_t *, size_t, struct str *out);
void plain_end(struct plain *, struct str *out);

#endif
