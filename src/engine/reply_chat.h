/*
 * reply_chat: a run as an answer of OpenAI's chat completions.
 *
 * One choice: the texts of all messages, with an empty line between them.
 * Calls that the agent has answered itself are its own business; those that it
 * leaves open are the client's to make: tool_calls.
 */
#ifndef ENGINE_REPLY_CHAT_H
#define ENGINE_REPLY_CHAT_H

#include <stdbool.h>
#include "engine/reply.h"

/* reply_arg of reply_chat. */
struct chat_ask {
	bool usage; /* stream_options.include_usage */
};

extern const struct reply_kind reply_chat;

/* The run has failed, so that its answer is an error; `whole` prints that. */
bool chat_failed(const struct reply *);

#endif
