#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/str.h"
#include "engine/ask.h"

static json_t *
json(const char *text)
{
	json_error_t e;
	json_t *v = json_loads(text, JSON_DECODE_ANY, &e);

	if (v == NULL)
		fail_msg("%s: %s", e.text, text);
	return v;
}

static void
same(const json_t *have, const char *wanted)
{
	json_t *w = json(wanted);
	char *text = json_dumps(have, JSON_COMPACT);

	if (!json_equal(have, w))
		fail_msg("have   %s\nwanted %s", text, wanted);
	free(text);
	json_decref(w);
}

/* What the body's input is in our messages; history may be NULL. */
static void
input(const char *body, const char *history, const char *wanted)
{
	json_t *b = json(body), *h = history != NULL ? json(history) : NULL;
	struct ask_fault f = { 0 };
	json_t *out = ask_responses(b, h, &f);

	if (out == NULL)
		fail_msg("%s: %s", f.param, f.text);
	same(json_object_get(out, "input"), wanted);
	json_decref(out);
	json_decref(h);
	json_decref(b);
}

#define TEXT(role, text)                                                       \
	"{\"type\":\"message\",\"role\":\"" role                               \
	"\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

static void
responses_input(void **state)
{
	(void)state;
	input("{\"input\":\"hi\"}", NULL, "[" TEXT("user", "hi") "]");
	input("{\"input\":\"hi\",\"instructions\":\"be\"}", NULL,
	    "[" TEXT("system", "be") "," TEXT("user", "hi") "]");
	input("{\"input\":[{\"role\":\"developer\",\"content\":\"d\"},"
	      "{\"type\":\"message\",\"role\":\"assistant\",\"content\":["
	      "{\"type\":\"output_text\",\"text\":\"o\",\"annotations\":[]}]}]"
	      "}",
	    NULL, "[" TEXT("system", "d") "," TEXT("assistant", "o") "]");
	input("{\"input\":[{\"role\":\"user\",\"content\":["
	      "{\"type\":\"input_image\",\"image_url\":\"u\",\"detail\":"
	      "\"low\"},"
	      "{\"type\":\"input_file\",\"filename\":\"n\",\"file_data\":\"d\"}"
	      ","
	      "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"a\","
	      "\"format\":\"mp3\"}},{\"type\":\"refusal\",\"refusal\":\"r\"}]}]"
	      "}",
	    NULL,
	    "[{\"type\":\"message\",\"role\":\"user\",\"content\":["
	    "{\"type\":\"image\",\"image_url\":\"u\"},"
	    "{\"type\":\"file\",\"filename\":\"n\",\"file_data\":\"d\"},"
	    "{\"type\":\"audio\",\"data\":\"a\",\"format\":\"mp3\"},"
	    "{\"type\":\"refusal\",\"refusal\":\"r\"}]}]");
}

#define CALL(type, role, data)                                                 \
	"{\"type\":\"" type "\",\"role\":\"" role                              \
	"\",\"content\":[{\"type\":\"data\",\"data\":{" data "}}]}"
#define FC                                                                     \
	"{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\","        \
	"\"arguments\":\"{}\"}"
#define FCO                                                                    \
	"{\"type\":\"function_call_output\",\"call_id\":\"c\","                \
	"\"output\":\"o\"}"
#define OUR_FC                                                                 \
	CALL("function_call", "assistant",                                     \
	    "\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"")
#define OUR_FCO                                                                \
	CALL("function_call_output", "tool",                                   \
	    "\"call_id\":\"c\",\"name\":\"f\",\"output\":\"o\"")

static void
responses_calls(void **state)
{
	(void)state;
	input("{\"input\":[" FC "," FCO "]}", NULL, "[" OUR_FC "," OUR_FCO "]");
	/* the call in the history, its answer in the input */
	input("{\"input\":[" FCO "]}", "[" FC "]", "[" OUR_FC "," OUR_FCO "]");
	/* a call that was never answered, and an answer without a call */
	input("{\"input\":\"x\"}", "[" FC "]", "[" TEXT("user", "x") "]");
	input("{\"input\":\"x\"}", "[" FCO "," FC "," FCO "]",
	    "[" OUR_FC "," OUR_FCO "," TEXT("user", "x") "]");
	input("{\"input\":[{\"type\":\"mcp_call\",\"id\":\"m\","
	      "\"name\":\"f\",\"arguments\":\"{}\",\"server_label\":\"s\","
	      "\"output\":\"o\"}]}",
	    NULL,
	    "[" CALL("mcp_call", "assistant",
		"\"call_id\":\"m\",\"arguments\":\"{}\",\"name\":\"f\","
		"\"server_label\":\"s\"") "," CALL("mcp_call_output", "tool",
		"\"call_id\":\"m\",\"name\":\"f\",\"output\":\"o\"") "]");
	input("{\"input\":[{\"type\":\"reasoning\",\"summary\":[{"
	      "\"type\":\"summary_text\",\"text\":\"s\"}],\"id\":\"r\"},"
	      "{\"type\":\"reasoning\",\"summary\":[],\"id\":\"r\","
	      "\"encrypted_content\":\"e\"}]}",
	    NULL,
	    "[{\"type\":\"reasoning\",\"role\":\"assistant\",\"content\":[{"
	    "\"type\":\"text\",\"text\":\"s\"}]}]");
}

static void
responses_members(void **state)
{
	json_t *b = json("{\"input\":\"x\",\"model\":\"m\","
			 "\"max_output_tokens\":7,\"temperature\":0.5,"
			 "\"user\":\"u\",\"conversation\":{\"id\":\"k\"},"
			 "\"session_id\":\"s\",\"metadata\":{\"a\":\"b\"},"
			 "\"tools\":[{\"type\":\"function\",\"name\":\"f\","
			 "\"parameters\":{},\"strict\":true}],"
			 "\"tool_choice\":\"auto\",\"stream\":true,"
			 "\"store\":false,\"temperature\":0.5}");
	struct ask_fault f = { 0 };
	json_t *out = ask_responses(b, NULL, &f);

	(void)state;
	assert_non_null(out);
	json_object_del(out, "input");
	same(out,
	    "{\"model\":\"m\",\"max_tokens\":7,\"temperature\":0.5,"
	    "\"user_id\":\"u\",\"session_id\":\"k\",\"metadata\":{"
	    "\"a\":\"b\"},\"tools\":[{\"type\":\"function\",\"function\":{"
	    "\"name\":\"f\",\"parameters\":{},\"strict\":true}}],"
	    "\"tool_choice\":\"auto\",\"stream\":true}");
	json_decref(out);
	json_decref(b);
}

static const struct {
	bool chat;
	const char *body, *param, *code;
} faults[] = {
	{ false, "[]", "body", "invalid_type" },
	{ false, "{}", "input", "missing_required_parameter" },
	{ false, "{\"input\":3}", "input", "invalid_type" },
	{ false, "{\"input\":[3]}", "input[0]", "invalid_type" },
	{ false, "{\"input\":[{\"role\":\"king\",\"content\":\"\"}]}",
	    "input[0].role", "invalid_value" },
	{ false, "{\"input\":[{\"role\":\"user\"}]}", "input[0].content",
	    "missing_required_parameter" },
	{ false,
	    "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"x\"}]}]}",
	    "input[0].content[0]", "invalid_value" },
	{ false,
	    "{\"input\":[{\"role\":\"user\",\"content\":[{"
	    "\"type\":\"input_text\",\"text\":3}]}]}",
	    "input[0].content[0].text", "invalid_type" },
	{ false, "{\"input\":[{\"type\":\"nonsense\"}]}", "input[0].type",
	    "invalid_value" },
	{ false, "{\"input\":[{\"type\":\"function_call\"}]}",
	    "input[0].call_id", "missing_required_parameter" },
	{ false, "{\"input\":[{\"type\":\"item_reference\",\"id\":\"i\"}]}",
	    "input[0]", "invalid_value" },
	{ false, "{\"input\":\"x\",\"temperature\":\"hot\"}", "temperature",
	    "invalid_type" },
	{ false, "{\"input\":\"x\",\"temperature\":3}", "temperature",
	    "invalid_value" },
	{ false, "{\"input\":\"x\",\"stream\":\"true\"}", "stream",
	    "invalid_type" },
	{ false, "{\"input\":\"x\",\"n\":9}", "n", "invalid_value" },
	{ false, "{\"input\":\"x\",\"model\":3}", "model", "invalid_type" },
	{ false, "{\"input\":\"x\",\"session_id\":3}", "session_id",
	    "invalid_type" },
	{ false, "{\"input\":\"x\",\"truncation\":\"some\"}", "truncation",
	    "invalid_value" },
	{ false, "{\"input\":\"x\",\"metadata\":{\"a\":1}}", "metadata.a",
	    "invalid_type" },
	{ false, "{\"input\":\"x\",\"tools\":[{\"type\":\"function\"}]}",
	    "tools[0].name", "missing_required_parameter" },
	{ false, "{\"input\":\"x\",\"tools\":[3]}", "tools[0]",
	    "invalid_type" },
	{ false, "{\"input\":\"x\",\"tool_choice\":\"maybe\"}", "tool_choice",
	    "invalid_value" },
	{ false, "{\"input\":\"x\",\"text\":{\"format\":3}}", "text.format",
	    "invalid_type" },
	{ false, "{\"input\":\"x\",\"conversation\":{}}", "conversation.id",
	    "invalid_type" },
	{ false,
	    "{\"input\":\"x\",\"conversation\":\"c\","
	    "\"previous_response_id\":\"r\"}",
	    "previous_response_id", "invalid_value" },
	{ false, "{\"input\":\"x\",\"background\":true,\"store\":false}",
	    "store", "invalid_value" },
	{ true, "{}", "messages", "missing_required_parameter" },
	{ true, "{\"messages\":[]}", "messages", "invalid_value" },
	{ true, "{\"messages\":[3]}", "messages[0]", "invalid_type" },
	{ true, "{\"messages\":[{\"role\":\"user\"}]}", "messages[0].content",
	    "missing_required_parameter" },
	{ true, "{\"messages\":[{\"content\":\"x\"}]}", "messages[0].role",
	    "missing_required_parameter" },
	{ true, "{\"messages\":[{\"role\":\"tool\",\"content\":\"x\"}]}",
	    "messages[0].tool_call_id", "missing_required_parameter" },
	{ true,
	    "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"n\":2}",
	    "n", "invalid_value" },
	{ true, "{\"messages\":\"x\"}", "messages", "invalid_type" },
};

static void
refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		json_t *b = json(faults[i].body), *out;
		struct ask_fault f = { 0 };

		out = faults[i].chat ? ask_chat(b, &f)
				     : ask_responses(b, NULL, &f);
		if (out != NULL)
			fail_msg("taken: %s", faults[i].body);
		assert_string_equal(f.param, faults[i].param);
		assert_string_equal(f.code, faults[i].code);
		assert_true(f.text[0] != '\0');
		json_decref(b);
	}
}

static void
chat(void **state)
{
	json_t *b = json(
	    "{\"messages\":[{\"role\":\"developer\",\"content\":\"d\"},"
	    "{\"role\":\"user\",\"content\":[{\"type\":\"text\","
	    "\"text\":\"t\"},{\"type\":\"image_url\",\"image_url\":{"
	    "\"url\":\"u\"}},{\"type\":\"file\",\"file\":{"
	    "\"file_id\":\"i\"}}]},{\"role\":\"assistant\",\"content\":null,"
	    "\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\","
	    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"
	    "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"o\"}],"
	    "\"max_completion_tokens\":5,\"user\":\"u\",\"n\":1}");
	struct ask_fault f = { 0 };
	json_t *out = ask_chat(b, &f);

	(void)state;
	if (out == NULL)
		fail_msg("%s: %s", f.param, f.text);
	same(out,
	    "{\"input\":[" TEXT("system",
		"d") ",{\"type\":\"message\","
		     "\"role\":\"user\",\"content\":[{\"type\":\"text\","
		     "\"text\":\"t\"},{\"type\":\"image\",\"image_url\":\"u\"},"
		     "{\"type\":\"file\",\"file_id\":\"i\"}]}," OUR_FC
		     "," OUR_FCO "],\"max_tokens\":5,\"user_id\":\"u\"}");
	json_decref(out);
	json_decref(b);
}

static void
stored_input(void **state)
{
	json_t *b = json("{\"input\":[{\"role\":\"user\",\"content\":\"x\"},"
			 "{\"type\":\"function_call_output\",\"id\":\"mine\","
			 "\"call_id\":\"c\",\"output\":\"o\"}]}");
	json_t *items = ask_responses_input(b, "R");

	(void)state;
	same(items,
	    "[{\"type\":\"message\",\"id\":\"msg_R_0\",\"role\":\"user\","
	    "\"status\":\"completed\",\"content\":[{\"type\":\"input_text\","
	    "\"text\":\"x\"}]},{\"type\":\"function_call_output\","
	    "\"id\":\"mine\",\"call_id\":\"c\",\"output\":\"o\"}]");
	json_decref(items);
	json_decref(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responses_input),
		cmocka_unit_test(responses_calls),
		cmocka_unit_test(responses_members),
		cmocka_unit_test(refused),
		cmocka_unit_test(chat),
		cmocka_unit_test(stored_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
