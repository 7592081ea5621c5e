/*
 * fetchline: the lines that a fetcher says while it imports or exports.
 *
 *	progress TEXT | error CODE TEXT | done TEXT
 *
 * A stranger's word: bounded, and made text before anybody sees it.
 */
#ifndef WEB_FETCHLINE_H
#define WEB_FETCHLINE_H

#include <stddef.h>
#include "base/err.h"
#include "base/str.h"

enum fetch_word { FETCH_PROGRESS, FETCH_ERROR, FETCH_DONE };

struct fetch_lines {
	struct str buf;
	size_t used;
};

struct fetch_line {
	enum fetch_word word;
	const char *text; /* valid until the next call */
	struct err err;   /* of FETCH_ERROR */
};

void fetch_lines_free(struct fetch_lines *);
void fetch_lines_feed(struct fetch_lines *, const void *, size_t);
/* 1: *line; 0: need more; -1: it is no such line, or too long */
int fetch_lines_next(struct fetch_lines *, struct fetch_line *, struct err *);

#endif
