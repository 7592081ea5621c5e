/*
 * POST /stop: end what a session is doing, whatever door it came by.
 *
 * The body is an AgentRequest, of which session_id and user_id count; input may
 * be absent.  With an id, the run of that name.  It is a success also when
 * nothing was going on, as every client expects; "stopped" says how much was.
 */
#include "base/err.h"
#include "base/str.h"
#include "engine/ask_native.h"
#include "engine/deployment.h"
#include "engine/invalid.h"
#include "json/jtext.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/answer.h"
#include "web/app.h"
#include "web/http.h"

static const char why[] = "stopped by request";

static const char *
text_of(const json_t *o, const char *name)
{
	const char *text = jtext_cstring(json_object_get(o, name));

	return text != NULL ? text : "";
}

static unsigned
stop(struct http_req *q, struct deployment *d, const json_t *o)
{
	const char *id = text_of(o, "id"), *session = text_of(o, "session_id");
	int tenant = app_tenant(q);
	unsigned n = 0;

	if (*id != '\0' && deployment_stop_run(d, tenant, id, why) == 0)
		n++;
	if (*session != '\0')
		n += deployment_stop_runs(d, tenant, session,
		    text_of(o, "user_id"), why);
	return n;
}

static void
nothing_named(struct http_req *q, const json_t *body)
{
	struct invalid wrong = { 0 };
	struct str out = { 0 };

	invalid_missing(&wrong, NULL, "session_id", body);
	invalid_take(&wrong, &out);
	app_reply_json(q, 422, &out);
}

int
agent_stop(struct http_req *q, struct err *unused)
{
	struct deployment *d = agent_of(q);
	struct invalid wrong = { 0 };
	struct str out = { 0 };
	json_t *body, *request;
	bool stream;
	int r;

	(void)unused;
	if (d == NULL || (body = answer_body(q)) == NULL)
		return 0;
	if (json_is_object(body) && json_object_get(body, "input") == NULL)
		json_object_set_new(body, "input", json_array());
	r = ask_native(body, &request, &stream, &wrong);
	if (r < 0) {
		json_decref(body);
		invalid_take(&wrong, &out);
		app_reply_json(q, 422, &out);
		return 0;
	}
	if (*text_of(request, "session_id") == '\0' &&
	    *text_of(request, "id") == '\0')
		nothing_named(q, body);
	else {
		str_printf(&out,
		    "{\"status\":\"success\",\"message\":\"Interrupt signal "
		    "broadcasted.\",\"stopped\":%u}",
		    stop(q, d, request));
		app_reply_json(q, 200, &out);
	}
	json_decref(body);
	json_decref(request);
	return 0;
}
