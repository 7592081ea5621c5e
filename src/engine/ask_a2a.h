/*
 * ask_a2a: what message/send is given, as an AgentRequest.  In the shape of 0.3
 * (a2a_shape); an id of the run is the door's to set.  Pure.
 */
#ifndef ENGINE_ASK_A2A_H
#define ENGINE_ASK_A2A_H

#include <jansson.h>
#include <stdbool.h>

struct str;

struct a2a_ask {
	json_t *request; /* yours */
	json_t *message; /* the message, with its kind: yours */
	/* In params; NULL: absent. */
	const char *task, *context;
	json_t *push;
	bool blocking;
	int history; /* messages wanted in an answer; -1: all */
};

/*
 * -1: wrong lists what is wrong as google.rpc.BadRequest's violations, objects
 * with a comma between two.
 */
int ask_a2a(const json_t *params, bool modern, struct a2a_ask *,
    struct str *wrong);
/* {"field":...,"description":...}, appended to such a list. */
void a2a_wrong(struct str *list, const char *field, const char *why);

#endif
