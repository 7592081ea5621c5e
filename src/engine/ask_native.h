/*
 * ask_native: the body of the native door as an AgentRequest (spec 2.10, A.1).
 *
 * Checked as upstream's models check it, and told in the same words, but before
 * anything is streamed.  What is not known is kept for the agent.  Pure.
 */
#ifndef ENGINE_ASK_NATIVE_H
#define ENGINE_ASK_NATIVE_H

#include <jansson.h>
#include <stdbool.h>

struct invalid;

/* *request: yours.  -1: invalid says what is wrong. */
int ask_native(const json_t *body, json_t **request, bool *stream,
    struct invalid *);
/* What pydantic takes for a boolean; -1: it is none. */
int ask_bool(const json_t *);

#endif
