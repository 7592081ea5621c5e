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

/* OpenAI's, at the standard's place and at upstream's. */
#define V1(methods, path, reply, body, handle)                                 \
	DOOR(methods, "/v1" path, AUTH_KEY, reply, body, handle),              \
	    DOOR(methods, "/compatible-mode/v1" path, AUTH_KEY, reply, body,   \
		handle)

/* clang-format off */
const struct route agent_routes[] = {
	V1(POST,   "/responses",		 REPLY_EVENTS, BODY_JSON, agent_responses),
	V1(GET,	   "/responses/:id",		 REPLY_EVENTS, BODY_NONE, agent_response),
	V1(DELETE, "/responses/:id",		 REPLY_JSON,   BODY_JSON, agent_response_delete),
	V1(POST,   "/responses/:id/cancel",	 REPLY_JSON,   BODY_JSON, agent_response_cancel),
	V1(GET,	   "/responses/:id/input_items", REPLY_JSON,   BODY_NONE, agent_response_input),
	V1(POST,   "/chat/completions",		 REPLY_EVENTS, BODY_JSON, agent_chat),
	V1(GET,	   "/models",			 REPLY_JSON,   BODY_NONE, agent_models),
	V1(GET,	   "/models/:model",		 REPLY_JSON,   BODY_NONE, agent_model),

	DOOR(POST, "/ag-ui",	AUTH_KEY,  REPLY_EVENTS, BODY_JSON, agent_agui),
	DOOR(POST, "/a2a",	AUTH_KEY,  REPLY_EVENTS, BODY_JSON, agent_a2a),
	{ POST, "/",		AUTH_KEY,  REPLY_EVENTS, BODY_JSON, agent_a2a },
	{ POST, "/agents/:agent", AUTH_KEY, REPLY_EVENTS, BODY_JSON, agent_a2a },
	DOOR(GET, "/.well-known/agent-card.json",
				AUTH_NONE, REPLY_JSON,	 BODY_NONE, agent_card),
	DOOR(GET, "/.well-known/agent.json",
				AUTH_NONE, REPLY_JSON,	 BODY_NONE, agent_card),

	DOOR(POST, "/mcp",	AUTH_KEY,  REPLY_EVENTS, BODY_JSON, agent_mcp),
	DOOR(GET, "/mcp",	AUTH_KEY,  REPLY_EVENTS, BODY_NONE, agent_mcp_listen),
	DOOR(DELETE, "/mcp",	AUTH_KEY,  REPLY_JSON,	 BODY_NONE, agent_mcp_end),

	{ GET, "/",		      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_root },
	{ GET, "/agents/:agent",      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_root },
	DOOR(GET,  "/health",	      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_health),
	DOOR(GET,  "/readiness",      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_readiness),
	DOOR(GET,  "/liveness",	      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_liveness),
	DOOR(GET,  "/openapi.json",   AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_openapi),
	DOOR(GET,  "/docs",	      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_docs),
	DOOR(GET,  "/redoc",	      AUTH_NONE,  REPLY_JSON, BODY_NONE, agent_docs),
	DOOR(POST, "/stop",	      AUTH_KEY,   REPLY_JSON, BODY_JSON, agent_stop),
	DOOR(GET,  "/admin/status",   AUTH_ADMIN, REPLY_JSON, BODY_NONE, agent_admin_status),
	DOOR(POST, "/admin/shutdown", AUTH_ADMIN, REPLY_JSON, BODY_JSON, agent_admin_shutdown),
	DOOR(POST, "/shutdown",	      AUTH_ADMIN, REPLY_JSON, BODY_JSON, agent_shutdown),

	/* What no other row names; these stay the last. */
	{ ANY,	"/agents/:agent/*path",	AUTH_KEY,   REPLY_EVENTS, BODY_JSON,	agent_other },
	{ ANY,	"/*path",		AUTH_KEY,   REPLY_EVENTS, BODY_JSON,	agent_other },
};
/* clang-format on */

const size_t nagent_routes = sizeof agent_routes / sizeof *agent_routes;
