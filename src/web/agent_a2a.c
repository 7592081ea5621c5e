/* A2A's door: JSON-RPC of 0.3 and 1.0, told apart by the methods' names. */
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "base/uuid.h"
#include "conf/config.h"
#include "engine/a2a_shape.h"
#include "engine/ask_a2a.h"
#include "engine/deployment.h"
#include "engine/escape.h"
#include "engine/reply_a2a.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "web/a2a_int.h"
#include "web/agent.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"
#include "web/sse.h"

/* Of a task's stream, for those who come back to it. */
#define KEEP_STREAM (256u << 10)
#define ALIVE_S 15

/* ---- replies ---- */

static void
reply(struct a2a_call *c, struct str *out)
{
	http_reply(c->q, 200, "application/json", str_text(out), out->len);
}

static const struct {
	int code;
	const char *reason;
} reasons[] = {
	{ A2A_NO_TASK, "TASK_NOT_FOUND" },
	{ A2A_NOT_CANCELABLE, "TASK_NOT_CANCELABLE" },
	{ A2A_NO_PUSH, "PUSH_NOTIFICATION_NOT_SUPPORTED" },
	{ A2A_UNSUPPORTED, "UNSUPPORTED_OPERATION" },
	{ A2A_NO_CARD, "EXTENDED_AGENT_CARD_NOT_CONFIGURED" },
	{ A2A_VERSION, "VERSION_NOT_SUPPORTED" },
};

void
a2a_fail(struct a2a_call *c, int code, const char *message)
{
	auto_str struct str out = { 0 }, data = { 0 };

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].code == code)
			str_printf(&data,
			    "[{\"@type\":\"type.googleapis.com/"
			    "google.rpc.ErrorInfo\",\"reason\":\"%s\","
			    "\"domain\":\"a2a-protocol.org\"}]",
			    reasons[i].reason);
	jsonrpc_error(&out, c->rpc.id, code, message,
	    data.len > 0 ? data.at : NULL);
	reply(c, &out);
}

void
a2a_fail_err(struct a2a_call *c, const struct err *err)
{
	a2a_fail(c, RPC_INTERNAL, err->text);
}

void
a2a_fail_params(struct a2a_call *c, const struct str *wrong)
{
	auto_str struct str out = { 0 }, data = { 0 };

	str_puts(&data,
	    "[{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\","
	    "\"fieldViolations\":[");
	str_puts(&data, str_text(wrong));
	str_puts(&data, "]}]");
	jsonrpc_error(&out, c->rpc.id, RPC_PARAMS, "Invalid parameters",
	    data.at);
	reply(c, &out);
}

void
a2a_say(struct a2a_call *c, json_t *result)
{
	auto_str struct str out = { 0 }, text = { 0 };

	escape_json(&text, result);
	jsonrpc_result(&out, c->rpc.id, str_text(&text));
	json_decref(result);
	reply(c, &out);
}

void
a2a_say_task(struct a2a_call *c, json_t *task, int history)
{
	json_t *shaped;

	a2a_trim(task, history, true);
	shaped = c->modern ? a2a_modern(task) : json_incref(task);
	json_decref(task);
	a2a_say(c, shaped);
}

/* ---- params ---- */

static void
fail_field(struct a2a_call *c, const char *field, const char *why)
{
	auto_str struct str wrong = { 0 };

	a2a_wrong(&wrong, field, why);
	a2a_fail_params(c, &wrong);
}

int
a2a_named(struct a2a_call *c, const char *member, struct a2a_task_ref *ref)
{
	const char *id = jtext_cstring(json_object_get(c->params, member));
	struct err err;
	int n;

	if (id == NULL || *id == '\0') {
		fail_field(c, member, "is required");
		return -1;
	}
	n = a2a_desk_find(c->desk, c->who, id, ref, &err);
	if (n < 0)
		a2a_fail_err(c, &err);
	else if (n == 0)
		a2a_fail(c, A2A_NO_TASK, "Task not found");
	return n > 0 ? 0 : -1;
}

int
a2a_history(struct a2a_call *c)
{
	const json_t *v = json_object_get(c->params, "historyLength");

	if (v == NULL || json_is_null(v))
		return -1;
	if (json_is_integer(v) && json_integer_value(v) >= 0)
		return json_integer_value(v) > 100000
		    ? 100000
		    : (int)json_integer_value(v);
	fail_field(c, "historyLength", "must be a number, not negative");
	return -2;
}

/* ---- sending ---- */

static const char *
state_of(const json_t *task)
{
	const char *s = json_string_value(
	    json_object_get(json_object_get(task, "status"), "state"));

	return s != NULL ? s : "unknown";
}

/* May this message go on with that task?  -1: it has been replied. */
static int
goes_on(struct a2a_call *c, const struct a2a_ask *ask,
    const struct a2a_task_ref *ref)
{
	const char *context =
	    json_string_value(json_object_get(ref->task, "contextId"));

	if (ask->context != NULL && context != NULL &&
	    strcmp(ask->context, context) != 0) {
		fail_field(c, "message.contextId",
		    "is not the context of this task");
		return -1;
	}
	if (ref->run == NULL && !a2a_is_final(state_of(ref->task))) {
		json_object_set_new(ask->request, "session_id",
		    json_string(context != NULL ? context : ""));
		return 0;
	}
	a2a_fail(c, A2A_UNSUPPORTED,
	    ref->run != NULL ? "The task is being worked on"
			     : "The task is in a terminal state");
	return -1;
}

static void
run_gone(void *arg, struct run *run)
{
	deployment_left(arg, run);
}

/* What the client gets of the run that it has begun. */
static void
answer(struct a2a_call *c, const struct a2a_ask *ask, struct run *run,
    bool stream)
{
	struct sse_ask sse = { .loop = app_of(c->q)->loop,
		.keep_alive_s = ALIVE_S,
		.run = run,
		.after = -1,
		.gone = run_gone,
		.arg = c->d };
	json_t *task;
	struct err err;

	if (stream) {
		if (sse_stream(c->q, &sse, &err) < 0)
			a2a_fail_err(c, &err);
	} else if (ask->blocking) {
		sse_whole(c->q, &sse);
	} else {
		task = a2a_task(run_reply(run));
		a2a_trim(task, ask->history, true);
		if (c->modern) {
			json_t *shaped = a2a_modern_result(task);

			json_decref(task);
			task = shaped;
		}
		a2a_say(c, task);
	}
}

static void
begin(struct a2a_call *c, const struct a2a_ask *ask, struct a2a_task_ref *ref,
    bool stream)
{
	char id[UUID_TEXT];
	struct a2a_arg arg = { .modern = c->modern,
		.id = c->rpc.id,
		.task = ask->task != NULL ? ask->task : id,
		.base = ref->task,
		.message = ask->message,
		.history = ask->history };
	struct run_ask run = { .request = ask->request,
		.door = "a2a",
		.reply = &reply_a2a,
		.reply_arg = &arg,
		.tenant = c->who.tenant,
		.stream = true,
		.keep = KEEP_STREAM,
		.on_leave = LEAVE_CONTINUE };
	json_t *push = json_copy(ref->push);
	struct run *r;
	struct err err;

	uuid_put(id);
	json_object_set_new(ask->request, "id", json_string(id));
	if (ask->push != NULL) {
		if (push == NULL)
			push = json_array();
		json_array_append_new(push,
		    json_pack("{s:s,s:O}", "taskId", arg.task,
			"pushNotificationConfig", ask->push));
	}
	r = a2a_desk_start(c->desk, c->d, arg.task, &run, push, &err);
	if (r == NULL) {
		a2a_fail_err(c, &err);
		return;
	}
	answer(c, ask, r, stream);
	run_drop(r);
}

static void
send_message(struct a2a_call *c, bool stream)
{
	auto_str struct str wrong = { 0 };
	struct a2a_task_ref ref = { 0 };
	struct a2a_ask ask;
	struct err err;
	int n = 1;

	if (ask_a2a(c->params, c->modern, &ask, &wrong) < 0) {
		a2a_fail_params(c, &wrong);
		return;
	}
	if (ask.task != NULL)
		n = a2a_desk_find(c->desk, c->who, ask.task, &ref, &err);
	if (n < 0)
		a2a_fail_err(c, &err);
	else if (n == 0)
		a2a_fail(c, A2A_NO_TASK, "Task not found");
	else if (ask.push != NULL && !a2a_desk_pushes(c->desk))
		a2a_fail(c, A2A_NO_PUSH,
		    "Push notifications are not supported");
	else if (ask.task == NULL || goes_on(c, &ask, &ref) == 0)
		begin(c, &ask, &ref, stream);
	a2a_ref_free(&ref);
	json_decref(ask.request);
	json_decref(ask.message);
}

static void
method_send(struct a2a_call *c)
{
	send_message(c, false);
}

static void
method_stream(struct a2a_call *c)
{
	send_message(c, true);
}

/* ---- tasks ---- */

static void
method_get(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	int history = a2a_history(c);

	if (history < -1 || a2a_named(c, "id", &ref) < 0)
		return;
	json_decref(ref.push);
	a2a_say_task(c, ref.task, history);
}

/* One that waits for an answer nobody will give. */
static int
cancel_idle(struct a2a_call *c, struct a2a_task_ref *ref, struct err *err)
{
	json_t *status = json_object_get(ref->task, "status");

	json_object_set_new(status, "state", json_string("canceled"));
	json_object_del(status, "message");
	return a2a_desk_save(c->desk, c->who, ref->task, ref->push, err);
}

static void
method_cancel(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	struct err err;

	if (a2a_named(c, "id", &ref) < 0)
		return;
	if (ref.run != NULL) {
		run_hold(ref.run);
		run_stop(ref.run, RUN_CANCELED, NULL, "canceled by its client");
		json_decref(ref.task);
		ref.task = a2a_task(run_reply(ref.run));
		run_drop(ref.run);
		a2a_say_task(c, json_incref(ref.task), -1);
	} else if (a2a_is_final(state_of(ref.task))) {
		a2a_fail(c, A2A_NOT_CANCELABLE, "Task cannot be canceled");
	} else if (cancel_idle(c, &ref, &err) < 0) {
		a2a_fail_err(c, &err);
	} else {
		a2a_say_task(c, json_incref(ref.task), -1);
	}
	a2a_ref_free(&ref);
}

/* What there is to tell, to somebody who is known: nothing more. */
static void
method_card(struct a2a_call *c)
{
	if (app_of(c->q)->config->ntenant > 0)
		a2a_say(c, a2a_card(c->q, c->d, a2a_desk_pushes(c->desk)));
	else if (c->modern)
		a2a_fail(c, A2A_UNSUPPORTED, "There is no extended agent card");
	else
		a2a_fail(c, A2A_NO_CARD,
		    "Authenticated Extended Card is not configured");
}

/* ---- the envelope ---- */

static const struct {
	const char *legacy, *modern;
	a2a_method *run;
	bool params; /* it can't do without */
} methods[] = {
	{ "message/send", "SendMessage", method_send, true },
	{ "message/stream", "SendStreamingMessage", method_stream, true },
	{ "tasks/get", "GetTask", method_get, true },
	{ "tasks/list", "ListTasks", a2a_list, false },
	{ "tasks/cancel", "CancelTask", method_cancel, true },
	{ "tasks/resubscribe", "SubscribeToTask", a2a_resubscribe, true },
	{ "tasks/pushNotificationConfig/set",
	    "CreateTaskPushNotificationConfig", a2a_push_set, true },
	{ "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig",
	    a2a_push_get, true },
	{ "tasks/pushNotificationConfig/list",
	    "ListTaskPushNotificationConfigs", a2a_push_list, true },
	{ "tasks/pushNotificationConfig/delete",
	    "DeleteTaskPushNotificationConfig", a2a_push_delete, true },
	{ "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard",
	    method_card, false },
};

static a2a_method *
method_of(struct a2a_call *c, bool *params)
{
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		c->modern = strcmp(c->rpc.method, methods[i].modern) == 0;
		*params = methods[i].params;
		if (c->modern || strcmp(c->rpc.method, methods[i].legacy) == 0)
			return methods[i].run;
	}
	return NULL;
}

/* "1.0", "0.3", with a patch behind it or not at all. */
static bool
version_known(struct http_req *q)
{
	const char *v = http_req_header(q, "a2a-version");

	if (v == NULL || *v == '\0')
		v = http_req_param(q, "A2A-Version");
	return v == NULL || *v == '\0' || strncmp(v, "0.3", 3) == 0 ||
	    strncmp(v, "1.", 2) == 0 || strcmp(v, "1") == 0;
}

static void
dispatch(struct a2a_call *c)
{
	a2a_method *run;
	bool params;

	if (c->rpc.method == NULL) {
		a2a_fail(c, RPC_REQUEST, "method is required");
	} else if (!version_known(c->q)) {
		a2a_fail(c, A2A_VERSION,
		    "This A2A version is not supported: 0.3 and 1.0 are");
	} else if ((run = method_of(c, &params)) == NULL) {
		a2a_fail(c, RPC_METHOD, "Method not found");
	} else if (!c->rpc.has_id || strcmp(c->rpc.id, "null") == 0) {
		fail_field(c, "id", "every method of A2A has an answer");
	} else if (c->rpc.params == NULL && params) {
		fail_field(c, "params", "is required");
	} else {
		c->params = c->modern ? a2a_legacy_params(c->rpc.params)
				      : json_incref(c->rpc.params);
		run(c);
		json_decref(c->params);
	}
}

int
agent_a2a(struct http_req *q, struct err *err)
{
	struct a2a_call c = { .q = q, .d = agent_of(q) };
	const uint8_t *body;
	const char *why;
	size_t n;
	int code;

	if (c.d == NULL)
		return 0;
	c.desk = a2a_desk_of(app_of(q), err);
	if (c.desk == NULL)
		return -1;
	c.who = (struct a2a_whose){ app_tenant(q), deployment_name(c.d) };
	body = http_req_body(q, &n);
	code = jsonrpc_read(&c.rpc, body, n, &why);
	if (code != 0)
		a2a_fail(&c, code, why);
	else
		dispatch(&c);
	jsonrpc_free(&c.rpc);
	return 0;
}
