#include "web/agent_routes.h"

#define GET (1u << HTTP_GET)
#define POST (1u << HTTP_POST)
#define PUT (1u << HTTP_PUT)
#define DELETE (1u << HTTP_DELETE)
#define PATCH (1u << HTTP_PATCH)
#define ANY (GET | POST | PUT | DELETE | PATCH)

/* The same door of the agent at "/" and of each below its name. */
#define DOOR(methods, path, auth, reply, body, handle)                         \
	{ methods, path, auth, reply, body, handle },                          \
	{                                                                      \
		methods, "/agents/:agent" path, auth, reply, body, handle      \
	}

/* clang-format off */
const struct route agent_routes[] = {
	/* What no other row names; these stay the last. */
	{ ANY,	"/agents/:agent/*path",	AUTH_KEY,   REPLY_EVENTS, BODY_JSON,	agent_other },
	{ ANY,	"/*path",		AUTH_KEY,   REPLY_EVENTS, BODY_JSON,	agent_other },
};
/* clang-format on */

const size_t nagent_routes = sizeof agent_routes / sizeof *agent_routes;
