/*
 * agent_routes: everything that the agents' listener answers, as one table.
 *
 * What no row names is the agent's own: the native door, whose path is
 * configured, and the endpoints of its code (agent_other).
 */
#ifndef WEB_AGENT_ROUTES_H
#define WEB_AGENT_ROUTES_H

#include <stddef.h>
#include "web/route.h"

struct err;
struct http_req;

extern const struct route agent_routes[];
extern const size_t nagent_routes;

/* agent_process.c */
int agent_other(struct http_req *, struct err *);

#endif
