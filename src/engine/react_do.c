#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/model_client.h"
#include "engine/react_int.h"
#include "engine/run.h"
#include "engine/trace.h"
#include "engine/talk.h"
#include "engine/toolbox.h"
#include "wire/loop.h"
#include "wire/model.h"

#define ERROR_BODY 16384
#define WHOLE_MOST (8u << 20)
#define RETRY_FIRST_MS 500
#define RETRY_MOST_MS 30000

static void ask(struct react *);

/* ---- the end ---- */

static void
answer_drop(struct react *r)
{
	if (r->call != NULL)
		model_call_cancel(take_ptr(&r->call));
	completion_free(&r->said);
	sse_in_free(&r->sse);
	r->sse = (struct sse_in){ 0 };
	str_free(&r->body);
	r->some = r->whole = r->broken = r->complete = false;
	r->text_open = r->thought_open = false;
	r->owed = 0;
	memset(r->told, 0, sizeof r->told);
}

static void
react_free(void *arg)
{
	struct react *r = arg;

	answer_drop(r);
	toolbox_free(r->box);
	for (size_t i = 0; i < COMPLETION_CALLS; i++)
		json_decref(r->result[i]);
	watch_free(r->timer);
	json_decref(r->conf.messages);
	json_decref(r->conf.settings);
	run_drop(r->run);
	free(r->session);
	free(r->type);
	free(r->parent);
	free(r);
}

/* Remember what was said, so that the session can go on from here. */
static void
remember(struct react *r)
{
	json_t *added = json_array();
	json_t *m = r->conf.messages;

	if (r->complete && r->said.ncall > 0)
		json_array_append_new(m, completion_message(&r->said));
	else if (r->said.text.len > 0)
		json_array_append_new(m, completion_text(&r->said));
	for (size_t i = 0; i < COMPLETION_CALLS; i++)
		if (r->result[i] != NULL)
			json_array_append_new(m, take_ptr(&r->result[i]));
	talk_close_calls(m, "[interrupted]");
	for (size_t i = r->conf.known; i < json_array_size(m); i++)
		json_array_append(added, json_array_get(m, i));
	r->conf.over(r->conf.arg, added);
	json_decref(added);
}

/* Nothing more happens; what is on the stack may still look at it. */
static void
stop(struct react *r)
{
	if (r->over)
		return;
	r->over = true;
	watch_stop(r->timer);
	span_fail(r->asked, "canceled", NULL);
	span_end(take_ptr(&r->asked));
	for (size_t i = 0; i < COMPLETION_CALLS; i++) {
		span_fail(r->ran[i], "canceled", NULL);
		span_end(take_ptr(&r->ran[i]));
	}
	if (r->call != NULL)
		model_call_cancel(take_ptr(&r->call));
	toolbox_free(take_ptr(&r->box));
	remember(r);
	loop_post(r->conf.loop, react_free, r);
}

static void
tell_usage(struct react *r)
{
	auto_free char *text = NULL;

	if (r->in == 0 && r->out == 0)
		return;
	text = xasprintf("{\"input_tokens\":%lld,\"output_tokens\":%lld,"
			 "\"total_tokens\":%lld}",
	    (long long)r->in, (long long)r->out, (long long)(r->in + r->out));
	run_usage(r->run, (struct slice){ text, strlen(text) });
}

static void
finish(struct react *r, enum run_status status, const char *code,
    const char *why)
{
	struct run *run = r->run;

	if (r->over)
		return;
	tell_usage(r);
	run_hold(run);
	stop(r);
	run_end(run, status, code, why);
	run_drop(run);
}

/* ---- tools ---- */

static void
go_on(void *arg)
{
	struct react *r = arg;
	size_t n = r->said.ncall;

	if (r->over)
		return;
	json_array_append_new(r->conf.messages, completion_message(&r->said));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(r->conf.messages,
		    take_ptr(&r->result[i]));
	answer_drop(r);
	r->step++;
	ask(r);
}

static void
on_tool(void *arg, size_t i, bool failed, const char *text, size_t n)
{
	struct react *r = arg;

	if (failed) /* the text says so to the model */
		span_fail(r->ran[i], "tool_error", NULL);
	span_end(take_ptr(&r->ran[i]));
	r->result[i] = talk_tool_result(r->said.call[i].id, text, n);
	react_tell_output(r, i, text, n);
	if (--r->waits == 0 && !r->over)
		go_on(r);
}

static void
open_box(struct react *r)
{
	const struct toolbox_conf conf = { .loop = r->conf.loop,
		.manager = r->conf.manager,
		.tenant = r->conf.tenant,
		.type = r->type,
		.session = r->session,
		.bits = r->conf.tools,
		.timeout_ms = r->conf.tool_timeout_ms,
		.done = on_tool,
		.arg = r };

	if (r->box == NULL)
		r->box = toolbox_new(&conf);
}

static void
trace_tool(struct react *r, size_t i)
{
	const struct tool_call *t = &r->said.call[i];
	auto_free char *name = xasprintf("execute_tool %s", t->name);

	r->ran[i] = span_begin(r->conf.tracer, r->parent, SPAN_INTERNAL, name);
	span_text(r->ran[i], "gen_ai.operation.name", "execute_tool");
	span_text(r->ran[i], "gen_ai.tool.name", t->name);
	span_text(r->ran[i], "gen_ai.tool.call.id", t->id);
}

static void
run_tools(struct react *r)
{
	size_t n = r->said.ncall;

	for (size_t i = 0; i < n && !r->over; i++) {
		struct tool_call *t = &r->said.call[i];

		react_name_call(r, t, i);
		if (r->told[i] == 0)
			react_open_tool(r, 'c', i, "plugin_call", "assistant");
		react_tool_value(r, 'c', i, "arguments",
		    t->arguments.len > 0 ? t->arguments.at : "{}",
		    t->arguments.len > 0 ? t->arguments.len : 2, true);
		react_close_message(r, 'c', i, RUN_COMPLETED);
	}
	for (size_t i = 0; i < n && !r->over; i++) {
		react_open_tool(r, 'o', i, "plugin_call_output", "tool");
		react_tool_value(r, 'o', i, "output", "", 0, false);
	}
	if (r->over)
		return;
	open_box(r);
	r->waits = n;
	for (size_t i = 0; i < n; i++) {
		trace_tool(r, i);
		toolbox_call(r->box, i, r->said.call[i].name,
		    str_text(&r->said.call[i].arguments),
		    r->said.call[i].arguments.len);
	}
}

/* ---- an answer is over ---- */

static void
add_tokens(struct react *r)
{
	const json_t *u = r->said.usage;

	r->in += json_integer_value(json_object_get(u, "prompt_tokens"));
	r->out += json_integer_value(json_object_get(u, "completion_tokens"));
}

static void
trace_answer(struct react *r)
{
	const json_t *u = r->said.usage;

	if (u != NULL) {
		span_number(r->asked, "gen_ai.usage.input_tokens",
		    json_integer_value(json_object_get(u, "prompt_tokens")));
		span_number(r->asked, "gen_ai.usage.output_tokens",
		    json_integer_value(
			json_object_get(u, "completion_tokens")));
	}
	span_text(r->asked, "hutch.finish_reason", r->said.finish);
	span_end(take_ptr(&r->asked));
}

static void
answered(struct react *r)
{
	r->tries = 0;
	r->complete = true;
	add_tokens(r);
	trace_answer(r);
	react_close_part(r, 'r', &r->thought_open);
	react_close_part(r, 't', &r->text_open);
	if (r->over)
		return;
	if (r->said.ncall > 0 && r->step + 1 >= r->conf.max_steps) {
		finish(r, RUN_INCOMPLETE, "MAX_STEPS",
		    "the agent has used all the steps it may take");
	} else if (r->said.ncall > 0)
		run_tools(r);
	else if (r->said.finish != NULL &&
	    strcmp(r->said.finish, "length") == 0)
		finish(r, RUN_INCOMPLETE, "max_output_tokens",
		    "the model's answer was cut at its bound");
	else
		finish(r, RUN_COMPLETED, NULL, NULL);
}

/* clang-format off */
static const struct {
	unsigned status;
	const char *code;
	bool again;
} statuses[] = {
	{ 401, "MODEL_UNAUTHORIZED_ACCESS", false },
	{ 403, "MODEL_UNAUTHORIZED_ACCESS", false },
	{ 404, "MODEL_NOT_FOUND", false },
	{ 408, "MODEL_TIMEOUT", true },
	{ 413, "MODEL_CONTEXT_LENGTH_EXCEEDED", false },
	{ 429, "MODEL_QUOTA_EXCEEDED", true },
	{ 500, "MODEL_EXECUTION_FAILED", true },
	{ 502, "MODEL_EXECUTION_FAILED", true },
	{ 503, "MODEL_EXECUTION_FAILED", true },
	{ 504, "MODEL_TIMEOUT", true },
	{ 529, "MODEL_EXECUTION_FAILED", true },
};
static const struct {
	enum err_code error;
	const char *code;
	bool again;	/* if no byte has come */
} errors[] = {
	{ ERR_TIMEOUT,	"MODEL_TIMEOUT", true },
	{ ERR_BUSY,	"MODEL_EXECUTION_FAILED", true },
	{ ERR_PROTO,	"MODEL_EXECUTION_FAILED", true },
	{ ERR_MISSING,	"MODEL_NOT_FOUND", false },
};
/* clang-format on */

static void
ask_again(void *arg, int what)
{
	(void)what;
	ask(arg);
}

/* false: it was tried often enough. */
static bool
again(struct react *r)
{
	int64_t ms = (int64_t)RETRY_FIRST_MS << r->tries;

	if (r->tries >= r->conf.retries)
		return false;
	r->tries++;
	if (r->retry_after > 0)
		ms = (int64_t)r->retry_after * 1000;
	if (ms > RETRY_MOST_MS)
		ms = RETRY_MOST_MS;
	answer_drop(r);
	watch_arm(r->timer, ms);
	return true;
}

static bool
too_long(const char *body)
{
	static const char *const signs[] = { "context_length_exceeded",
		"maximum context length", "context window" };

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strstr(body, signs[i]) != NULL)
			return true;
	return false;
}

static void
refused(struct react *r)
{
	const char *code = "MODEL_EXECUTION_FAILED";
	auto_free char *said =
	    completion_error(str_text(&r->body), r->body.len);
	auto_free char *why =
	    xasprintf("the model answered %u: %s", r->status, said);
	bool once_more = false;

	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (statuses[i].status == r->status) {
			code = statuses[i].code;
			once_more = statuses[i].again;
		}
	if (r->status == 400 && too_long(str_text(&r->body)))
		code = "MODEL_CONTEXT_LENGTH_EXCEEDED";
	span_fail(r->asked, code, why);
	span_end(take_ptr(&r->asked));
	if (!once_more || !again(r))
		finish(r, RUN_FAILED, code, why);
}

static void
failed(struct react *r, const struct err *err)
{
	const char *code = "MODEL_EXECUTION_FAILED";
	auto_free char *why = xasprintf("the model: %s", err->text);
	bool once_more = false;

	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].error == err->code) {
			code = errors[i].code;
			once_more = errors[i].again && !r->some;
		}
	span_fail(r->asked, code, why);
	span_end(take_ptr(&r->asked));
	if (!once_more || !again(r))
		finish(r, RUN_FAILED, code, why);
}

/* ---- the model's bytes ---- */

static int
on_event(void *arg, const char *name, const char *data, size_t n,
    struct err *err)
{
	struct react *r = arg;

	(void)name;
	if (completion_chunk(&r->said, data, n, err) < 0)
		return -1;
	return r->over ? err_set(err, ERR_BUSY, "over") : 0;
}

static void
on_head(void *arg, unsigned status, unsigned retry_after)
{
	struct react *r = arg;

	r->status = status;
	r->retry_after = retry_after;
}

static void
keep_body(struct react *r, const uint8_t *bytes, size_t n, size_t most)
{
	size_t room = most - r->body.len;

	str_add(&r->body, bytes, n < room ? n : room);
}

static void
on_bytes(void *arg, const uint8_t *bytes, size_t n)
{
	struct react *r = arg;

	if (r->status != 200) {
		keep_body(r, bytes, n, ERROR_BODY);
	} else {
		if (!r->some) /* an event stream never begins so */
			r->whole = memchr("{[ \n\t", bytes[0], 5) != NULL;
		r->some = true;
		if (r->whole)
			keep_body(r, bytes, n, WHOLE_MOST);
		else if (!r->broken &&
		    sse_in_feed(&r->sse, bytes, n, on_event, r, &r->bad) < 0)
			r->broken = true;
	}
	if (r->over)
		return;
	if (r->broken) {
		model_call_cancel(take_ptr(&r->call));
		failed(r, &r->bad);
		return;
	}
	if (r->paused)
		r->owed += n;
	else
		model_call_took(r->call, n);
}

static int
last_words(struct react *r, struct err *err)
{
	if (r->whole)
		return completion_whole(&r->said, str_text(&r->body),
		    r->body.len, err);
	return sse_in_end(&r->sse, on_event, r, err);
}

static void
on_done(void *arg, const struct err *why)
{
	struct react *r = arg;
	struct err err;

	r->call = NULL;
	if (why != NULL) {
		failed(r, why);
		return;
	}
	if (r->status != 200) {
		refused(r);
		return;
	}
	if (last_words(r, &err) < 0) {
		if (!r->over)
			failed(r, &err);
		return;
	}
	if (r->over)
		return;
	/* A stream that ends without saying why has been cut. */
	if (!r->said.done && r->said.finish == NULL) {
		err_set(&err, ERR_PROTO, "its answer ended in the middle");
		failed(r, &err);
		return;
	}
	answered(r);
}

static const struct model_call_ops model_ops = { on_head, on_bytes, on_done };

static char *
request_of(struct react *r)
{
	json_t *all = json_copy(r->conf.settings);
	char *text;

	json_object_set(all, "messages", r->conf.messages);
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

static void
trace_ask(struct react *r)
{
	const char *model =
	    json_string_value(json_object_get(r->conf.settings, "model"));
	auto_free char *name = xasprintf("chat %s", model);

	r->asked = span_begin(r->conf.tracer, r->parent, SPAN_CLIENT, name);
	span_text(r->asked, "gen_ai.operation.name", "chat");
	span_text(r->asked, "gen_ai.provider.name", r->conf.model);
	span_text(r->asked, "gen_ai.request.model", model);
}

static void
ask(struct react *r)
{
	auto_free char *body = request_of(r);
	struct model_want w = { .op = MODEL_CHAT,
		.name = r->conf.model,
		.body = body,
		.ops = &model_ops,
		.arg = r };
	struct err err;

	completion_init(&r->said, &react_said, r);
	trace_ask(r);
	w.traceparent = span_traceparent(r->asked);
	r->status = 0;
	w.nbody = body != NULL ? strlen(body) : 0;
	r->call =
	    body != NULL ? model_call_start(r->conf.models, &w, &err) : NULL;
	if (r->call != NULL)
		return;
	if (body == NULL)
		err_set(&err, ERR_INVALID, "the conversation can't be written");
	failed(r, &err);
}

/* ---- the run's side ---- */

static void
cancel(void *arg, struct run *run)
{
	(void)run;
	stop(arg);
}

static void
pause_(void *arg, struct run *run, bool on)
{
	struct react *r = arg;

	(void)run;
	r->paused = on;
	if (on || r->call == NULL || r->owed == 0)
		return;
	model_call_took(r->call, r->owed);
	r->owed = 0;
}

static const struct source source = { cancel, pause_ };

static void
begin(void *arg)
{
	struct react *r = arg;

	if (!r->over)
		ask(r);
}

void
react_start(const struct react_conf *conf, struct run *run)
{
	struct react *r = xcalloc(1, sizeof *r);

	r->conf = *conf;
	r->session = xstrdup(conf->session);
	r->type = conf->type != NULL ? xstrdup(conf->type) : NULL;
	r->parent =
	    conf->traceparent != NULL ? xstrdup(conf->traceparent) : NULL;
	r->run = run;
	run_hold(run);
	r->timer = watch_timer(conf->loop, ask_again, r);
	completion_init(&r->said, &react_said, r);
	run_start(run, &source, r);
	loop_post(conf->loop, begin, r);
}
