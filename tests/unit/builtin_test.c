/* The built-in agent: the scripted model on one side, fake agents on the
 * other. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "engine/builtin.h"
#include "engine/model_client.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "engine/services.h"
#include "model/post.h"
#include "model/serve.h"
#include "model/endpoint.h"
#include "tests/unit/manager_fixture.h"
#include "wire/model.h"

static struct {
	struct poster *poster;
	struct endpoints table;
	struct serve *serve;
	struct model_client *models;
	struct builtin *agent;
	struct conf_agent *conf;
} b;

static void
serve_gone(void *arg, struct serve *s)
{
	(void)arg;
	serve_free(s);
	b.serve = NULL;
}

static void
connect_model(void)
{
	const struct serve_conf conf = { .loop = t.loop,
		.poster = b.poster,
		.table = &b.table,
		.gone = serve_gone };
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	b.serve = serve_new(&conf, fd[0]);
	model_client_attach(b.models, fd[1]);
}

static int
setup(void **unused)
{
	struct err err;

	(void)unused;
	begin();
	assert_int_equal(conf_set(t.config, "agent a", "max_steps", "4", &err),
	    0);
	assert_int_equal(conf_check(t.config, &err), 0);
	start_manager();
	memset(&b, 0, sizeof b);
	assert_int_equal(endpoints_read(&b.table,
			     "model stub\nurl stub:\ntimeout 5\nstall 5\n"
			     "most 8\n",
			     &err),
	    0);
	b.conf = &t.config->agent[0];
	t.config->model[0].retries = 0;
	b.poster = poster_new(t.loop);
	b.models = model_client_new(t.loop, NULL);
	connect_model();
	b.agent = builtin_new(&(struct builtin_conf){ .loop = t.loop,
	    .manager = t.m,
	    .models = b.models,
	    .config = t.config,
	    .agent = b.conf });
	return 0;
}

static int
teardown(void **unused)
{
	(void)unused;
	builtin_free(b.agent);
	model_client_free(b.models);
	if (b.serve != NULL)
		serve_free(b.serve);
	drive_for(t.loop, 1); /* what was posted */
	poster_free(b.poster);
	endpoints_free(&b.table);
	end();
	return 0;
}

/* ---- the stream to the model's process ---- */

static void
nothing_from_a_client_ends_the_stream(void **unused)
{
	static const char secret[] = "Bearer s3cr3t-s3cr3t";
	struct model_want w = { .op = MODEL_PUSH, .name = "" };
	const char *const bad[] = { "a\nb", "a\rb", "\x7f", "\t" };
	char long_one[2000] = "";
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		w.url = bad[i], w.token = w.auth = NULL;
		assert_null(model_call_start(b.models, &w, &err));
		w.token = bad[i], w.url = w.auth = NULL;
		assert_null(model_call_start(b.models, &w, &err));
		w.auth = bad[i], w.url = w.token = NULL;
		assert_null(model_call_start(b.models, &w, &err));
		assert_int_equal(err.code, ERR_INVALID);
	}
	/* What does not fit is not shown: it ends in the log. */
	memset(long_one, 'x', sizeof long_one - 1);
	memcpy(long_one, secret, sizeof secret - 1);
	w.auth = long_one;
	assert_null(model_call_start(b.models, &w, &err));
	assert_null(strstr(err.text, "s3cr3t"));
	drive_for(t.loop, 20);
	assert_non_null(b.serve);
}

/* ---- one run ---- */

struct one {
	struct run *run;
	bool ended;
	json_t *whole;
};

static void
run_ended(void *arg, struct run *run)
{
	struct one *o = arg;

	(void)run;
	o->ended = true;
}

static void
ask(struct one *o, const char *session, const char *text)
{
	json_t *request = json_pack("{s[{ss,s[{ss,ss}]}]}", "input", "role",
	    "user", "content", "type", "text", "text", text);
	const struct run_conf conf = { .session_id = session,
		.user_id = "u",
		.agent = "a",
		.reply = &reply_native,
		.ended = run_ended,
		.arg = o };

	*o = (struct one){ 0 };
	o->run = run_new(&conf);
	builtin_run(b.agent, o->run, 0, request);
	json_decref(request);
}

static json_t *
finish(struct one *o)
{
	auto_str struct str whole = { 0 };
	const struct reply *reply = run_reply(o->run);

	assert_true(drive_flag(t.loop, &o->ended));
	reply->kind->whole(reply, &whole);
	o->whole = json_loadb(whole.at, whole.len, 0, NULL);
	assert_non_null(o->whole);
	return o->whole;
}

static void
drop(struct one *o)
{
	json_decref(o->whole);
	run_drop(o->run);
}

static const char *
text_at(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

/* "type:text|type:text": data parts by what they hold. */
static char *
output(const json_t *whole)
{
	const json_t *all = json_object_get(whole, "output"), *m;
	struct str out = { 0 };
	size_t i;

	json_array_foreach(all, i, m) {
		const json_t *part =
		    json_array_get(json_object_get(m, "content"), 0);
		const json_t *data = json_object_get(part, "data");

		str_printf(&out, "%s%s:", i > 0 ? "|" : "", text_at(m, "type"));
		if (data == NULL)
			str_puts(&out, text_at(part, "text"));
		else if (text_at(data, "output") != NULL)
			str_puts(&out, text_at(data, "output"));
		else
			str_printf(&out, "%s %s", text_at(data, "name"),
			    text_at(data, "arguments"));
	}
	return str_take(&out);
}

static void
answers(const char *session, const char *text, const char *want)
{
	struct one o;
	auto_free char *got = NULL;

	ask(&o, session, text);
	got = output(finish(&o));
	assert_string_equal(got, want);
	assert_string_equal(text_at(o.whole, "status"), "completed");
	drop(&o);
}

static void
fails(const char *text, const char *code)
{
	struct one o;

	ask(&o, "s", text);
	finish(&o);
	assert_string_equal(text_at(o.whole, "status"), "failed");
	assert_string_equal(text_at(json_object_get(o.whole, "error"), "code"),
	    code);
	drop(&o);
}

/* ---- what it does ---- */

static void
it_says_what_the_model_says(void **unused)
{
	struct one o;
	const json_t *usage;

	(void)unused;
	answers("s1", "hello", "message:You said: hello");
	answers("s2", "think about tea",
	    "reasoning:About tea: one could say much.|message:I have thought "
	    "about it.");
	b.conf->reasoning = false;
	answers("s3", "think about tea", "message:I have thought about it.");
	ask(&o, "s4", "hi");
	usage = json_object_get(finish(&o), "usage");
	assert_true(
	    json_integer_value(json_object_get(usage, "input_tokens")) > 0);
	assert_int_equal(json_integer_value(
			     json_object_get(usage, "output_tokens")),
	    3);
	drop(&o);
}

#define SAID(text) "[{\"type\": \"text\", \"text\": \"" text "\"}]"

static void
tools_run_and_the_model_hears_of_it(void **unused)
{
	(void)unused;
	answers("s", "run echo",
	    "reasoning:A tool can tell.|plugin_call:run_shell_command "
	    "{\"command\":\"echo\"}|plugin_call_output:" SAID(
		"ran: echo") "|message:It printed:\nran: echo");
	until_count(1);
	/* The same sandbox. */
	answers("s", "python 1",
	    "reasoning:A tool can tell.|plugin_call:run_ipython_cell "
	    "{\"code\":\"1\"}|plugin_call_output:" SAID(
		"cell: 1") "|message:It printed:\ncell: 1");
	until_count(1);
	/* Another session, another one. */
	answers("s2", "run x",
	    "reasoning:A tool can tell.|plugin_call:run_shell_command "
	    "{\"command\":\"x\"}|plugin_call_output:" SAID(
		"ran: x") "|message:It printed:\nran: x");
	until_count(2);
}

static void
calls_at_once_are_answered_in_their_order(void **unused)
{
	(void)unused;
	answers("s",
	    "script: call run_shell_command {\"command\":\"a\"} ;; "
	    "call run_shell_command {\"command\":\"exit 3\"} ;; "
	    "call nothing ;; call run_shell_command {\"command\":7} ;; "
	    "call run_ipython_cell {\"code\" ;; then ;; say $out",
	    "plugin_call:run_shell_command {\"command\":\"a\"}|"
	    "plugin_call:run_shell_command {\"command\":\"exit 3\"}|"
	    "plugin_call:nothing {}|"
	    "plugin_call:run_shell_command {\"command\":7}|"
	    "plugin_call:run_ipython_cell {\"code\"|"
	    "plugin_call_output:" SAID(
		"Error: there is no tool nothing") "|plu"
						   "gin_"
						   "call"
						   "_out"
						   "put"
						   ":" SAID(
						       "Error: the "
						       "argument "
						       "\\\"command\\\" "
						       "has to be a "
						       "string") "|plugin_"
								 "call_"
								 "output"
								 ":" SAID(
								     "Error: "
								     "the "
								     "arguments"
								     " are not "
								     "a JSON "
								     "object") "|plugin_call_output:" SAID("ran: a") "|plugin_call_output:" SAID("[exit status 3]") "|message:ran: a\n[exit status 3]\nError: there is no tool "
																				    "nothing\nError: the argument \"command\" has to be a string\n"
																				    "Error: the arguments are not a JSON object");
}

static void
it_remembers_the_session(void **unused)
{
	(void)unused;
	answers("s", "my name is Ada", "message:Nice to meet you, Ada.");
	answers("s", "what is my name", "message:Your name is Ada.");
	answers("other", "what is my name", "message:You have not told me.");
	strcpy(b.conf->memory, "none");
	answers("s", "what is my name", "message:You have not told me.");
}

static void
what_it_remembers_outlives_the_process(void **unused)
{
	auto_free char *path = xasprintf("%s/services.db", t.path);
	const struct services_conf conf = { .loop = t.loop,
		.manager = t.m,
		.config = t.config,
		.path = path };
	struct err err;

	(void)unused;
	for (int life = 0; life < 2; life++) {
		struct services *s = services_new(&conf, &err);

		assert_non_null(s);
		builtin_free(b.agent);
		b.agent = builtin_new(&(struct builtin_conf){ .loop = t.loop,
		    .manager = t.m,
		    .models = b.models,
		    .config = t.config,
		    .agent = b.conf,
		    .memory = &builtin_history,
		    .memory_arg = s });
		if (life == 0)
			answers("s", "my name is Ada",
			    "message:Nice to meet you, Ada.");
		else
			answers("s", "what is my name",
			    "message:Your name is Ada.");
		answers("other", "what is my name",
		    "message:You have not told me.");
		/* A tenant's room is bounded; the agent answers all the same. */
		t.config->services_max = life == 0 ? t.config->services_max : 1;
		services_free(s);
	}
}

static void
failures_have_their_codes(void **unused)
{
	static const struct {
		const char *text, *code;
	} rows[] = {
		{ "script: fail 401", "MODEL_UNAUTHORIZED_ACCESS" },
		{ "script: fail 404", "MODEL_NOT_FOUND" },
		{ "script: fail 429", "MODEL_QUOTA_EXCEEDED" },
		{ "script: fail 400 maximum context length",
		    "MODEL_CONTEXT_LENGTH_EXCEEDED" },
		{ "script: fail 500", "MODEL_EXECUTION_FAILED" },
		{ "script: say half ;; cut", "MODEL_EXECUTION_FAILED" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		fails(rows[i].text, rows[i].code);
	/* The session is usable all the same. */
	answers("s", "hello", "message:You said: hello");
}

static void
what_is_refused_for_now_is_asked_again(void **unused)
{
	(void)unused;
	t.config->model[0].retries = 1;
	answers("s", "script: flaky 1 503 ;; say done", "message:done");
	fails("script: flaky 2 503 ;; say never", "MODEL_EXECUTION_FAILED");
}

static void
it_takes_no_more_steps_than_it_may(void **unused)
{
	struct one o;

	(void)unused;
	ask(&o, "s",
	    "script: call run_shell_command {\"command\":\"a\"} ;; then ;; "
	    "call run_shell_command {\"command\":\"b\"} ;; then ;; "
	    "call run_shell_command {\"command\":\"c\"} ;; then ;; "
	    "call run_shell_command {\"command\":\"d\"} ;; then ;; say no");
	finish(&o);
	assert_string_equal(text_at(o.whole, "status"), "incomplete");
	drop(&o);
}

static bool
tool_runs(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < fakebroker_count(t.fb); i++)
		if (fakeagent_calls(fakebroker_box(t.fb, i)->agent) > 0)
			return true;
	return false;
}

static void
a_run_is_stopped_at_any_moment(void **unused)
{
	struct one o;

	(void)unused;
	/* While the model speaks. */
	ask(&o, "s", "script: pace 5 ;; endless on ");
	drive_for(t.loop, 50);
	run_stop(o.run, RUN_CANCELED, NULL, NULL);
	assert_true(o.ended);
	finish(&o);
	assert_string_equal(text_at(o.whole, "status"), "canceled");
	drop(&o);
	/* While a tool runs. */
	ask(&o, "s", "run hang");
	assert_true(drive(t.loop, tool_runs, NULL, 5000));
	run_stop(o.run, RUN_CANCELED, NULL, NULL);
	assert_true(o.ended);
	drop(&o);
	/* Before anything. */
	ask(&o, "s", "hello");
	run_stop(o.run, RUN_CANCELED, NULL, NULL);
	assert_true(o.ended);
	drop(&o);
	answers("s", "script: say $step", "message:0");
}

static void
hutch_model_may_die(void **unused)
{
	struct one o;

	(void)unused;
	ask(&o, "s", "script: pace 5 ;; endless on ");
	drive_for(t.loop, 30);
	serve_free(b.serve);
	b.serve = NULL;
	finish(&o);
	assert_string_equal(text_at(o.whole, "status"), "failed");
	drop(&o);
	ask(&o, "s", "hello"); /* waits for a new stream */
	drive_for(t.loop, 20);
	assert_false(o.ended);
	connect_model();
	finish(&o);
	assert_string_equal(text_at(o.whole, "status"), "completed");
	drop(&o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_from_a_client_ends_the_stream),
		TEST(it_says_what_the_model_says),
		TEST(tools_run_and_the_model_hears_of_it),
		TEST(calls_at_once_are_answered_in_their_order),
		TEST(it_remembers_the_session),
		TEST(what_it_remembers_outlives_the_process),
		TEST(failures_have_their_codes),
		TEST(what_is_refused_for_now_is_asked_again),
		TEST(it_takes_no_more_steps_than_it_may),
		TEST(a_run_is_stopped_at_any_moment),
		TEST(hutch_model_may_die),
	};

	return cmocka_run_group_tests_name("builtin", tests, NULL, NULL);
}
