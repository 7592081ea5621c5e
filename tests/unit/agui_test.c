/* AG-UI's events of scripted runs: every start has its end, nothing is said
 * twice, one terminal event. */
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/ask_agui.h"
#include "engine/feed.h"
#include "engine/invalid.h"
#include "engine/reply_agui.h"
#include "json/jtext.h"
#include "tests/unit/engine_fixture.h"

#define STARTED "{\"type\":\"RUN_STARTED\",\"threadId\":\"S\",\"runId\":\"R\"}"
#define FINISHED                                                               \
	"{\"type\":\"RUN_FINISHED\",\"threadId\":\"S\",\"runId\":\"R\"}"
#define T_START(id)                                                            \
	"{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"" id                 \
	"\",\"role\":\"assistant\"}"
#define T_TEXT(id, text)                                                       \
	"{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"" id               \
	"\",\"delta\":\"" text "\"}"
#define T_END(id) "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"" id "\"}"
#define C_START(id, name, parent)                                              \
	"{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"" id                   \
	"\",\"toolCallName\":\"" name "\",\"parentMessageId\":\"" parent "\"}"
#define C_ARGS(id, text)                                                       \
	"{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"" id                    \
	"\",\"delta\":\"" text "\"}"
#define C_END(id) "{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"" id "\"}"
#define C_RESULT(mid, id, text)                                                \
	"{\"type\":\"TOOL_CALL_RESULT\",\"messageId\":\"" mid                  \
	"\",\"toolCallId\":\"" id "\",\"content\":\"" text                     \
	"\",\"role\":\"tool\"}"

static void
text(void **unused)
{
	static const char *const want[] = { STARTED, T_START("msg_1"),
		T_TEXT("msg_1", "Hello"), T_TEXT("msg_1", ", w\\u2028\\\"d"),
		T_END("msg_1"), FINISHED, NULL };
	struct bench b;

	(void)unused;
	bench_open(&b, &reply_agui);
	bench_say(&b, "\"text\":\"Hello\"");
	bench_say(&b, "\"text\":\"\"");
	bench_say(&b, "\"text\":\", w\\u2028\\\"d\"");
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	bench_expect(&b, want);
	bench_close(&b);
}

#define CALL(id, args)                                                         \
	"\"object\":\"content\",\"msg_id\":\"" id                              \
	"\",\"type\":\"data\",\"data\":{\"call_id\":\"" id                     \
	"\",\"name\":\"get\",\"arguments\":\"" args "\"}"

/* Two calls that belong to the answer's beginning, their results, its end. */
static void
tools(void **unused)
{
	static const char *const want[] = { STARTED, T_START("msg_1"),
		T_TEXT("msg_1", "Let me see."), T_END("msg_1"),
		C_START("c1", "get", "msg_1"),
		C_ARGS("c1", "{\\\"at\\\": \\\"Bei"), C_ARGS("c1", "jing\\\"}"),
		C_END("c1"), C_START("c2", "get", "msg_1"), C_ARGS("c2", "{}"),
		C_END("c2"), C_RESULT("msg_2", "c1", "[{\\\"t\\\":1}]"),
		T_START("msg_1_0.1"), T_TEXT("msg_1_0.1", "Sunny."),
		T_END("msg_1_0.1"), FINISHED, NULL };
	struct bench b;

	(void)unused;
	bench_open(&b, &reply_agui);
	bench_say(&b, "\"text\":\"Let me see.\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c1\",\"type\":\"plugin_call\"");
	bench_say(&b, CALL("c1", ""));
	bench_say(&b, CALL("c1", "{\\\"at\\\": \\\"Bei\\\"}"));
	bench_say(&b, CALL("c1", "{\\\"at\\\": \\\"Beijing\\\"}"));
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c1\",\"status\":\"completed\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c2\",\"type\":\"function_call\"");
	bench_say(&b, CALL("c2", ""));
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c2\",\"status\":\"completed\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"o\","
	    "\"type\":\"plugin_call_output\"");
	bench_say(&b,
	    "\"object\":\"content\",\"msg_id\":\"o\",\"type\":\"data\","
	    "\"data\":{\"call_id\":\"c1\",\"name\":\"get\",\"output\":"
	    "\"[{\\\"t\\\":1}]\"},\"status\":\"completed\"");
	bench_say(&b, "\"text\":\"Sunny.\"");
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	bench_expect(&b, want);
	bench_close(&b);
}

static void
thoughts(void **unused)
{
	static const char *const want[] = {
		"{\"type\":\"RUN_STARTED\",\"threadId\":\"S\",\"runId\":\"R\","
		"\"protocolVersion\":\"1.0\",\"parentRunId\":\"P\"}",
		"{\"type\":\"REASONING_START\",\"messageId\":\"msg_1\"}",
		"{\"type\":\"REASONING_MESSAGE_START\",\"messageId\":\"msg_1\","
		"\"role\":\"reasoning\"}",
		"{\"type\":\"REASONING_MESSAGE_CONTENT\",\"messageId\":"
		"\"msg_1\",\"delta\":\"Hm\"}",
		T_START("msg_2"), T_TEXT("msg_2", "42"),
		"{\"type\":\"REASONING_MESSAGE_END\",\"messageId\":\"msg_1\"}",
		"{\"type\":\"REASONING_END\",\"messageId\":\"msg_1\"}",
		T_END("msg_2"),
		"{\"type\":\"RUN_FINISHED\",\"threadId\":\"S\",\"runId\":\"R\","
		"\"usage\":[{\"inputTokens\":5,\"outputTokens\":3,"
		"\"totalTokens\":8}]}",
		NULL
	};
	struct agui_arg arg = { .modern = true, .parent_run = "P" };
	struct bench b;

	(void)unused;
	bench_open_arg(&b, &reply_agui, &arg);
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"r\",\"type\":\"reasoning\"");
	bench_say(&b,
	    "\"object\":\"content\",\"msg_id\":\"r\",\"delta\":true,"
	    "\"text\":\"Hm\"");
	bench_say(&b, "\"text\":\"42\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"r\",\"status\":\"completed\"");
	bench_say(&b,
	    "\"op\":\"usage\",\"usage\":{\"input_tokens\":5,"
	    "\"output_tokens\":3}");
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	bench_expect(&b, want);
	bench_close(&b);
}

/* Whole values, pictures, files; and what stands for nothing is not said. */
static void
media(void **unused)
{
	static const char *const want[] = { STARTED, T_START("msg_1"),
		T_TEXT("msg_1", "See:"), T_END("msg_1"),
		"{\"type\":\"CUSTOM\",\"name\":\"image\",\"value\":"
		"{\"messageId\":\"msg_1\",\"part\":{\"type\":\"image\","
		"\"source\":{\"type\":\"data\",\"value\":\"AAA=\","
		"\"mimeType\":\"image/png\"}}}}",
		"{\"type\":\"CUSTOM\",\"name\":\"file\",\"value\":"
		"{\"messageId\":\"msg_1\",\"part\":{\"type\":\"document\","
		"\"metadata\":{\"filename\":\"a.pdf\"},\"source\":"
		"{\"type\":\"url\",\"value\":\"http://h/a\"}}}}",
		"{\"type\":\"CUSTOM\",\"name\":\"data\",\"value\":"
		"{\"messageId\":\"msg_1\",\"data\":{\"foo\":1}}}",
		T_START("msg_1_4"), T_TEXT("msg_1_4", "done"), T_END("msg_1_4"),
		FINISHED, NULL };
	struct bench b;

	(void)unused;
	bench_open(&b, &reply_agui);
#define PART "\"object\":\"content\",\"msg_id\":\"m\",\"status\":\"completed\","
	bench_say(&b, PART "\"type\":\"text\",\"text\":\"See:\"");
	bench_say(&b,
	    PART "\"type\":\"image\",\"image_url\":"
		 "\"data:image/png;base64,AAA=\"");
	bench_say(&b,
	    PART "\"type\":\"file\",\"file_url\":\"http://h/a\","
		 "\"filename\":\"a.pdf\"");
	bench_say(&b, PART "\"type\":\"data\",\"data\":{\"foo\":1}");
	bench_say(&b, PART "\"type\":\"text\",\"text\":\"done\"");
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	bench_expect(&b, want);
	bench_close(&b);
}

/* Ends that come too early: what is open is ended first. */
static void
cut_short(void **unused)
{
	static const char *const failed[] = { STARTED, T_START("msg_1"),
		T_TEXT("msg_1", "Par"), T_END("msg_1"),
		C_START("c1", "get", "msg_1"), C_ARGS("c1", "{\\\"a"),
		C_ARGS("c1", "\\\""), C_END("c1"),
		"{\"type\":\"RUN_ERROR\",\"message\":\"no \\\"way\\\"\","
		"\"code\":\"AGENT_ERROR\"}",
		NULL };
	static const char *const stopped[] = { STARTED, T_START("msg_1"),
		T_TEXT("msg_1", "Par"), T_END("msg_1"),
		"{\"type\":\"RUN_FINISHED\",\"threadId\":\"S\",\"runId\":\"R\","
		"\"result\":\"agent run canceled\"}",
		NULL };
	struct bench b;

	(void)unused;
	bench_open(&b, &reply_agui);
	bench_say(&b, "\"text\":\"Par\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c1\",\"type\":\"mcp_call\"");
	bench_say(&b, CALL("c1", "{\\\"a\\\""));
	bench_say(&b,
	    "\"op\":\"end\",\"status\":\"failed\",\"error\":{\"code\":"
	    "\"AGENT_ERROR\",\"message\":\"no \\\"way\\\"\"}");
	bench_expect(&b, failed);
	bench_close(&b);
	bench_open(&b, &reply_agui);
	bench_say(&b, "\"text\":\"Par\"");
	run_stop(b.run, RUN_CANCELED, NULL, "somebody asked");
	bench_expect(&b, stopped);
	bench_close(&b);
}

static void
settled(void **unused)
{
	static const struct {
		const char *before, *now, *told;
	} cases[] = {
		{ "", "", "" },
		{ "", "{}", "{" },
		{ "", "{\"a\": null}", "{\"a\": " },
		{ "", "{\"a\": \"x\"}", "{\"a\": \"x" },
		{ "", "{\"a\": \"\"}", "{\"a\":" },
		{ "", "{\"a\": \"x\\", "{\"a\": \"x" },
		{ "{\"a\": 1}", "{\"a\": 12}", "{\"a\": " },
		{ "{\"a\": \"x\"}", "{\"a\": \"xy\", \"b\": [1]}",
		    "{\"a\": \"x" },
		{ "{\"a\": \"x", "{\"a\": \"xy", "{\"a\": \"xy" },
		{ "\xc3\xa9", "\xc3\xa8", "" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct slice a = { cases[i].before, strlen(cases[i].before) };
		struct slice b = { cases[i].now, strlen(cases[i].now) };

		assert_int_equal(agui_settled(a, b), strlen(cases[i].told));
		assert_memory_equal(cases[i].now, cases[i].told,
		    strlen(cases[i].told));
	}
}

/* ---- what is asked ---- */

static json_t *
parsed(const char *body)
{
	struct err err;
	json_t *v = jtext_read(body, strlen(body), NULL, &err);

	assert_non_null(v);
	return v;
}

static void
accepts(const char *body, const char *want)
{
	struct invalid wrong = { 0 };
	struct agui_ask ask = { 0 };
	auto_str struct str have = { 0 };
	json_t *v = parsed(body);

	if (ask_agui(v, &ask, &wrong) < 0)
		fail_msg("refused: %s", str_text(&wrong.list));
	jtext_write(&have, ask.request);
	assert_string_equal(str_text(&have), want);
	json_decref(ask.request);
	json_decref(v);
	invalid_free(&wrong);
}

static void
refuses(const char *body, const char *type, const char *place)
{
	struct invalid wrong = { 0 };
	struct agui_ask ask = { 0 };
	auto_str struct str have = { 0 }, want = { 0 };
	json_t *v = parsed(body);

	assert_int_equal(ask_agui(v, &ask, &wrong), -1);
	invalid_take(&wrong, &have);
	str_printf(&want, "{\"detail\":[{\"type\":\"%s\",\"loc\":[%s],", type,
	    place);
	if (strncmp(str_text(&have), want.at, want.len) != 0)
		fail_msg("wanted %s\nhave %s", want.at, str_text(&have));
	json_decref(v);
}

#define IDS "\"threadId\":\"T\",\"runId\":\"R\""
#define HEAD(input) "{\"input\":[" input "],\"stream\":true,\"user_id\":"
#define TAIL ",\"id\":\"R\",\"session_id\":\"T\""
#define PLAIN "\"default_user_id\",\"tools\":[],\"context\":[]" TAIL

static void
asked(void **unused)
{
	(void)unused;
	accepts("{" IDS "}", HEAD("") PLAIN "}");
	accepts("{\"thread_id\":\"T\",\"run_id\":\"R\",\"messages\":null,"
		"\"state\":{\"a\":1},\"forwardedProps\":{\"userId\":\"u\"}}",
	    HEAD("") "\"u\",\"tools\":[],\"context\":[]" TAIL
		     ",\"state\":{\"a\":1},\"forwarded_props\":"
		     "{\"userId\":\"u\"}}");
	accepts("{" IDS ",\"messages\":[{\"id\":\"1\",\"role\":\"user\","
		"\"content\":[{\"type\":\"text\",\"text\":\"\\u00e9\"},"
		"{\"type\":\"binary\",\"mimeType\":\"image/png\",\"data\":"
		"\"AA\"},{\"type\":\"audio\",\"source\":{\"type\":\"data\","
		"\"value\":\"BB\",\"mimeType\":\"audio/wav\"}},{\"type\":"
		"\"document\",\"source\":{\"type\":\"file\",\"value\":\"f1\"}}"
		"]}]}",
	    HEAD("{\"id\":\"1\",\"type\":\"message\",\"role\":\"user\","
		 "\"content\":[{\"type\":\"text\",\"text\":\"\xc3\xa9\"},"
		 "{\"type\":\"image\",\"image_url\":"
		 "\"data:image/png;base64,AA\"},{\"type\":\"audio\",\"data\":"
		 "\"BB\",\"format\":\"wav\"},{\"type\":\"file\",\"file_id\":"
		 "\"f1\"}]}") PLAIN "}");
	/* parallel calls in a history stay two, and keep their names */
	accepts("{" IDS ",\"messages\":[{\"id\":\"1\",\"role\":\"assistant\","
		"\"content\":\"hm\",\"toolCalls\":[{\"id\":\"a\",\"type\":"
		"\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
		"\"{}\"}},{\"id\":\"b\",\"function\":{\"name\":\"g\","
		"\"arguments\":\"\"}}]},{\"id\":\"2\",\"role\":\"tool\","
		"\"toolCallId\":\"b\",\"content\":\"ok\"},{\"id\":\"3\","
		"\"role\":\"activity\",\"activityType\":\"x\",\"content\":{}},"
		"{\"id\":\"4\",\"role\":\"reasoning\",\"content\":\"r\"}]}",
	    HEAD("{\"id\":\"1\",\"type\":\"message\",\"role\":\"assistant\","
		 "\"content\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
		 "{\"id\":\"1\",\"type\":\"function_call\",\"role\":"
		 "\"assistant\",\"content\":[{\"type\":\"data\",\"data\":"
		 "{\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}}]},"
		 "{\"id\":\"1\",\"type\":\"function_call\",\"role\":"
		 "\"assistant\",\"content\":[{\"type\":\"data\",\"data\":"
		 "{\"call_id\":\"b\",\"name\":\"g\",\"arguments\":\"\"}}]},"
		 "{\"id\":\"2\",\"type\":\"function_call_output\",\"role\":"
		 "\"tool\",\"content\":[{\"type\":\"data\",\"data\":"
		 "{\"call_id\":\"b\",\"name\":\"g\",\"output\":\"ok\"}}]},"
		 "{\"id\":\"4\",\"type\":\"reasoning\",\"role\":\"assistant\","
		 "\"content\":[{\"type\":\"text\",\"text\":\"r\"}]}") PLAIN
	    "}");
	accepts("{" IDS ",\"tools\":[{\"name\":\"f\",\"description\":\"d\"}]}",
	    HEAD("") "\"default_user_id\",\"tools\":[{\"type\":\"function\","
		     "\"function\":{\"name\":\"f\",\"description\":\"d\","
		     "\"parameters\":{\"type\":\"object\",\"properties\":{},"
		     "\"required\":[]}}}],\"context\":[]" TAIL "}");
}

static void
refused(void **unused)
{
	(void)unused;
	refuses("[]", "model_attributes_type", "\"body\"");
	refuses("{\"runId\":\"R\"}", "missing", "\"body\",\"threadId\"");
	refuses("{\"threadId\":\"T\"}", "missing", "\"body\",\"runId\"");
	refuses("{\"threadId\":1,\"runId\":\"R\"}", "string_type",
	    "\"body\",\"threadId\"");
	refuses("{\"threadId\":123456789012345678901234567890,\"runId\":\"\"}",
	    "string_type", "\"body\",\"threadId\"");
	refuses("{" IDS ",\"messages\":{}}", "list_type",
	    "\"body\",\"messages\"");
	refuses("{" IDS ",\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}",
	    "missing", "\"body\",\"messages\",0,\"user\",\"id\"");
	refuses("{" IDS ",\"messages\":[{\"id\":\"1\",\"role\":\"x\"}]}",
	    "union_tag_invalid", "\"body\",\"messages\",0");
	refuses("{" IDS ",\"messages\":[{\"id\":\"1\",\"role\":\"user\"}]}",
	    "missing", "\"body\",\"messages\",0,\"user\",\"content\"");
	refuses("{" IDS ",\"messages\":[{\"id\":\"1\",\"role\":\"tool\","
		"\"content\":\"\"}]}",
	    "missing", "\"body\",\"messages\",0,\"tool\",\"toolCallId\"");
	refuses("{" IDS ",\"messages\":[{\"id\":\"1\",\"role\":\"user\","
		"\"content\":[{\"type\":\"image\",\"source\":{\"type\":"
		"\"ftp\",\"value\":\"\"}}]}]}",
	    "union_tag_invalid",
	    "\"body\",\"messages\",0,\"user\",\"content\",0,\"source\"");
	refuses("{" IDS ",\"tools\":[{\"name\":\"f\"}]}", "missing",
	    "\"body\",\"tools\",0,\"description\"");
	refuses("{" IDS ",\"context\":[1]}", "model_attributes_type",
	    "\"body\",\"context\",0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text),
		cmocka_unit_test(tools),
		cmocka_unit_test(thoughts),
		cmocka_unit_test(media),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(settled),
		cmocka_unit_test(asked),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("agui", tests, NULL, NULL);
}
