/* POST /v1/chat/completions */
#include <string.h>
#include "base/err.h"
#include "base/uuid.h"
#include "engine/ask.h"
#include "engine/deployment.h"
#include "engine/reply_chat.h"
#include "engine/run.h"
#include "web/agent_openai.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"
#include "web/sse.h"

static int
status(const struct run *run)
{
	return chat_failed(run_reply(run)) ? 500 : 200;
}

static int
answer(struct http_req *q, struct deployment *d, const json_t *body,
    struct err *err)
{
	const struct chat_ask chat = { json_is_true(
	    json_object_get(json_object_get(body, "stream_options"),
		"include_usage")) };
	struct run_ask ask = { .door = "chat",
		.reply = &reply_chat,
		.reply_arg = &chat,
		.tenant = app_tenant(q),
		.traceparent = http_req_header(q, "traceparent"),
		.stream = json_is_true(json_object_get(body, "stream")),
		.on_leave = deployment_on_leave(d) };
	char uuid[UUID_TEXT];
	struct ask_fault fault;
	struct sse_ask sse;
	struct run *run;
	int rc = 0;

	ask.request = ask_chat(body, &fault);
	if (ask.request == NULL) {
		openai_fault(q, &fault);
		return 0;
	}
	if (json_object_get(body, "id") == NULL) {
		uuid_put(uuid);
		json_object_set_new(ask.request, "id",
		    json_sprintf("chatcmpl-%s", uuid));
	} else {
		json_object_set(ask.request, "id", json_object_get(body, "id"));
	}
	if (openai_names_agent(q,
		json_string_value(json_object_get(body, "model"))))
		json_object_del(ask.request, "model");
	run = deployment_run(d, &ask, err);
	json_decref(ask.request);
	if (run == NULL)
		return -1;
	openai_sse(q, d, run, &sse);
	sse.status = status;
	/* It has been done once: nobody is to ask again by himself. */
	if (!ask.stream)
		http_reply_header(q, "x-should-retry", "false");
	if (ask.stream)
		rc = sse_stream(q, &sse, err);
	else
		sse_whole(q, &sse);
	run_drop(run);
	return rc;
}

int
agent_chat(struct http_req *q, struct err *unused)
{
	json_t *body = openai_body(q);
	struct deployment *d;
	struct err err;

	(void)unused;
	if (body == NULL)
		return 0;
	d = openai_agent(q, json_string_value(json_object_get(body, "model")));
	if (d != NULL && answer(q, d, body, &err) < 0)
		openai_fail(q, &err);
	json_decref(body);
	return 0;
}
