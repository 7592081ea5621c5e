/*
 * walk: all that lies below a directory, an entry at a time.
 *
 * Depth first, by descriptors, following no link, in the order of the
 * directories.  The caller says which directories it wants to enter.  May be
 * left alone between two steps; holds one open directory a level.
 */
#ifndef AGENT_WALK_H
#define AGENT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/str.h"

struct err;
struct walk_level;

#define WALK_DEPTH 256

enum walk_step {
	WALK_END,   /* that was all */
	WALK_ENTRY, /* .dir, .name, .path */
	WALK_LEAVE, /* a directory that was entered: its .dir, .name, .path */
};

struct walk {
	struct walk_level *level;
	size_t n, room;  /* levels */
	struct str path; /* of the entry, below where it began */
	const char *name;
	int dir; /* where name is */
};

/* dir: a directory, opened for reading; taken. */
int walk_begin(struct walk *, int dir, struct err *);
enum walk_step walk_next(struct walk *);
/* The last WALK_ENTRY was a directory: its entries come next.  -1: errno; it
 * is ELOOP for a link, EMLINK when it is too deep. */
int walk_enter(struct walk *);
int walk_root(const struct walk *);     /* dir of walk_begin */
size_t walk_depth(const struct walk *); /* 1: entries of walk_root */
void walk_end(struct walk *);           /* { 0 } is fine */

#endif
