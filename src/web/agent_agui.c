/* AG-UI's door: RunAgentInput in, a stream of its events out. */
#include <stdio.h>
#include "base/err.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/ask_agui.h"
#include "engine/deployment.h"
#include "engine/invalid.h"
#include "engine/reply_agui.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/answer.h"
#include "web/app.h"
#include "web/http.h"

static void
refuse(struct http_req *q, struct invalid *wrong)
{
	struct str out = { 0 };

	invalid_take(wrong, &out);
	app_reply_json(q, 422, &out);
}

/* "" counts as absent, and is made up. */
static void
name_it(json_t *request, const char *member, const char *prefix)
{
	char text[48], id[UUID_TEXT];

	if (json_object_get(request, member) != NULL)
		return;
	uuid_put(id);
	snprintf(text, sizeof text, "%s_%s", prefix, id);
	json_object_set_new(request, member, json_string(text));
}

int
agent_agui(struct http_req *q, struct err *err)
{
	struct deployment *d = agent_of(q);
	struct agui_ask ask = { 0 };
	struct invalid wrong = { 0 };
	struct agui_arg arg;
	struct run_ask run = { .door = "ag-ui",
		.reply = &reply_agui,
		.reply_arg = &arg,
		.stream = true };
	json_t *body = d != NULL ? answer_body(q) : NULL;

	if (body == NULL)
		return 0;
	if (ask_agui(body, &ask, &wrong) < 0) {
		refuse(q, &wrong);
		json_decref(body);
		return 0;
	}
	name_it(ask.request, "session_id", "thread");
	name_it(ask.request, "id", "run");
	arg = (struct agui_arg){ ask.modern, ask.parent_run };
	run.request = ask.request;
	run.on_leave = deployment_on_leave(d);
	if (answer_run(q, d, &run, err) < 0)
		agent_fail(q, err);
	json_decref(ask.request);
	json_decref(body);
	return 0;
}
