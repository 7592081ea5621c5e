/* The MCP server's tools: those of a sandbox, and each agent as one. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/escape.h"
#include "engine/reply_mcp.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/http.h"
#include "web/mcp_int.h"
#include "web/sse.h"

#define ALIVE_S 15

json_t *
mcp_text_result(const char *text, bool failed)
{
	return json_pack("{s:[{s:s,s:s}],s:b}", "content", "type", "text",
	    "text", text, "isError", failed);
}

static json_t *
agent_tool(const struct deployment *d)
{
	const char *text = deployment_description(d);
	json_t *message = json_pack("{s:s,s:s}", "type", "string",
	    "description", "What the agent is asked.");
	json_t *session =
	    json_pack("{s:s,s:s}", "type", "string", "description",
		"The conversation that this goes on with: a result's "
		"_meta.session_id; absent: a new one.");

	return json_pack("{s:s,s:s,s:s,s:{s:s,s:{s:o,s:o},s:[s]}}", "name",
	    deployment_name(d), "title", deployment_title(d), "description",
	    *text != '\0' ? text : deployment_title(d), "inputSchema", "type",
	    "object", "properties", "message", message, "session_id", session,
	    "required", "message");
}

void
mcp_tools_list(struct mcp_call *c)
{
	struct engine *e = c->app->engine;
	json_t *list = json_array(), *result;

	if (c->app->manager != NULL)
		mcp_box_tools(list);
	for (struct deployment *d = engine_next(e, NULL); d != NULL;
	     d = engine_next(e, d))
		if (mcp_tool_find(deployment_name(d)) == NULL)
			json_array_append_new(list, agent_tool(d));
	result = json_pack("{s:o}", "tools", list);
	if (c->modern) {
		json_object_set_new(result, "ttlMs", json_integer(5000));
		json_object_set_new(result, "cacheScope",
		    json_string("private"));
	}
	mcp_say(c, result);
}

/* ---- an agent ---- */

struct asked { /* a call of an agent that goes on */
	struct deployment *d;
	struct mcp_session *session; /* held; NULL: none */
	struct mcp_running running;
};

static void
gone(void *arg, struct run *run)
{
	struct asked *a = arg;

	deployment_left(a->d, run);
	if (a->session != NULL) {
		mcp_session_ran(a->session, &a->running);
		mcp_session_drop(a->session);
	}
	run_drop(a->running.run);
	free(a->running.id);
	free(a);
}

static json_t *
request_of(const json_t *message, const char *session)
{
	json_t *r = json_pack("{s:[{s:s,s:s,s:[{s:s,s:O}]}],s:b}", "input",
	    "type", "message", "role", "user", "content", "type", "text",
	    "text", message, "stream", 1);

	if (session != NULL)
		json_object_set_new(r, "session_id", json_string(session));
	return r;
}

static void
answer(struct mcp_call *c, struct deployment *d, struct run *run, bool stream)
{
	struct asked *a = xcalloc(1, sizeof *a);
	struct sse_ask ask = { .loop = c->app->loop,
		.keep_alive_s = ALIVE_S,
		.run = run,
		.after = -1,
		.gone = gone,
		.arg = a };
	struct err err;

	a->d = d;
	a->running.id = xstrdup(c->rpc.id);
	a->running.run = run;
	run_hold(run);
	a->session = c->session;
	if (a->session != NULL) {
		mcp_session_hold(a->session);
		mcp_session_run(a->session, &a->running);
	}
	if (!stream) {
		sse_whole(c->q, &ask);
	} else if (sse_stream(c->q, &ask, &err) < 0) {
		gone(a, run);
		mcp_fail(c, 200, RPC_INTERNAL, err.text, NULL);
	}
}

static void
call_agent(struct mcp_call *c, struct deployment *d, const json_t *args,
    const char *progress)
{
	const json_t *message = json_object_get(args, "message");
	bool stream = mcp_wants_stream(c->q);
	struct mcp_arg arg = { c->rpc.id, progress, c->modern };
	struct run_ask ask = { .door = "mcp",
		.reply = &reply_mcp,
		.reply_arg = &arg,
		.tenant = c->tenant,
		.stream = stream,
		.on_leave = LEAVE_CANCEL };
	struct run *run;
	struct err err;

	if (jtext_string(message, &(size_t){ 0 }) == NULL) {
		mcp_fail(c, 200, RPC_PARAMS,
		    "arguments.message must be a string", NULL);
		return;
	}
	ask.request = request_of(message,
	    jtext_cstring(json_object_get(args, "session_id")));
	run = deployment_run(d, &ask, &err);
	json_decref(ask.request);
	if (run == NULL) {
		mcp_say(c, mcp_text_result(err.text, true));
		return;
	}
	answer(c, d, run, stream);
	run_drop(run);
}

void
mcp_tools_call(struct mcp_call *c)
{
	const json_t *args = json_object_get(c->rpc.params, "arguments");
	const char *name =
	    jtext_cstring(json_object_get(c->rpc.params, "name"));
	const json_t *token =
	    json_object_get(json_object_get(c->rpc.params, "_meta"),
		"progressToken");
	const struct mcp_tool *tool;
	auto_str struct str progress = { 0 };
	struct deployment *d;

	if (name == NULL || (args != NULL && !json_is_object(args))) {
		mcp_fail(c, 200, RPC_PARAMS,
		    "a call has a name and an object of arguments", NULL);
		return;
	}
	if (json_is_string(token) || json_is_integer(token))
		escape_json(&progress, token);
	tool = c->app->manager != NULL ? mcp_tool_find(name) : NULL;
	d = tool == NULL && *name != '\0' ? engine_find(c->app->engine, name)
					  : NULL;
	if (tool != NULL)
		mcp_box_call(c, tool, args,
		    progress.len > 0 ? progress.at : NULL);
	else if (d != NULL)
		call_agent(c, d, args, progress.len > 0 ? progress.at : NULL);
	else
		mcp_fail(c, 200, RPC_PARAMS, "Unknown tool", NULL);
}
