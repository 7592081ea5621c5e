/*
 * schema: an agent's registry as JSON schemas, and JSON arguments for a call.
 *
 * The host knows no tool by name: what Hello told is all there is.  Used for
 * list_tools and for checking arguments early, with an error that a model can
 * act on; the agent checks them again.
 */
#ifndef GUEST_SCHEMA_H
#define GUEST_SCHEMA_H

#include <jansson.h>
#include "guest/guest.h"

struct err;

#define SCHEMA_ARGS 16

/* {"name", "json_schema": {"type": "function", "function": {...}}}; new. */
json_t *schema_tool(const struct guest_tool *);
/* Name to schema_tool, in the agent's order, without internal ones; new. */
json_t *schema_tools(const struct guest *);

struct schema_args {
	struct guest_arg arg[SCHEMA_ARGS + 1];
	size_t n;
};

/*
 * args: an object, null or NULL.  null and "" for what is optional count as
 * absent.  Texts are borrowed from the JSON value, which must outlive out.
 */
int schema_args(const struct guest_tool *, json_t *args,
    struct schema_args *out, struct err *);
void schema_args_free(struct schema_args *);

#endif
