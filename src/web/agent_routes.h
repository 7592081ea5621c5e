/*
 * agent_routes: everything that the agents' listener answers, as one table.
 *
 * What no row names is the agent's own: the native door, whose path is
 * configured, and the endpoints of its code (agent_other).
 */
#ifndef WEB_AGENT_ROUTES_H
#define WEB_AGENT_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include "web/route.h"

struct deployment;
struct err;
struct http_req;

extern const struct route agent_routes[];
extern const size_t nagent_routes;

/* agent_process.c */
int agent_other(struct http_req *, struct err *);
int agent_native(struct http_req *, struct err *); /* whatever the path */
/* agent_responses.c */
int agent_responses(struct http_req *, struct err *);
int agent_response(struct http_req *, struct err *);
int agent_response_delete(struct http_req *, struct err *);
int agent_response_cancel(struct http_req *, struct err *);
int agent_response_input(struct http_req *, struct err *);
/* agent_chat.c, agent_models.c */
int agent_chat(struct http_req *, struct err *);
int agent_models(struct http_req *, struct err *);
int agent_model(struct http_req *, struct err *);

/* agent_mcp.c */
int agent_mcp(struct http_req *, struct err *);
int agent_mcp_listen(struct http_req *, struct err *);
int agent_mcp_end(struct http_req *, struct err *);
/* agent_agui.c, agent_a2a.c, agent_card.c */
int agent_agui(struct http_req *, struct err *);
int agent_a2a(struct http_req *, struct err *);
int agent_card(struct http_req *, struct err *);

/* agent_below.c: tail stands behind the native path.  false: not one of its. */
bool agent_below(struct http_req *, struct deployment *, const char *tail);
/* The last word: 405 if a door has the path by another method, else 404. */
int agent_none(struct http_req *);
/* agent_info.c */
int agent_root(struct http_req *, struct err *);
int agent_health(struct http_req *, struct err *);
int agent_readiness(struct http_req *, struct err *);
int agent_liveness(struct http_req *, struct err *);
int agent_admin_status(struct http_req *, struct err *);
int agent_shutdown(struct http_req *, struct err *);
int agent_admin_shutdown(struct http_req *, struct err *);
/* agent_stop.c */
int agent_stop(struct http_req *, struct err *);
/* agent_docs.c */
int agent_openapi(struct http_req *, struct err *);
int agent_docs(struct http_req *, struct err *);

#endif
