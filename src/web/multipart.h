/*
 * multipart: multipart/form-data as a stream.
 *
 * Pure: bytes in, callbacks out.  Cut the bytes anywhere: the parts are the
 * same, only data comes in other pieces.  File names are the bytes that were
 * sent, UTF-8 as a rule: %22 stays, for a '%' of the name is not encoded by
 * those who encode a quote so.  Nothing here trusts a name.
 */
#ifndef WEB_MULTIPART_H
#define WEB_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

struct err;

enum {
	MULTIPART_BOUNDARY_MAX = 70, /* RFC 2046 */
	MULTIPART_HEAD_MAX = 4096,   /* of one part */
	MULTIPART_PARTS_MAX = 65536
};

struct multipart_part {
	const char *name;     /* "" if it has none */
	const char *filename; /* NULL: not a file */
	const char *type;     /* NULL: not said */
};

struct multipart_calls { /* -1: err is filled, multipart_feed returns it */
	int (*begin)(void *arg, const struct multipart_part *, struct err *);
	int (*data)(void *arg, const uint8_t *, size_t n, struct err *);
	int (*end)(void *arg, struct err *);
};

struct multipart { /* private */
	const struct multipart_calls *calls;
	void *arg;
	char boundary[MULTIPART_BOUNDARY_MAX + 5]; /* CR LF "--" and it */
	size_t boundary_len, matched, borrowed;
	int state;
	unsigned parts;
	struct str head;
};

/* content_type: the field's value.  -1: not multipart, or no good boundary. */
int multipart_init(struct multipart *, const char *content_type,
    const struct multipart_calls *, void *arg, struct err *);
void multipart_free(struct multipart *);
int multipart_feed(struct multipart *, const uint8_t *, size_t n, struct err *);
/* The body has ended: -1 unless the last boundary was seen. */
int multipart_finish(struct multipart *, struct err *);

#endif
