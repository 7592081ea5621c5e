/*
 * responses_item: one output item of a Response, and its JSON.
 *
 * An item shows a message of the run: it points there and prints what is there
 * now, so no text is kept twice.  Knows no events and no order.
 */
#ifndef ENGINE_RESPONSES_ITEM_H
#define ENGINE_RESPONSES_ITEM_H

#include <stdbool.h>
#include "engine/openai.h"

enum item_kind {
	ITEM_MESSAGE,
	ITEM_REASONING,
	ITEM_FUNCTION_CALL,
	ITEM_FUNCTION_OUTPUT,
	ITEM_MCP_CALL,
	ITEM_MCP_TOOLS,
	ITEM_MCP_REQUEST,
	ITEM_MCP_RESPONSE,
	ITEM_IMAGE,
	ITEM_KINDS
};

struct item_part {
	bool added, done;
	unsigned at; /* added: which of the item's content */
};

struct item {
	enum item_kind kind;
	const struct message *message;
	const struct message *output; /* mcp_call: what came back */
	unsigned index;               /* in the response's output */
	unsigned image;               /* which part of message */
	bool open;
	bool cut;   /* closed before its message was */
	bool waits; /* mcp_call: for what comes back */
	char id[96];
	struct item_part *part; /* of MESSAGE and REASONING: as the message's */
	unsigned nparts, nadded;
	struct told told; /* arguments */
};

/* How this message is shown; -1: not at all. */
int item_kind_of(const struct message *);
/* Its text comes in parts of its own. */
bool item_has_parts(enum item_kind);
/*
 * Fills id: the kind's prefix, what the response's own id has after its prefix,
 * and the index; so an item's id says which response has it.
 */
void item_name(struct item *, const char *response);
/* Only as announced: nothing in it yet. */
void item_put_begun(struct str *, const struct item *);
void item_put(struct str *, const struct item *);
/* {"type":"output_text",...} */
void item_put_part(struct str *, const struct item *, const struct part *,
    bool empty);
const char *item_part_type(const struct item *, const struct part *);
/* A data: URL of an image that can be an item of its own. */
bool part_is_picture(const struct part *);
/* The same of an error, which has no part. */
void item_put_error(struct str *, const struct message *, bool empty);

#endif
