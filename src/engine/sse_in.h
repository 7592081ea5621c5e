/*
 * sse_in: an event stream of somebody else's, read.
 *
 * The parser of the WHATWG standard: any line end, comments, several data lines
 * an event.  More lenient in one thing: an event that the end of the stream
 * cuts off is told, because a model's last one often is.  Pure, and fuzzed.
 */
#ifndef ENGINE_SSE_IN_H
#define ENGINE_SSE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include "base/str.h"

struct err;

#define SSE_EVENT_MAX (4u << 20) /* bytes of one event, and of one line */

/* name: "" none was said; data ends with a NUL that n does not count.  -1: err;
 * the rest is not read. */
typedef int sse_fn(void *arg, const char *name, const char *data, size_t n,
    struct err *);

struct sse_in { /* { 0 } */
	struct str line, data;
	char name[64];
	bool some;  /* the event has data */
	bool cr;    /* the last byte was a CR */
	bool begun; /* no BOM any more */
};

int sse_in_feed(struct sse_in *, const void *, size_t n, sse_fn *, void *arg,
    struct err *);
int sse_in_end(struct sse_in *, sse_fn *, void *arg, struct err *);
void sse_in_free(struct sse_in *);

#endif
