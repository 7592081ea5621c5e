/*
 * agent: what the doors of the agents' listener share.
 *
 * One agent is at "/": the one that was deployed first.  All are below
 * /agents/NAME/.  A door's row is given to both by the macro of agent_routes.c;
 * its handler asks agent_of() which one is meant.
 */
#ifndef WEB_AGENT_H
#define WEB_AGENT_H

struct deployment;
struct err;
struct http_req;
struct str;

/* NULL: there is no such agent, and 404 has been replied. */
struct deployment *agent_of(struct http_req *);
/* {"detail":"Not Found"} */
int agent_unknown(struct http_req *);
/* A failure that the engine told, as a status and {"detail": text}. */
int agent_fail(struct http_req *, const struct err *);

/* Where this agent is, as its client sees it: no slash at the end. */
void agent_base_url(struct http_req *, struct str *out);

#endif
