/* A2A: the same run as a 0.3 and a 1.0 client is told of it. */
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/a2a_shape.h"
#include "engine/ask_a2a.h"
#include "engine/reply.h"
#include "engine/reply_a2a.h"
#include "json/jtext.h"
#include "tests/unit/engine_fixture.h"

static json_t *
parsed(const char *text)
{
	struct err err;
	json_t *v = jtext_read(text, strlen(text), NULL, &err);

	if (v == NULL)
		fail_msg("%s: %s", err.text, text);
	return v;
}

/* Times are the clock's: they become T. */
static void
timeless(struct str *text)
{
	static const char name[] = "\"timestamp\":\"";
	char *at = text->at;

	while (at != NULL && (at = strstr(at, name)) != NULL) {
		at += strlen(name);
		assert_int_equal(strcspn(at, "\""), 24);
		assert_int_equal(at[23], 'Z');
		memmove(at + 1, at + 24, strlen(at + 24) + 1);
		*at = 'T';
	}
	text->len = strlen(str_text(text));
}

static void
streams(struct bench *b, const char *prefix, const char *const *want)
{
	auto_str struct str have = { 0 };
	const char *at;

	bench_read(b, &have);
	timeless(&have);
	at = str_text(&have);
	for (; *want != NULL; want++) {
		auto_str struct str line = { 0 };

		str_printf(&line, "data: %s%s}\n\n", prefix, *want);
		if (strncmp(at, line.at, line.len) != 0)
			fail_msg("wanted %shave %.400s", line.at, at);
		at += line.len;
	}
	assert_string_equal(at, "");
}

static void
open_run(struct bench *b, bool modern)
{
	struct a2a_arg arg = { .modern = modern,
		.id = "7",
		.task = "T1",
		.message = parsed("{\"kind\":\"message\",\"messageId\":\"u1\","
				  "\"role\":\"user\",\"parts\":[{\"kind\":"
				  "\"text\",\"text\":\"hi\"}]}"),
		.history = -1 };

	bench_open_arg(b, &reply_a2a, &arg);
	json_decref(arg.message);
}

#define PREFIX "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":"
#define IDS "\"taskId\":\"T1\",\"contextId\":\"S\""
#define ASKED                                                                  \
	"{\"kind\":\"message\",\"messageId\":\"u1\",\"role\":\"user\","        \
	"\"parts\":[{\"kind\":\"text\",\"text\":\"hi\"}]," IDS "}"
#define ASKED_1                                                                \
	"{\"messageId\":\"u1\",\"role\":\"ROLE_USER\",\"parts\":"              \
	"[{\"text\":\"hi\"}]," IDS "}"
#define STATUS(state, more, last)                                              \
	"{\"kind\":\"status-update\"," IDS ",\"status\":{\"state\":\"" state   \
	"\",\"timestamp\":\"T\"" more "},\"final\":" last "}"
#define STATUS_1(state, more)                                                  \
	"{\"statusUpdate\":{" IDS ",\"status\":{\"state\":\"TASK_STATE_" state \
	"\",\"timestamp\":\"T\"" more "}}}"
#define PIECE(id, part, append, last)                                          \
	"{\"kind\":\"artifact-update\"," IDS                                   \
	",\"artifact\":{\"artifactId\":\"" id                                  \
	"\",\"name\":\"response\",\"parts\":[" part "]},\"append\":" append    \
	",\"lastChunk\":" last "}"
#define PIECE_1(id, part, append, last)                                        \
	"{\"artifactUpdate\":{" IDS ",\"artifact\":{\"artifactId\":\"" id      \
	"\",\"name\":\"response\",\"parts\":[" part "]},\"append\":" append    \
	",\"lastChunk\":" last "}}"
#define TEXT(text) "{\"kind\":\"text\",\"text\":\"" text "\"}"
#define TEXT_1(text) "{\"text\":\"" text "\"}"

static void
script(struct bench *b)
{
	bench_say(b, "\"text\":\"Hel\"");
	bench_say(b, "\"text\":\"lo\"");
	bench_say(b, "\"object\":\"message\",\"status\":\"completed\"");
	bench_say(b,
	    "\"object\":\"message\",\"id\":\"c\",\"type\":\"plugin_call\"");
	bench_say(b,
	    "\"object\":\"content\",\"msg_id\":\"c\",\"type\":\"data\","
	    "\"data\":{\"call_id\":\"1\",\"name\":\"f\",\"arguments\":\"\"},"
	    "\"status\":\"completed\"");
	bench_say(b,
	    "\"object\":\"message\",\"id\":\"c\",\"status\":\"completed\"");
	bench_say(b,
	    "\"object\":\"content\",\"msg_id\":\"p\",\"type\":\"image\","
	    "\"image_url\":\"http://h/p.png\",\"status\":\"completed\"");
	bench_say(b, "\"op\":\"end\",\"status\":\"completed\"");
}

#define DATA "{\"call_id\":\"1\",\"name\":\"f\",\"arguments\":\"\"}"
#define CALL                                                                   \
	"{\"kind\":\"message\",\"messageId\":\"msg_2\",\"role\":\"agent\","    \
	"\"parts\":[{\"kind\":\"data\",\"data\":" DATA "}]," IDS               \
	",\"metadata\":{\"type\":\"plugin_call\"}}"
#define CALL_1                                                                 \
	"{\"messageId\":\"msg_2\",\"role\":\"ROLE_AGENT\",\"parts\":"          \
	"[{\"data\":" DATA "}]," IDS                                           \
	",\"metadata\":{\"type\":\"plugin_call\"}}"

static void
old_stream(void **unused)
{
	static const char *const want[] = {
		"{\"kind\":\"task\",\"id\":\"T1\",\"contextId\":\"S\","
		"\"status\":{\"state\":\"submitted\",\"timestamp\":\"T\"},"
		"\"history\":[" ASKED "],\"artifacts\":[]}",
		STATUS("working", "", "false"),
		PIECE("msg_1", TEXT("Hel"), "false", "false"),
		PIECE("msg_1", TEXT("lo"), "true", "false"),
		PIECE("msg_1", TEXT(""), "true", "true"),
		STATUS("working", ",\"message\":" CALL, "false"),
		PIECE("msg_3",
		    "{\"kind\":\"file\",\"file\":{\"uri\":"
		    "\"http://h/p.png\"}}",
		    "false", "false"),
		PIECE("msg_3", TEXT(""), "true", "true"),
		STATUS("completed", "", "true"), NULL
	};
	struct bench b;

	(void)unused;
	open_run(&b, false);
	script(&b);
	streams(&b, PREFIX, want);
	bench_close(&b);
}

static void
new_stream(void **unused)
{
	static const char *const want[] = {
		"{\"task\":{\"id\":\"T1\",\"contextId\":\"S\","
		"\"status\":{\"state\":\"TASK_STATE_SUBMITTED\","
		"\"timestamp\":\"T\"},\"history\":[" ASKED_1
		"],\"artifacts\":[]}}",
		STATUS_1("WORKING", ""),
		PIECE_1("msg_1", TEXT_1("Hel"), "false", "false"),
		PIECE_1("msg_1", TEXT_1("lo"), "true", "false"),
		PIECE_1("msg_1", TEXT_1(""), "true", "true"),
		STATUS_1("WORKING", ",\"message\":" CALL_1),
		PIECE_1("msg_3", "{\"url\":\"http://h/p.png\"}", "false",
		    "false"),
		PIECE_1("msg_3", TEXT_1(""), "true", "true"),
		STATUS_1("COMPLETED", ""), NULL
	};
	struct bench b;

	(void)unused;
	open_run(&b, true);
	script(&b);
	streams(&b, PREFIX, want);
	bench_close(&b);
}

/* The whole: what the pieces add up to; and a second run on top of it. */
static void
whole(void **unused)
{
	auto_str struct str have = { 0 };
	const struct reply *r;
	json_t *task, *history, *artifacts;
	struct a2a_arg arg = { .id = "\"x\"", .task = "T1", .history = 1 };
	struct bench b, c;

	(void)unused;
	open_run(&b, true);
	script(&b);
	r = run_reply(b.run);
	r->kind->whole(r, &have);
	assert_non_null(strstr(have.at, "\"parts\":[{\"text\":\"Hello\"}]"));
	assert_memory_equal(have.at, PREFIX "{\"task\":", strlen(PREFIX) + 8);
	task = a2a_task(r);
	history = json_object_get(task, "history");
	assert_int_equal(json_array_size(history), 2);
	arg.base = task;
	arg.message = parsed("{\"kind\":\"message\",\"messageId\":\"u2\","
			     "\"role\":\"user\",\"parts\":[]}");
	bench_open_arg(&c, &reply_a2a, &arg);
	json_decref(arg.message);
	json_decref(task);
	bench_say(&c, "\"text\":\"again\"");
	task = a2a_task(run_reply(c.run));
	assert_int_equal(json_array_size(json_object_get(task, "history")), 3);
	artifacts = json_object_get(task, "artifacts");
	assert_int_equal(json_array_size(artifacts), 3);
	a2a_trim(task, 1, false);
	assert_null(json_object_get(task, "artifacts"));
	history = json_object_get(task, "history");
	assert_int_equal(json_array_size(history), 1);
	assert_string_equal(json_string_value(
				json_object_get(json_array_get(history, 0),
				    "messageId")),
	    "u2");
	a2a_trim(task, 0, true);
	assert_null(json_object_get(task, "history"));
	json_decref(task);
	bench_close(&b);
	bench_close(&c);
}

static void
ends(void **unused)
{
	static const struct {
		const char *say, *state, *text;
	} cases[] = {
		{ "\"op\":\"end\",\"status\":\"failed\",\"error\":{\"code\":"
		  "\"X\",\"message\":\"no way\"}",
		    "failed", "no way" },
		{ "\"op\":\"end\",\"status\":\"canceled\"", "canceled", NULL },
		{ "\"op\":\"end\",\"status\":\"rejected\"", "rejected", NULL },
		{ "\"op\":\"end\",\"status\":\"incomplete\"", "failed", NULL },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench b;
		json_t *task, *status, *parts;

		open_run(&b, false);
		bench_say(&b, "\"text\":\"half\"");
		bench_say(&b, cases[i].say);
		task = a2a_task(run_reply(b.run));
		status = json_object_get(task, "status");
		assert_string_equal(json_string_value(
					json_object_get(status, "state")),
		    cases[i].state);
		assert_true(a2a_is_final(cases[i].state));
		parts = json_object_get(json_object_get(status, "message"),
		    "parts");
		if (cases[i].text != NULL)
			assert_string_equal(json_string_value(json_object_get(
						json_array_get(parts, 0),
						"text")),
			    cases[i].text);
		json_decref(task);
		bench_close(&b);
	}
}

/* A question at the end leaves the task open. */
static void
asks(void **unused)
{
	struct bench b;

	(void)unused;
	open_run(&b, true);
	bench_say(&b,
	    "\"object\":\"content\",\"msg_id\":\"a\",\"type\":\"text\","
	    "\"text\":\"Which?\",\"status\":\"completed\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"a\",\"status\":\"completed\","
	    "\"metadata\":{\"input_required\":true}");
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	assert_string_equal(a2a_task_state(run_reply(b.run)), "input-required");
	assert_false(a2a_is_final("input-required"));
	bench_close(&b);
}

/* ---- shapes, and what is asked ---- */

static void
same(const json_t *have, const char *want)
{
	auto_str struct str text = { 0 };

	jtext_write(&text, have);
	assert_string_equal(str_text(&text), want);
}

static void
shapes(void **unused)
{
	json_t *in = parsed(
	    "{\"message\":{\"role\":\"ROLE_AGENT\",\"messageId\":\"1\","
	    "\"parts\":[{\"text\":\"t\"},{\"data\":[1]},{\"raw\":\"QQ==\","
	    "\"mediaType\":\"image/png\",\"filename\":\"a\"}]},"
	    "\"configuration\":{\"returnImmediately\":true,"
	    "\"taskPushNotificationConfig\":{\"url\":\"u\",\"authentication\":"
	    "{\"scheme\":\"Bearer\",\"credentials\":\"c\"}}}}");
	json_t *legacy = a2a_legacy_params(in), *push, *modern;

	(void)unused;
	same(json_object_get(legacy, "message"),
	    "{\"role\":\"agent\",\"messageId\":\"1\",\"parts\":["
	    "{\"kind\":\"text\",\"text\":\"t\"},"
	    "{\"kind\":\"data\",\"data\":{\"value\":[1]}},"
	    "{\"kind\":\"file\",\"file\":{\"bytes\":\"QQ==\",\"name\":\"a\","
	    "\"mimeType\":\"image/png\"}}],\"kind\":\"message\"}");
	push = json_object_get(legacy, "configuration");
	assert_true(json_is_false(json_object_get(push, "blocking")));
	modern = a2a_modern_push(push);
	same(modern,
	    "{\"url\":\"u\",\"authentication\":{\"scheme\":\"Bearer\","
	    "\"credentials\":\"c\"}}");
	json_decref(modern);
	modern = a2a_modern(json_object_get(legacy, "message"));
	same(modern,
	    "{\"role\":\"ROLE_AGENT\",\"messageId\":\"1\",\"parts\":["
	    "{\"text\":\"t\"},{\"data\":{\"value\":[1]}},"
	    "{\"raw\":\"QQ==\",\"filename\":\"a\",\"mediaType\":"
	    "\"image/png\"}]}");
	json_decref(modern);
	assert_string_equal(a2a_state("TASK_STATE_AUTH_REQUIRED"),
	    "auth-required");
	assert_string_equal(a2a_state("TASK_STATE_UNSPECIFIED"), "unknown");
	assert_null(a2a_state("running"));
	json_decref(in);
	json_decref(legacy);
}

#define M "{\"message\":{\"messageId\":\"1\",\"role\":\"user\","

static void
asked(void **unused)
{
	static const char *const bad[] = { "{}", "[]", "{\"message\":1}",
		"{\"message\":{\"kind\":\"message\"}}",
		M "\"parts\":[{\"kind\":\"text\"}]}}",
		M "\"parts\":[{\"kind\":\"x\",\"x\":1}]}}",
		M "\"parts\":[{\"file\":{}}]}}", M "\"parts\":[1]}}",
		M "\"parts\":[{\"text\":\"\"}],\"taskId\":1}}",
		M "\"parts\":[{\"text\":\"\"}]},\"configuration\":"
		  "{\"historyLength\":-1}}" };
	struct a2a_ask ask;
	json_t *p = parsed(
	    M "\"contextId\":\"C\",\"taskId\":\"\",\"metadata\":{\"user_id\":"
	      "\"u\"},\"parts\":[{\"text\":\"a\"},{\"file\":{\"uri\":\"http://h"
	      "/x\",\"mimeType\":\"image/png\"}},{\"data\":{\"b\":1}}]},"
	      "\"configuration\":{\"blocking\":false,\"historyLength\":2}}");
	auto_str struct str wrong = { 0 };

	(void)unused;
	assert_int_equal(ask_a2a(p, true, &ask, &wrong), 0);
	same(ask.request,
	    "{\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":["
	    "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\","
	    "\"image_url\":\"http://h/x\"},{\"type\":\"data\",\"data\":"
	    "{\"b\":1}}],\"id\":\"1\",\"metadata\":{\"user_id\":\"u\"}}],"
	    "\"stream\":true,\"user_id\":\"u\",\"session_id\":\"C\"}");
	assert_string_equal(ask.context, "C");
	assert_null(ask.task);
	assert_false(ask.blocking);
	assert_int_equal(ask.history, 2);
	json_decref(ask.request);
	json_decref(ask.message);
	json_decref(p);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		auto_str struct str why = { 0 };

		p = parsed(bad[i]);
		assert_int_equal(ask_a2a(p, false, &ask, &why), -1);
		assert_memory_equal(why.at, "{\"field\":\"", 10);
		json_decref(p);
	}
	/* no parts at all: 0.3 has no bound, 1.0 has */
	p = parsed(M "\"parts\":[]}}");
	assert_int_equal(ask_a2a(p, true, &ask, &wrong), -1);
	str_cut(&wrong, 0);
	assert_int_equal(ask_a2a(p, false, &ask, &wrong), 0);
	json_decref(ask.request);
	json_decref(ask.message);
	json_decref(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_stream),
		cmocka_unit_test(new_stream),
		cmocka_unit_test(whole),
		cmocka_unit_test(ends),
		cmocka_unit_test(asks),
		cmocka_unit_test(shapes),
		cmocka_unit_test(asked),
	};

	return cmocka_run_group_tests_name("a2a", tests, NULL, NULL);
}
