/*
 * line: one line of a worker, read in place.
 *
 * The common case, a delta of text, is told without an allocation: 300,000 a
 * second.  Everything else is read by jansson.  What the worker wrote is a
 * stranger's word: what is not JSON, not UTF-8, too deep or of the wrong type
 * is an error that says where; lone surrogates and bad bytes in text become
 * U+FFFD.  Pure, and fuzzed.  hutch-worker(7).
 */
#ifndef ENGINE_LINE_H
#define ENGINE_LINE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/escape.h"
#include "engine/event.h"

struct err;
struct run;

#define LINE_LABEL_MAX 128
#define LINE_INDEX_MAX 1000000

struct line {
	uint64_t run; /* 0: none */
	/* text: of a delta to the answer, or of a content delta; escaped */
	bool is_text, is_delta;
	struct slice label; /* is_delta: msg_id */
	int index;          /* is_delta: -1 if absent */
	struct slice text;
	json_t *rest; /* any other line: the object; yours to decref */
};

/* n without the newline.  Valid as long as text and scratch are. */
int line_read(struct line *, const char *text, size_t n, struct str *scratch,
    struct err *);
/*
 * Apply a line that has a run to it: text, message, content, usage, end.
 * -1: it is none of these, or not as it should be; nothing was done.
 */
int line_apply(const struct line *, struct run *, struct err *);

#endif
