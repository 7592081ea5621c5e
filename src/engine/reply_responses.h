/*
 * reply_responses: a run as OpenAI's Responses API tells it.
 *
 * Knows the published schema; the request's side of it comes as text, printed
 * by the door (ask_responses).
 */
#ifndef ENGINE_REPLY_RESPONSES_H
#define ENGINE_REPLY_RESPONSES_H

#include <stdbool.h>
#include "engine/reply.h"

struct run_facts;
struct str;

/* reply_arg of reply_responses. */
struct responses_ask {
	/* `"instructions":null,"tools":[],...`: what a response repeats of its
	 * request. */
	const char *echo;
	bool background; /* begins as "queued" */
};

extern const struct reply_kind reply_responses;

/* The Response as it stands, at any time of the run. */
void responses_print(const struct reply *, const struct run_facts *,
    struct str *json);
/* Only its "output": an array. */
void responses_print_output(const struct reply *, struct str *json);
const char *responses_status(const struct reply *);

#endif
