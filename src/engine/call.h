/*
 * call: a request to an endpoint of an agent's own code, answered by it.
 *
 * What the endpoint is and whether it has such a path is the caller's to know
 * (deployment_endpoints).  The answer comes whole or in pieces; its words are a
 * stranger's.  Knows no HTTP but numbers of status.
 */
#ifndef ENGINE_CALL_H
#define ENGINE_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct agent_call;
struct deployment;
struct err;

struct call_ask {
	const char *name, *method, *path, *query;
	const json_t *headers; /* names in lower case; borrowed */
	const void *body;
	size_t n;
};

struct call_ops {
	/* The head: 100 <= status <= 599; type may be "". */
	void (*start)(void *arg, int status, const char *type,
	    const json_t *headers);
	void (*data)(void *arg, const void *, size_t);
	/* The last word.  why: it failed, before or after its start. */
	void (*end)(void *arg, const struct err *why);
};

/* ERR_BUSY: no worker is ready; ERR_LIMIT: too many.  ops are called later. */
struct agent_call *deployment_call(struct deployment *, const struct call_ask *,
    const struct call_ops *, void *arg, struct err *);
/* Nothing of it is heard any more; it is told to stop. */
void agent_call_cancel(struct agent_call *);
void agent_call_pause(struct agent_call *, bool);

#endif
