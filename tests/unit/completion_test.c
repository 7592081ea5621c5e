/* What a model's endpoint sends, read: events, chunks, a conversation. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/completion.h"
#include "engine/sse_in.h"
#include "engine/talk.h"

/* ---- events ---- */

static int
note(void *arg, const char *name, const char *data, size_t n, struct err *err)
{
	(void)err;
	assert_int_equal(strlen(data), n);
	str_printf(arg, "%s<%s>", name, data);
	return 0;
}

static void
events_are(const char *stream, const char *want)
{
	size_t n = strlen(stream);

	for (size_t step = 1; step <= n; step++) {
		struct sse_in in = { 0 };
		auto_str struct str out = { 0 };
		struct err err;

		for (size_t at = 0; at < n; at += step)
			assert_int_equal(sse_in_feed(&in, stream + at,
					     n - at < step ? n - at : step,
					     note, &out, &err),
			    0);
		assert_int_equal(sse_in_end(&in, note, &out, &err), 0);
		assert_string_equal(str_text(&out), want);
		sse_in_free(&in);
	}
}

static void
a_stream_is_read_however_it_is_cut(void **unused)
{
	(void)unused;
	events_are("data: a\n\ndata:b\r\n\r\ndata: c\r\rdata\n\n",
	    "<a><b><c><>");
	events_are("\xef\xbb\xbf"
		   "data: a\n\n",
	    "<a>");
	events_are(": hello\nevent: x\nid: 7\nretry: 1\ndata: 1\ndata: 2\n\n"
		   "event: none\n\ndata:  two\n\n",
	    "x<1\n2>< two>");
	events_are("data: cut", "<cut>");
	events_are("data: a\n\ndata: cut\n", "<a><cut>");
	events_are("nonsense\n\n\n\n: \n\n", "");
}

static void
an_event_too_large_is_an_error(void **unused)
{
	auto_free char *much = xmalloc(SSE_EVENT_MAX);
	struct sse_in in = { 0 };
	auto_str struct str out = { 0 };
	struct err err;

	(void)unused;
	memset(much, 'x', SSE_EVENT_MAX);
	assert_int_equal(sse_in_feed(&in, much, SSE_EVENT_MAX, note, &out,
			     &err),
	    0);
	assert_int_equal(sse_in_feed(&in, much, 1, note, &out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	sse_in_free(&in);
}

/* ---- chunks ---- */

static void
on_text(void *arg, const char *text, size_t n)
{
	str_printf(arg, "t(%.*s)", (int)n, text);
}

static void
on_thought(void *arg, const char *text, size_t n)
{
	str_printf(arg, "r(%.*s)", (int)n, text);
}

static void
on_call(void *arg, size_t i)
{
	str_printf(arg, "c%zu", i);
}

static const struct completion_ops ops = { on_text, on_thought, on_call };

#define DELTA(d) "{\"choices\":[{\"index\":0,\"delta\":{" d "}}]}"

static void
feed(struct completion *c, const char *const *chunk)
{
	struct err err;

	for (; *chunk != NULL; chunk++)
		assert_int_equal(completion_chunk(c, *chunk, strlen(*chunk),
				     &err),
		    0);
}

static void
deltas_become_parts(void **unused)
{
	static const char *const chunks[] = {
		DELTA("\"role\":\"assistant\",\"content\":\"\""),
		DELTA("\"reasoning_content\":\"hm\""),
		DELTA("\"reasoning\":\"so\""), DELTA("\"content\":\"He\""),
		DELTA("\"content\":\"llo\",\"tool_calls\":null"),
		"{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
		"{\"choices\":[],\"usage\":{\"prompt_tokens\":3}}", "[DONE]",
		"whatever comes then", NULL
	};
	struct completion c;
	auto_str struct str out = { 0 };
	json_t *m;

	(void)unused;
	completion_init(&c, &ops, &out);
	feed(&c, chunks);
	assert_string_equal(str_text(&out), "r(hm)r(so)t(He)t(llo)");
	assert_string_equal(c.finish, "stop");
	assert_true(c.done);
	assert_int_equal(json_integer_value(
			     json_object_get(c.usage, "prompt_tokens")),
	    3);
	m = completion_message(&c);
	assert_string_equal(json_string_value(json_object_get(m, "content")),
	    "Hello");
	assert_null(json_object_get(m, "tool_calls"));
	json_decref(m);
	completion_free(&c);
}

#define CALL(text) DELTA("\"tool_calls\":[{" text "}]")

static void
calls_grow_side_by_side(void **unused)
{
	static const char *const chunks[] = {
		CALL("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
		     "\"arguments\":\"\"}"),
		CALL("\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\"}"),
		CALL("\"index\":1,\"function\":{\"arguments\":\"{\\\"y\\\"\"}"),
		CALL("\"index\":0,\"function\":{\"arguments\":\"{}\"}"),
		CALL("\"index\":1,\"function\":{\"arguments\":\":1}\"}"), NULL
	};
	static const char *const bare[] = { /* without an index */
		CALL("\"id\":\"a\",\"function\":{\"name\":\"f\","
		     "\"arguments\":\"{\\\"x\\\"\"}"),
		CALL("\"function\":{\"arguments\":\":2}\"}"),
		CALL("\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":"
		     "{\"z\":3}}"),
		NULL
	};
	struct completion c;
	auto_str struct str out = { 0 };
	auto_free char *text = NULL;
	json_t *m;

	(void)unused;
	completion_init(&c, &ops, &out);
	feed(&c, chunks);
	assert_int_equal(c.ncall, 2);
	assert_string_equal(str_text(&c.call[0].arguments), "{}");
	assert_string_equal(str_text(&c.call[1].arguments), "{\"y\":1}");
	m = completion_message(&c);
	text = json_dumps(m, JSON_COMPACT);
	assert_string_equal(text,
	    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
	    "\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
	    "\"arguments\":\"{}\"}},{\"id\":\"b\",\"type\":\"function\","
	    "\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"y\\\":1}\"}}]}");
	json_decref(m);
	completion_free(&c);
	feed(&c, bare);
	assert_int_equal(c.ncall, 2);
	assert_string_equal(str_text(&c.call[0].arguments), "{\"x\":2}");
	assert_string_equal(str_text(&c.call[1].arguments), "{\"z\":3}");
	completion_free(&c);
}

static void
what_is_no_chunk_is_an_error(void **unused)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "{\"error\":{\"message\":\"so full\"}}", "so full" },
		{ "{\"error\":\"plain\"}", "plain" },
		{ "<html>", "not JSON" },
		{ "[1]", "not JSON" },
	};
	struct completion c;
	struct err err;

	(void)unused;
	completion_init(&c, NULL, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(completion_chunk(&c, rows[i].text,
				     strlen(rows[i].text), &err),
		    -1);
		assert_non_null(strstr(err.text, rows[i].want));
	}
	/* Odd, and harmless. */
	feed(&c,
	    (const char *const[]){ "{}", "{\"choices\":7}",
		"{\"choices\":[{\"delta\":{\"tool_calls\":[7,{}]}}]}",
		"{\"choices\":[{\"delta\":{\"content\":[1]}}]}",
		"{\"choices\":[{\"delta\":null}]}", NULL });
	completion_free(&c);
}

static void
too_many_calls_are_an_error(void **unused)
{
	struct completion c;
	struct err err;
	int r = 0;

	(void)unused;
	completion_init(&c, NULL, NULL);
	for (int i = 0; r == 0 && i < COMPLETION_CALLS + 1; i++) {
		auto_free char *text =
		    xasprintf(CALL("\"index\":%d,\"id\":\"c%d\""), i, i);

		r = completion_chunk(&c, text, strlen(text), &err);
	}
	assert_int_equal(r, -1);
	assert_int_equal(err.code, ERR_LIMIT);
	completion_free(&c);
}

/* ---- a conversation ---- */

static void
becomes(const char *input, const char *want)
{
	json_t *request = json_loads(input, 0, NULL), *all = json_array();
	auto_free char *text = NULL;

	assert_non_null(request);
	talk_add_input(all, request);
	text = json_dumps(all, JSON_COMPACT);
	assert_string_equal(text, want);
	json_decref(all);
	json_decref(request);
}

static void
input_becomes_messages(void **unused)
{
	(void)unused;
	becomes("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":"
		"\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}"
		",{\"role\":\"system\",\"type\":\"message\",\"content\":"
		"[{\"type\":\"data\",\"data\":{\"x\":1}}]}]}",
	    "[{\"role\":\"user\",\"content\":\"ab\"},"
	    "{\"role\":\"system\",\"content\":\"{\\\"x\\\":1}\"}]");
	becomes("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":"
		"\"text\",\"text\":\"see\"},{\"type\":\"image\","
		"\"image_url\":\"http://x/y.png\"}]}]}",
	    "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
	    "\"see\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
	    "\"http://x/y.png\"}}]}]");
	becomes("{\"input\":[{\"type\":\"reasoning\",\"content\":[{\"type\":"
		"\"text\",\"text\":\"hm\"}]},"
		"{\"type\":\"plugin_call\",\"content\":[{\"type\":\"data\","
		"\"data\":{\"call_id\":\"1\",\"name\":\"f\",\"arguments\":"
		"\"{}\"}}]},{\"type\":\"function_call\",\"content\":"
		"[{\"type\":\"data\",\"data\":{\"call_id\":\"2\",\"name\":"
		"\"g\",\"arguments\":{\"a\":1}}}]},"
		"{\"type\":\"plugin_call_output\",\"content\":[{\"type\":"
		"\"data\",\"data\":{\"call_id\":\"1\",\"output\":\"[{\\\"type"
		"\\\": \\\"text\\\", \\\"text\\\": \\\"hi\\\"}]\"}}]},"
		"{\"type\":\"function_call_output\",\"content\":[{\"type\":"
		"\"data\",\"data\":{\"call_id\":\"2\",\"output\":\"raw\"}}]}]"
		"}",
	    "[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":"
	    "[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":"
	    "\"f\",\"arguments\":\"{}\"}},{\"id\":\"2\",\"type\":\"function\""
	    ",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"a\\\":1}\"}}]}"
	    ",{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"hi\"},"
	    "{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":\"raw\"}]");
	becomes("{\"input\":[]}", "[]");
	becomes("{\"input\":[{\"role\":\"user\"},7,null]}",
	    "[{\"role\":\"user\",\"content\":\"\"},"
	    "{\"role\":\"assistant\",\"content\":\"\"},"
	    "{\"role\":\"assistant\",\"content\":\"\"}]");
}

static void
calls_without_a_result_get_one(void **unused)
{
	json_t *m =
	    json_loads("[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\"}"
		       ",{\"id\":"
		       "\"2\"}]},{\"role\":\"tool\",\"tool_call_id\":\"1\","
		       "\"content\":"
		       "\"x\"},{\"role\":\"user\",\"content\":\"next\"}]",
		0, NULL);
	const json_t *put;

	(void)unused;
	talk_close_calls(m, "[interrupted]");
	assert_int_equal(json_array_size(m), 4);
	put = json_array_get(m, 2);
	assert_string_equal(json_string_value(
				json_object_get(put, "tool_call_id")),
	    "2");
	talk_close_calls(m, "again");
	assert_int_equal(json_array_size(m), 4);
	json_decref(m);
}

static void
a_long_talk_forgets_whole_turns(void **unused)
{
	json_t *m = json_array();

	(void)unused;
	for (int i = 0; i < 100; i++) {
		json_array_append_new(m,
		    json_pack("{ss,si}", "role", "user", "n", i));
		json_array_append_new(m,
		    json_pack("{ss,ss}", "role", "assistant", "content", "x"));
	}
	talk_trim(m, 500);
	assert_in_range(json_array_size(m), 10, 20);
	assert_string_equal(json_string_value(
				json_object_get(json_array_get(m, 0), "role")),
	    "user");
	talk_trim(m, 1);
	assert_int_equal(json_array_size(m), 0);
	json_decref(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_read_however_it_is_cut),
		cmocka_unit_test(an_event_too_large_is_an_error),
		cmocka_unit_test(deltas_become_parts),
		cmocka_unit_test(calls_grow_side_by_side),
		cmocka_unit_test(what_is_no_chunk_is_an_error),
		cmocka_unit_test(too_many_calls_are_an_error),
		cmocka_unit_test(input_becomes_messages),
		cmocka_unit_test(calls_without_a_result_get_one),
		cmocka_unit_test(a_long_talk_forgets_whole_turns),
	};

	return cmocka_run_group_tests_name("completion", tests, NULL, NULL);
}
