/*
 * agent_call: the endpoints and tasks of an agent's own code.
 */
#ifndef WEB_AGENT_CALL_H
#define WEB_AGENT_CALL_H

#include <stdbool.h>

struct deployment;
struct http_req;

/* false: the code has no such path, and nothing has been replied. */
bool agent_call(struct http_req *, struct deployment *, const char *path);

#endif
