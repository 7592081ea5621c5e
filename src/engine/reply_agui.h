/*
 * reply_agui: a run as AG-UI's events (protocol 1.0, and what 0.x clients know).
 *
 * Each text part of a message is a message of AG-UI's, begun when it has text;
 * whatever is begun is ended before the run is.  Arguments of a call go out as
 * far as they can't change any more.  Media and data, which a stream of AG-UI
 * has no event for, are CUSTOM events named by their type, with an AG-UI
 * content part as value.  Knows no request but what it is told of it here.
 */
#ifndef ENGINE_REPLY_AGUI_H
#define ENGINE_REPLY_AGUI_H

#include <stdbool.h>
#include <stddef.h>
#include "engine/event.h"

struct reply_kind;

struct agui_arg {
	bool modern;            /* the client speaks 1.0: outcome, usage */
	const char *parent_run; /* NULL: none */
};

extern const struct reply_kind reply_agui;

/*
 * How much of a call's arguments can be told when they have grown from `before`
 * to `now` and may grow on: so many bytes of now.  Plain text.
 */
size_t agui_settled(struct slice before, struct slice now);

#endif
