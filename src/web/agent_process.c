/* The native door: POST to the path that the agent is configured with. */
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/ask_native.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/invalid.h"
#include "engine/reply.h"
#include "web/agent.h"
#include "web/agent_call.h"
#include "web/agent_routes.h"
#include "web/answer.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"

static int
process(struct http_req *q, struct deployment *d)
{
	struct run_ask ask = { .door = "process",
		.reply = &reply_native,
		.on_leave = deployment_on_leave(d) };
	struct invalid wrong = { 0 };
	struct str out = { 0 };
	json_t *body = answer_body(q);
	struct err err;
	int r;

	if (body == NULL)
		return 0;
	r = ask_native(body, &ask.request, &ask.stream, &wrong);
	json_decref(body);
	if (r < 0) {
		invalid_take(&wrong, &out);
		app_reply_json(q, 422, &out);
		return 0;
	}
	r = answer_run(q, d, &ask, &err);
	json_decref(ask.request);
	return r < 0 ? agent_fail(q, &err) : 0;
}

int
agent_native(struct http_req *q, struct err *err)
{
	const char *name = http_req_name(q, "agent");
	struct deployment *d = engine_find(app_of(q)->engine, name);

	if (d != NULL)
		return process(q, d);
	err_set(err, ERR_MISSING, "no such agent: %.60s", name);
	return api_fail(q, err);
}

/* What no row names: the native door, its alias, the code's own endpoints. */
int
agent_other(struct http_req *q, struct err *err)
{
	struct deployment *d = agent_of(q);
	auto_str struct str path = { 0 };
	const char *native;
	size_t n;

	(void)err;
	if (d == NULL)
		return 0;
	native = deployment_path(d);
	n = strlen(native);
	str_printf(&path, "/%s", http_req_name(q, "path"));
	if (path.len > 1 && path.at[path.len - 1] == '/')
		str_cut(&path, path.len - 1);
	if (strcmp(path.at, native) == 0 ||
	    (strncmp(path.at, native, n) == 0 &&
		strcmp(path.at + n, "/stream") == 0)) {
		if (http_req_method(q) == HTTP_POST)
			return process(q, d);
		http_reply_header(q, "allow", "POST");
		http_reply_detail(q, 405, "Method Not Allowed");
		return 0;
	}
	if (strncmp(path.at, native, n) == 0 && agent_below(q, d, path.at + n))
		return 0;
	if (agent_call(q, d, path.at))
		return 0;
	return agent_none(q);
}
