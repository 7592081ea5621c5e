#include "web/agent_routes.h"
#include "web/api.h"
#include "web/door.h"
#include "web/http.h"
#include "web/metrics.h"
#include "web/proxy.h"
#include "web/routes.h"
#include "web/rpc.h"
#include "web/watcher.h"
#include "web/workspace.h"

#define GET (1u << HTTP_GET)
#define POST (1u << HTTP_POST)
#define PUT (1u << HTTP_PUT)
#define DELETE (1u << HTTP_DELETE)
#define PATCH (1u << HTTP_PATCH)

#define RPC(name)                                                              \
	{ POST, "/" name, AUTH_KEY, REPLY_JSON, BODY_JSON, rpc_handle },       \
	{                                                                      \
		POST, "/" name "_async", AUTH_KEY, REPLY_JSON, BODY_JSON,      \
		    rpc_handle                                                 \
	}
#define BOX "/proxy/:identity"
#define API "/api/v1"

/* clang-format off */
const struct route routes[] = {
	/* The manager: spec 1.3, names in rpc.c. */
	RPC("create_from_pool"),
	RPC("create"),
	RPC("release"),
	RPC("start"),
	RPC("stop"),
	RPC("get_status"),
	RPC("get_info"),
	RPC("check_health"),
	RPC("list_tools"),
	RPC("call_tool"),
	RPC("add_mcp_servers"),
	RPC("get_session_mapping"),
	RPC("list_session_keys"),
	RPC("cleanup"),
	{ GET,	  "/health",				AUTH_NONE,  REPLY_JSON,	  BODY_NONE,   door_health },
	{ GET,	  "/openapi.json",			AUTH_NONE,  REPLY_JSON,	  BODY_NONE,   door_openapi },
	{ GET,	  "/docs",				AUTH_NONE,  REPLY_JSON,	  BODY_NONE,   door_docs },
	{ GET,	  "/redoc",				AUTH_NONE,  REPLY_JSON,	  BODY_NONE,   door_docs },
	{ GET,	  "/metrics",				AUTH_ADMIN, REPLY_STREAM, BODY_NONE,   metrics_get },
	{ GET,	  "/desktop/:identity/*path",		AUTH_NONE,  REPLY_STREAM, BODY_NONE,   door_desktop },

	/* Inside a sandbox: spec 2. */
	{ GET,	  BOX "/healthz",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   proxy_healthz },
	{ POST,	  BOX "/tools/run_ipython_cell",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   proxy_tool },
	{ POST,	  BOX "/tools/run_shell_command",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   proxy_tool },
	{ GET,	  BOX "/mcp/list_tools",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   proxy_mcp_list },
	{ POST,	  BOX "/mcp/call_tool",			AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   proxy_mcp_call },
	{ POST,	  BOX "/mcp/add_servers",		AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   proxy_mcp_add },
	{ GET,	  BOX "/workspace/file",		AUTH_KEY,   REPLY_STREAM, BODY_NONE,   workspace_read },
	{ PUT,	  BOX "/workspace/file",		AUTH_KEY,   REPLY_JSON,	  BODY_STREAM, workspace_write },
	{ POST,	  BOX "/workspace/files:batch",		AUTH_KEY,   REPLY_JSON,	  BODY_STREAM, workspace_batch },
	{ GET,	  BOX "/workspace/list",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   workspace_list },
	{ GET,	  BOX "/workspace/exists",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   workspace_exists },
	{ DELETE, BOX "/workspace/entry",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   workspace_remove },
	{ POST,	  BOX "/workspace/move",		AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   workspace_move },
	{ POST,	  BOX "/workspace/mkdir",		AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   workspace_mkdir },
	{ POST,	  BOX "/watcher/commit_changes",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   watcher_commit },
	{ POST,	  BOX "/watcher/generate_diff",		AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   watcher_diff },
	{ GET,	  BOX "/watcher/git_logs",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   watcher_logs },
	{ GET,	  BOX "/openapi.json",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   proxy_openapi },
	{ GET | POST | PUT | DELETE | PATCH,
		  BOX "/*path",				AUTH_KEY,   REPLY_JSON,	  BODY_STREAM, proxy_other },

	/* Our own: api.h. */
	{ GET,	  API "/info",				AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_info },
	{ GET,	  API "/sandboxes",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_sandbox_list },
	{ POST,	  API "/sandboxes",			AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   api_sandbox_create },
	{ GET,	  API "/sandboxes/:identity",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_sandbox_get },
	{ DELETE, API "/sandboxes/:identity",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_sandbox_delete },
	{ POST,	  API "/sandboxes/:identity/pause",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   api_sandbox_act },
	{ POST,	  API "/sandboxes/:identity/resume",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   api_sandbox_act },
	{ POST,	  API "/sandboxes/:identity/start",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   api_sandbox_act },
	{ POST,	  API "/sandboxes/:identity/stop",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   api_sandbox_act },
	{ GET,	  API "/sandboxes/:identity/stats",	AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_sandbox_stats },
	{ GET,	  API "/sandboxes/:identity/logs",	AUTH_KEY,   REPLY_STREAM, BODY_NONE,   api_sandbox_logs },
	{ GET,	  API "/sandboxes/:identity/exec",	AUTH_KEY,   REPLY_TUNNEL, BODY_NONE,   api_exec },
	{ GET,	  API "/sandboxes/:identity/files",	AUTH_KEY,   REPLY_STREAM, BODY_NONE,   api_file_get },
	{ PUT,	  API "/sandboxes/:identity/files",	AUTH_KEY,   REPLY_JSON,	  BODY_STREAM, api_file_put },
	{ GET,	  API "/images",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_image_list },
	{ POST,	  API "/images",			AUTH_ADMIN, REPLY_STREAM, BODY_STREAM, api_image_import },
	{ GET,	  API "/images/:name",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_image_get },
	{ DELETE, API "/images/:name",			AUTH_ADMIN, REPLY_JSON,	  BODY_NONE,   api_image_delete },
	{ GET,	  API "/agents",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_agent_list },
	{ GET,	  API "/agents/:name",			AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_agent_get },
	{ PUT,	  API "/agents/:name",			AUTH_ADMIN, REPLY_STREAM, BODY_STREAM, api_agent_put },
	{ DELETE, API "/agents/:name",			AUTH_ADMIN, REPLY_JSON,	  BODY_NONE,   api_agent_delete },
	{ POST,	  API "/agents/:name/reload",		AUTH_ADMIN, REPLY_STREAM, BODY_JSON,   api_agent_reload },
	{ GET,	  API "/agents/:name/logs",		AUTH_ADMIN, REPLY_STREAM, BODY_NONE,   api_agent_logs },
	{ GET,	  API "/agents/:name/runs",		AUTH_KEY,   REPLY_JSON,	  BODY_NONE,   api_agent_runs },
	{ POST,	  API "/agents/:agent/process",		AUTH_KEY,   REPLY_EVENTS, BODY_JSON,   agent_native },
	{ POST,	  API "/agents/:name/runs/:run/cancel",	AUTH_KEY,   REPLY_JSON,	  BODY_JSON,   api_agent_cancel },
	{ GET,	  API "/export",			AUTH_ADMIN, REPLY_STREAM, BODY_NONE,   api_image_export },
	{ GET,	  API "/doctor",			AUTH_ADMIN, REPLY_JSON,	  BODY_NONE,   api_doctor },
	{ GET,	  API "/backup",			AUTH_ADMIN, REPLY_STREAM, BODY_NONE,   api_backup },
};
/* clang-format on */

const size_t nroutes = sizeof routes / sizeof *routes;
