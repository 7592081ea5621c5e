/*
 * reply_mcp: a run as the result of an MCP tool call: text, pictures and sound
 * are its content; on the way, notifications of progress if they are asked for.
 */
#ifndef ENGINE_REPLY_MCP_H
#define ENGINE_REPLY_MCP_H

#include <stdbool.h>

struct reply_kind;

struct mcp_arg {
	const char *id;       /* of the request: JSON */
	const char *progress; /* the token: JSON; NULL: nobody asks */
	bool modern;          /* of 2026-07-28 or later */
};

extern const struct reply_kind reply_mcp;

#endif
