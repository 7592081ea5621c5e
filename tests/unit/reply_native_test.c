/* The worked examples of the native stream, member for member. */
#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/feed.h"
#include "engine/reply.h"
#include "tests/unit/engine_fixture.h"

#define RESPONSE(n, status)                                                    \
	"{\"sequence_number\":" #n                                             \
	",\"object\":\"response\",\"status\":\"" status                        \
	"\",\"error\":null,\"id\":\"R\",\"created_at\":1000,"                  \
	"\"completed_at\":null,\"output\":null,\"usage\":null,"                \
	"\"session_id\":\"S\"}"
#define BEGUN RESPONSE(0, "created"), RESPONSE(1, "in_progress")
#define MESSAGE(n, id, type, role)                                             \
	"{\"sequence_number\":" #n ",\"object\":\"message\",\"status\":"       \
	"\"in_progress\",\"error\":null,\"id\":\"" id "\",\"type\":\"" type    \
	"\",\"role\":\"" role "\",\"content\":null,\"code\":null,"             \
	"\"message\":null,\"usage\":null,\"metadata\":null}"
#define TEXT(n, status, delta, id, text)                                       \
	"{\"sequence_number\":" #n                                             \
	",\"object\":\"content\",\"status\":\"" status                         \
	"\",\"error\":null,\"type\":\"text\",\"index\":0,"                     \
	"\"delta\":" delta ",\"msg_id\":\"" id "\",\"text\":\"" text "\"}"
#define ENDED(n, status, id, type, role, content, usage)                       \
	"{\"sequence_number\":" #n                                             \
	",\"object\":\"message\",\"status\":\"" status                         \
	"\",\"error\":null,\"id\":\"" id "\",\"type\":\"" type                 \
	"\",\"role\":\"" role "\",\"content\":[" content "],"                  \
	"\"code\":null,\"message\":null,\"usage\":" usage                      \
	",\"metadata\":null}"

/* completed_at is the clock's: it is taken out. */
static char *
without_time(struct str *text)
{
	char *at = strstr(str_text(text), "\"completed_at\":1"), *end;

	if (at != NULL && strstr(at, "\"output\":[") != NULL) {
		at += strlen("\"completed_at\":");
		end = at + strspn(at, "0123456789");
		memmove(at + 1, end, strlen(end) + 1);
		*at = 'T';
	}
	return text->at;
}

static void
last_is(struct bench *b, const char *want)
{
	auto_str struct str have = { 0 }, whole = { 0 };
	const struct reply *reply = run_reply(b->run);

	bench_read(b, &have);
	reply->kind->whole(reply, &whole);
	without_time(&have);
	have.len = strlen(have.at);
	assert_memory_equal(have.at, "data: ", 6);
	assert_string_equal(have.at + have.len - 2, "\n\n");
	str_cut(&have, have.len - 2);
	assert_string_equal(have.at + 6, want);
	/* And that is the answer of who wants no stream. */
	assert_true(whole.len > have.len - 6);
	assert_memory_equal(whole.at, "{\"sequence_number\":", 18);
	assert_true(feed_over(b->reader));
}

static void
plain_answer(void **unused)
{
	struct bench b;
	static const char *const stream[] = { BEGUN,
		MESSAGE(2, "msg_1", "message", "assistant"),
		TEXT(3, "in_progress", "true", "msg_1", "Hello"),
		TEXT(4, "in_progress", "true", "msg_1", ", world"),
		TEXT(5, "completed", "null", "msg_1", "Hello, world"),
#define DONE                                                                   \
	ENDED(6, "completed", "msg_1", "message", "assistant",                 \
	    TEXT(5, "completed", "null", "msg_1", "Hello, world"),             \
	    "{\"input_tokens\":5,\"output_tokens\":3}")
		DONE, NULL };

	(void)unused;
	bench_open(&b, &reply_native);
	bench_say(&b, "\"text\":\"Hello\"");
	bench_say(&b, "\"text\":\", world\"");
	bench_say(&b,
	    "\"object\":\"message\",\"status\":\"completed\","
	    "\"usage\":{\"input_tokens\": 5, \"output_tokens\": 3}");
	bench_expect(&b, stream);
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	last_is(&b,
	    "{\"sequence_number\":7,\"object\":\"response\",\"status\":"
	    "\"completed\",\"error\":null,\"id\":\"R\",\"created_at\":1000,"
	    "\"completed_at\":T,\"output\":[" DONE "],\"usage\":"
	    "{\"input_tokens\":5,\"output_tokens\":3},\"session_id\":\"S\"}");
	assert_int_equal(b.ended, 1);
	bench_close(&b);
}

#define CALL(args)                                                             \
	"{\"call_id\":\"call_1\",\"name\":\"get_weather\",\"arguments\":"      \
	"\"" args "\"}"
#define DATA(n, status, id, data)                                              \
	"{\"sequence_number\":" #n                                             \
	",\"object\":\"content\",\"status\":\"" status                         \
	"\",\"error\":null,\"type\":\"data\",\"index\":0,"                     \
	"\"delta\":false,\"msg_id\":\"" id "\",\"data\":" data "}"
#define WITHIN(data)                                                           \
	"{\"sequence_number\":null,\"object\":\"content\",\"status\":null,"    \
	"\"error\":null,\"type\":\"data\",\"index\":null,\"delta\":false,"     \
	"\"msg_id\":null,\"data\":" data "}"
#define BEIJING CALL("{\\\"location\\\": \\\"Beijing\\\"}")
#define SUNNY                                                                  \
	"{\"call_id\":\"call_1\",\"name\":\"get_weather\",\"output\":"         \
	"\"[{\\\"text\\\": \\\"Sunny, 25\xc2\xb0"                              \
	"C\\\"}]\"}"

static void
tool_call(void **unused)
{
	struct bench b;
	static const char *const stream[] = { BEGUN,
		MESSAGE(2, "msg_1", "plugin_call", "assistant"),
		DATA(3, "in_progress", "msg_1", CALL("")),
		DATA(4, "in_progress", "msg_1", BEIJING),
		DATA(5, "completed", "msg_1", BEIJING),
		ENDED(6, "completed", "msg_1", "plugin_call", "assistant",
		    WITHIN(BEIJING), "null"),
		MESSAGE(7, "msg_2", "plugin_call_output", "tool"),
		DATA(8, "completed", "msg_2", SUNNY),
		ENDED(9, "completed", "msg_2", "plugin_call_output", "tool",
		    WITHIN(SUNNY), "null"),
		NULL };

	(void)unused;
	bench_open(&b, &reply_native);
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c\",\"type\":\"plugin_call\"");
	bench_say(&b,
	    "\"object\":\"content\",\"msg_id\":\"c\",\"type\":\"data\","
	    "\"data\":" CALL(""));
	bench_say(&b,
	    "\"object\":\"content\",\"msg_id\":\"c\",\"type\":\"data\","
	    "\"data\":" BEIJING);
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"c\",\"status\":\"completed\"");
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"o\",\"type\":"
	    "\"plugin_call_output\"");
	bench_say(&b,
	    "\"object\":\"content\",\"msg_id\":\"o\",\"type\":\"data\","
	    "\"status\":\"completed\",\"data\":" SUNNY);
	bench_say(&b,
	    "\"object\":\"message\",\"id\":\"o\",\"status\":\"completed\"");
	bench_expect(&b, stream);
	bench_close(&b);
}

#define FAILED(n, code, why, output)                                           \
	"{\"sequence_number\":" #n ",\"object\":\"response\",\"status\":"      \
	"\"failed\",\"error\":{\"code\":\"" code "\",\"message\":\"" why       \
	"\"},\"id\":\"R\",\"created_at\":1000,\"completed_at\":null,"          \
	"\"output\":" output ",\"usage\":null,\"session_id\":\"S\"}"

static void
failure_closes_what_is_open(void **unused)
{
	struct bench b;
#define CUT                                                                    \
	ENDED(5, "incomplete", "msg_1", "message", "assistant",                \
	    TEXT(4, "incomplete", "null", "msg_1", "Partial"), "null")
	static const char *const stream[] = { BEGUN,
		MESSAGE(2, "msg_1", "message", "assistant"),
		TEXT(3, "in_progress", "true", "msg_1", "Partial"),
		TEXT(4, "incomplete", "null", "msg_1", "Partial"), CUT,
		FAILED(6, "AGENT_UNKNOWN_ERROR", "ValueError: \\\"boom\\\"",
		    "[" CUT "]"),
		NULL };
	static const char *const early[] = { BEGUN,
		FAILED(2, "AGENT_ERROR", "the agent failed", "null"), NULL };

	(void)unused;
	bench_open(&b, &reply_native);
	bench_say(&b, "\"text\":\"Partial\"");
	bench_say(&b,
	    "\"op\":\"end\",\"status\":\"failed\",\"error\":{\"code\":"
	    "\"AGENT_UNKNOWN_ERROR\",\"message\":\"ValueError: "
	    "\\\"boom\\\"\"}");
	bench_expect(&b, stream);
	bench_close(&b);

	bench_open(&b, &reply_native);
	bench_say(&b, "\"op\":\"end\",\"status\":\"failed\"");
	bench_expect(&b, early);
	bench_close(&b);
}

static void
a_stopped_run_says_so(void **unused)
{
	struct bench b;
#define STOPPED                                                                \
	ENDED(5, "canceled", "msg_1", "message", "assistant",                  \
	    TEXT(4, "canceled", "null", "msg_1", "0 "), "null")
	static const char *const stream[] = { BEGUN,
		MESSAGE(2, "msg_1", "message", "assistant"),
		TEXT(3, "in_progress", "true", "msg_1", "0 "),
		TEXT(4, "canceled", "null", "msg_1", "0 "), STOPPED,
		"{\"sequence_number\":6,\"object\":\"response\",\"status\":"
		"\"canceled\",\"error\":null,\"id\":\"R\",\"created_at\":1000,"
		"\"completed_at\":null,\"output\":[" STOPPED "],\"usage\":null,"
		"\"session_id\":\"S\"}",
		NULL };

	(void)unused;
	bench_open(&b, &reply_native);
	bench_say(&b, "\"text\":\"0 \"");
	run_stop(b.run, RUN_CANCELED, NULL, NULL);
	bench_say(&b, "\"text\":\"1 \"");
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	run_stop(b.run, RUN_FAILED, "x", "y");
	bench_expect(&b, stream);
	assert_int_equal(b.cancels, 1);
	assert_int_equal(b.ended, 1);
	bench_close(&b);
}

static void
every_kind_of_part(void **unused)
{
	struct bench b;
#define PART(n, type, fields)                                                  \
	"{\"sequence_number\":" #n ",\"object\":\"content\",\"status\":"       \
	"\"completed\",\"error\":null,\"type\":\"" type "\",\"index\":0,"      \
	"\"delta\":null,\"msg_id\":\"msg_1\"," fields "}"
	static const struct {
		const char *say, *want[4];
	} rows[] = {
		{ "\"type\":\"refusal\",\"refusal\":\"no\"",
		    { PART(3, "refusal", "\"refusal\":\"no\"") } },
		{ "\"type\":\"image\",\"image_url\":\"http://x/\"",
		    { PART(3, "image", "\"image_url\":\"http://x/\"") } },
		{ "\"type\":\"audio\",\"data\":\"QQ==\"",
		    { PART(3, "audio", "\"data\":\"QQ==\",\"format\":null") } },
		{ "\"type\":\"video\",\"video_url\":\"v\"",
		    { PART(3, "video", "\"video_url\":\"v\"") } },
		{ "\"type\":\"file\",\"filename\":\"f\",\"file_id\":\"i\"",
		    { PART(3, "file",
			"\"file_url\":null,\"file_id\":\"i\",\"filename\":"
			"\"f\",\"file_data\":null") } },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *lines[] = { BEGUN,
			MESSAGE(2, "msg_1", "message", "assistant"),
			rows[i].want[0], NULL };
		auto_free char *say = xasprintf("\"object\":\"content\",\"msg_"
						"id\":\"m\",\"status\":"
						"\"completed\",%s",
		    rows[i].say);

		bench_open(&b, &reply_native);
		bench_say(&b, say);
		bench_expect(&b, lines);
		bench_close(&b);
	}
}

static void
lines_are_safe_to_split(void **unused)
{
	struct bench b;
	static const char *const stream[] = { BEGUN,
		MESSAGE(2, "msg_1", "message", "assistant"),
		TEXT(3, "in_progress", "true", "msg_1",
		    "\\u0085\\u2028\\u2029\xef\xbf\xbd\xc3\xa9\\n</"
		    "script>\x7f"),
		TEXT(4, "in_progress", "true", "msg_1",
		    "\xef\xbf\xbd\xf0\x9f\x98\x80/"),
		NULL };

	(void)unused;
	bench_open(&b, &reply_native);
	bench_say(&b,
	    "\"text\":\"\xc2\x85\xe2\x80\xa8\\u2029\\ud800\\u00e9\\u000a"
	    "</script>\x7f\"");
	bench_say(&b, "\"text\":\"\xff\\ud83d\\ude00\\/\"");
	bench_expect(&b, stream);
	bench_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_answer),
		cmocka_unit_test(tool_call),
		cmocka_unit_test(failure_closes_what_is_open),
		cmocka_unit_test(a_stopped_run_says_so),
		cmocka_unit_test(every_kind_of_part),
		cmocka_unit_test(lines_are_safe_to_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
