/* The native door: POST to the path that the agent is configured with. */
#include "web/agent.h"
#include "web/agent_routes.h"

int
agent_other(struct http_req *q, struct err *err)
{
	(void)err;
	if (agent_of(q) == NULL)
		return 0;
	return agent_unknown(q);
}
