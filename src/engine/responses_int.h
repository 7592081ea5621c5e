/*
 * responses_int: what the files of the Responses encoder share.
 */
#ifndef ENGINE_RESPONSES_INT_H
#define ENGINE_RESPONSES_INT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"
#include "engine/reply.h"
#include "engine/responses_item.h"

struct feed;
struct run_facts;

struct responses {
	struct reply reply;
	struct str echo;
	bool background;
	uint64_t seq; /* of the next event */
	const char *status;
	struct item *item; /* in the order of their output_index */
	unsigned nitems;
	int *of; /* by a message's number: its item, or -1 */
	unsigned nof;
	/* from the end */
	int64_t completed_at;
	char *code, *why;
	struct str usage;
	const struct run_facts *run;
};

struct tell { /* where an event goes */
	struct responses *r;
	struct feed *feed; /* NULL: nobody reads a stream */
};

/* Of the response as a whole. */
void tell_response(struct tell *, const char *type);

/* The item of a message; NULL while it has none. */
struct item *item_of(struct responses *, const struct message *);
/* The same, begun if the message has something to show. */
struct item *item_for(struct tell *, const struct message *);
/* Begins the item of a message whose text comes in parts. */
void item_begin(struct tell *, const struct message *, enum item_kind);
/* More of a part, escaped text. */
void part_more(struct tell *, struct item *, const struct part *, struct slice);
/* It is complete; rest: what was not told yet, of one that grows. */
void part_end(struct tell *, struct item *, const struct part *, struct slice);
void call_more(struct tell *, struct item *);
/* What an MCP server answered belongs to its call's item: true if there is. */
bool join_output(struct tell *, const struct message *, bool over);
/* Its message is over; cut: the run is, and it isn't. */
void item_finish(struct tell *, struct item *, bool cut);

#endif
