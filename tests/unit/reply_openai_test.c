#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "engine/feed.h"
#include "engine/pick.h"
#include "engine/reply_chat.h"
#include "engine/reply_responses.h"
#include "tests/unit/engine_fixture.h"

/* The number of the events that came, and the text of one of them. */
static unsigned
events(const char *stream, unsigned which, struct str *out)
{
	unsigned n = 0;
	const char *end;

	for (; (end = strstr(stream, "\n\n")) != NULL; stream = end + 2)
		if (n++ == which)
			str_add(out, stream, (size_t)(end - stream));
	return n;
}

static void
read_all(struct bench *b, struct str *out)
{
	const char *at;
	size_t n;

	while ((n = feed_next(b->reader, &at, 4096)) > 0)
		str_add(out, at, n);
}

/* From the third event on: the first two hold the whole response. */
static const char *const said[] = {
	"event: response.output_item.added\n"
	"data: {\"type\":\"response.output_item.added\",\"sequence_number\":2,"
	"\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_R_0\","
	"\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}",
	"event: response.content_part.added\n"
	"data: {\"type\":\"response.content_part.added\",\"sequence_number\":3,"
	"\"item_id\":\"msg_R_0\",\"output_index\":0,\"content_index\":0,"
	"\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[],"
	"\"logprobs\":[]}}",
	"event: response.output_text.delta\n"
	"data: {\"type\":\"response.output_text.delta\",\"sequence_number\":4,"
	"\"item_id\":\"msg_R_0\",\"output_index\":0,\"content_index\":0,"
	"\"delta\":\"a\\n\\u2028\",\"logprobs\":[]}",
	"event: response.output_item.added\n"
	"data: {\"type\":\"response.output_item.added\",\"sequence_number\":5,"
	"\"output_index\":1,\"item\":{\"type\":\"function_call\","
	"\"id\":\"fc_R_1\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"\","
	"\"status\":\"in_progress\"}}",
	"event: response.function_call_arguments.delta\n"
	"data: {\"type\":\"response.function_call_arguments.delta\","
	"\"sequence_number\":6,\"item_id\":\"fc_R_1\",\"output_index\":1,"
	"\"delta\":\"{\\\"x\"}",
	"event: response.function_call_arguments.delta\n"
	"data: {\"type\":\"response.function_call_arguments.delta\","
	"\"sequence_number\":7,\"item_id\":\"fc_R_1\",\"output_index\":1,"
	"\"delta\":\"\\\":1}\"}",
	"event: response.function_call_arguments.done\n"
	"data: {\"type\":\"response.function_call_arguments.done\","
	"\"sequence_number\":8,\"item_id\":\"fc_R_1\",\"output_index\":1,"
	"\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}",
	"event: response.output_item.done\n"
	"data: {\"type\":\"response.output_item.done\",\"sequence_number\":9,"
	"\"output_index\":1,\"item\":{\"type\":\"function_call\","
	"\"id\":\"fc_R_1\",\"call_id\":\"c\",\"name\":\"f\","
	"\"arguments\":\"{\\\"x\\\":1}\",\"status\":\"completed\"}}",
	"event: response.output_text.done\n"
	"data: {\"type\":\"response.output_text.done\",\"sequence_number\":10,"
	"\"item_id\":\"msg_R_0\",\"output_index\":0,\"content_index\":0,"
	"\"text\":\"a\\n\\u2028\",\"logprobs\":[]}",
	"event: response.content_part.done\n"
	"data: {\"type\":\"response.content_part.done\",\"sequence_number\":11,"
	"\"item_id\":\"msg_R_0\",\"output_index\":0,\"content_index\":0,"
	"\"part\":{\"type\":\"output_text\",\"text\":\"a\\n\\u2028\","
	"\"annotations\":[],\"logprobs\":[]}}",
	"event: response.output_item.done\n"
	"data: {\"type\":\"response.output_item.done\",\"sequence_number\":12,"
	"\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_R_0\","
	"\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{"
	"\"type\":\"output_text\",\"text\":\"a\\n\\u2028\",\"annotations\":[],"
	"\"logprobs\":[]}]}}",
};
#define SAID (sizeof said / sizeof *said)

static void
say_call(struct bench *b)
{
	bench_say(b, "\"text\":\"a\\n\\u2028\"");
	bench_say(b,
	    "\"object\":\"message\",\"id\":\"c\",\"type\":\"plugin_call\"");
	bench_say(b,
	    "\"object\":\"content\",\"msg_id\":\"c\",\"type\":\"data\","
	    "\"data\":{\"call_id\":\"c\",\"name\":\"f\","
	    "\"arguments\":\"{\\\"x\"}");
	bench_say(b,
	    "\"object\":\"content\",\"msg_id\":\"c\",\"type\":\"data\","
	    "\"data\":{\"call_id\":\"c\",\"name\":\"f\","
	    "\"arguments\":\"{\\\"x\\\":1}\"}");
	bench_say(b,
	    "\"object\":\"message\",\"id\":\"c\",\"status\":\"completed\"");
}

static void
responses_stream(void **state)
{
	auto_str struct str all = { 0 }, whole = { 0 };
	struct bench b;

	(void)state;
	bench_open(&b, &reply_responses);
	say_call(&b);
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	read_all(&b, &all);
	for (unsigned i = 0; i < SAID; i++) {
		auto_str struct str one = { 0 };

		assert_int_equal(events(str_text(&all), i + 2, &one), SAID + 3);
		assert_string_equal(str_text(&one), said[i]);
	}
	run_reply(b.run)->kind->whole(run_reply(b.run), &whole);
	/* upstream's member: a copy */
	assert_non_null(
	    strstr(str_text(&whole), ",\"response\":{\"id\":\"R\""));
	bench_close(&b);
}

/* The status of the response and the type of its last event. */
static void
ends(const char *end, const char *status, const char *event)
{
	auto_str struct str all = { 0 }, one = { 0 }, whole = { 0 };
	struct bench b;
	struct slice have;

	bench_open(&b, &reply_responses);
	say_call(&b);
	if (end != NULL)
		bench_say(&b, end);
	else
		run_stop(b.run, RUN_CANCELED, NULL, NULL);
	read_all(&b, &all);
	events(str_text(&all), events(str_text(&all), 0, &one) - 1, &whole);
	assert_non_null(strstr(str_text(&whole), event));
	str_cut(&whole, 0);
	responses_print(run_reply(b.run), run_facts(b.run), &whole);
	have = pick_text(slice_of(&whole), "status");
	assert_true(slice_is(have, status));
	assert_string_equal(responses_status(run_reply(b.run)), status);
	/* nothing is left open */
	assert_null(strstr(str_text(&whole), "in_progress"));
	bench_close(&b);
}

static void
responses_ends(void **state)
{
	(void)state;
	ends("\"op\":\"end\",\"status\":\"completed\"", "completed",
	    "response.completed");
	ends("\"op\":\"end\",\"status\":\"failed\",\"error\":{\"code\":\"X\","
	     "\"message\":\"m\"}",
	    "failed", "response.failed");
	ends("\"op\":\"end\",\"status\":\"rejected\"", "failed",
	    "response.failed");
	ends("\"op\":\"end\",\"status\":\"incomplete\"", "incomplete",
	    "response.incomplete");
	ends(NULL, "cancelled", "response.incomplete");
}

#define HEAD                                                                   \
	"data: {\"id\":\"R\",\"object\":\"chat.completion.chunk\","            \
	"\"created\":1000,\"model\":\"a\",\"system_fingerprint\":null,"        \
	"\"choices\":["
#define NONE "},\"logprobs\":null,\"finish_reason\":null}]}"

static const char *const chunks[] = {
	HEAD "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\","
	     "\"refusal\":null" NONE,
	HEAD "{\"index\":0,\"delta\":{\"content\":\"a\\n\\u2028\"" NONE,
	/* nobody has answered it by the end */
	HEAD "{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
	     "\"id\":\"c\",\"type\":\"function\",\"function\":{"
	     "\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}]" NONE,
	HEAD "{\"index\":0,\"delta\":{},\"logprobs\":null,"
	     "\"finish_reason\":\"tool_calls\"}]}",
	"data: [DONE]",
};
#define CHUNKS (sizeof chunks / sizeof *chunks)

static void
chat_stream(void **state)
{
	auto_str struct str all = { 0 };
	struct bench b;

	(void)state;
	bench_open(&b, &reply_chat);
	say_call(&b);
	bench_say(&b, "\"op\":\"end\",\"status\":\"completed\"");
	read_all(&b, &all);
	for (unsigned i = 0; i < CHUNKS; i++) {
		auto_str struct str one = { 0 };

		assert_int_equal(events(str_text(&all), i, &one), CHUNKS);
		assert_string_equal(str_text(&one), chunks[i]);
	}
	assert_false(chat_failed(run_reply(b.run)));
	bench_close(&b);
}

static void
picks(void **state)
{
	const char *text = "{\"a\":{\"b\":\"}\\\"\"},\"b\":\"x\",\"c\":[1,{}],"
			   "\"n\":-12,\"e\":\"\"}";
	struct slice o = { text, strlen(text) };
	int64_t n = 0;

	(void)state;
	assert_true(slice_is(pick(o, "a"), "{\"b\":\"}\\\"\"}"));
	assert_true(slice_is(pick_text(o, "b"), "x"));
	assert_true(slice_is(pick(o, "c"), "[1,{}]"));
	assert_true(slice_is(pick_text(o, "e"), ""));
	assert_null(pick_text(o, "c").at);
	assert_null(pick(o, "d").at);
	assert_true(pick_int(o, "n", &n));
	assert_int_equal(n, -12);
	assert_false(pick_int(o, "b", &n));
	assert_null(pick((struct slice){ "{}", 2 }, "a").at);
	assert_null(pick((struct slice){ "[1]", 3 }, "a").at);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses_stream),
		cmocka_unit_test(responses_ends),
		cmocka_unit_test(chat_stream),
		cmocka_unit_test(picks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
