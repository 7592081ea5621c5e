/*
 * ask_agui: AG-UI's RunAgentInput as an AgentRequest.
 *
 * Strict in types and kinds, lenient in what 1.0 and 0.x disagree about:
 * camelCase or snake_case, absent lists, the binary part of old.  Pure.
 */
#ifndef ENGINE_ASK_AGUI_H
#define ENGINE_ASK_AGUI_H

#include <jansson.h>
#include <stdbool.h>

struct invalid;

struct agui_ask {
	json_t *request;        /* yours; session_id and id may be absent */
	bool modern;            /* it declares a protocol version */
	const char *parent_run; /* in the body; NULL: none */
};

/* -1: invalid says what is wrong. */
int ask_agui(const json_t *body, struct agui_ask *out, struct invalid *);

#endif
