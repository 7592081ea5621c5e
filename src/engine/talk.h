/*
 * talk: a conversation as chat.completions wants it, from what an AgentRequest
 * holds (spec aaas-api 2.10).
 *
 * Messages of type *_call and *_output become tool calls and their results;
 * reasoning is not repeated to a model.  Pure.
 */
#ifndef ENGINE_TALK_H
#define ENGINE_TALK_H

#include <jansson.h>
#include <stddef.h>

/* Appends what the request's input says to messages. */
void talk_add_input(json_t *messages, const json_t *request);
/* A tool's result as a message; a new reference. */
json_t *talk_tool_result(const char *call_id, const char *text, size_t n);
/* Calls that have no result get this one: a model refuses to go on else. */
void talk_close_calls(json_t *messages, const char *text);
/* Forgets the oldest turns until no more than `most` bytes are left. */
void talk_trim(json_t *messages, size_t most);

#endif
