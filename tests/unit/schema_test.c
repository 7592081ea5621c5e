#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "guest/schema.h"

static const struct guest_param params[] = {
	{ "text", "Some text.", ARG_TEXT, 1, 10, false },
	{ "num", "A number.", ARG_INT, 1, 60, true },
	{ "flag", "Yes or no.", ARG_BOOL, 0, 1, true },
	{ "list", "Words.", ARG_LIST, 0, 0, true },
	{ "note", "More text.", ARG_TEXT, 0, 0, true },
};
static const struct guest_tool tool = { "try", "A tool.", false, params, 5 };

static void
prints_what_a_model_wants(void **unused)
{
	json_t *got = schema_tool(&tool);
	char *text = json_dumps(got, JSON_COMPACT);

	(void)unused;
	assert_string_equal(text,
	    "{\"name\":\"try\",\"json_schema\":{\"type\":\"function\","
	    "\"function\":{\"name\":\"try\",\"description\":\"A tool.\","
	    "\"parameters\":{\"type\":\"object\",\"properties\":{"
	    "\"text\":{\"type\":\"string\",\"description\":\"Some text.\"},"
	    "\"num\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":60,"
	    "\"description\":\"A number.\"},"
	    "\"flag\":{\"type\":\"boolean\",\"description\":\"Yes or no.\"},"
	    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
	    "\"description\":\"Words.\"},"
	    "\"note\":{\"type\":\"string\",\"description\":\"More text.\"}},"
	    "\"required\":[\"text\"]}}}}");
	free(text);
	json_decref(got);
}

static void
takes_what_fits(void **unused)
{
	static const char text[] =
	    "{\"text\":\"a\\u0000b\",\"num\":5.0,\"flag\":true,"
	    "\"list\":[\"x\",\"yz\"],\"note\":null,"
	    "\"split_output\":true}";
	json_t *j = json_loads(text, JSON_ALLOW_NUL, NULL);
	struct schema_args a;
	struct err err;

	(void)unused;
	assert_non_null(j);
	assert_int_equal(schema_args(&tool, j, &a, &err), 0);
	assert_int_equal(a.n, 4);
	assert_int_equal(a.arg[0].len, 3);
	assert_memory_equal(a.arg[0].text, "a\0b", 3);
	assert_int_equal(a.arg[1].num, 5);
	assert_int_equal(a.arg[2].num, 1);
	assert_string_equal(a.arg[3].list[1], "yz");
	assert_null(a.arg[3].list[2]);
	assert_null(a.arg[4].name);
	schema_args_free(&a);
	json_decref(j);
}

static void
says_what_is_wrong(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *args, *why;
	} rows[] = {
		{ "null",			"try: text is required" },
		{ "{}",				"try: text is required" },
		{ "{\"text\":null}",		"try: text is required" },
		{ "{\"text\":\"\"}",		"try: text is required" },
		{ "[]",		"try: the arguments must be an object" },
		{ "\"x\"",	"try: the arguments must be an object" },
		{ "{\"text\":5}",		"try: text must be a string" },
		{ "{\"text\":\"12345678901\"}",
		    "try: text has 11 bytes; 1 to 10 are allowed" },
		{ "{\"text\":\"a\",\"zz\":1}",
		    "try: there is no argument 'zz'" },
		{ "{\"text\":\"a\",\"num\":61}", "try: num must be 1 to 60" },
		{ "{\"text\":\"a\",\"num\":1.5}", "try: num must be an integer" },
		{ "{\"text\":\"a\",\"num\":\"1\"}", "try: num must be an integer" },
		{ "{\"text\":\"a\",\"flag\":1}", "try: flag must be true or false" },
		{ "{\"text\":\"a\",\"list\":[1]}",
		    "try: list must be an array of strings" },
		{ "{\"text\":\"a\",\"list\":{}}",
		    "try: list must be an array of strings" },
	};
	/* clang-format on */

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *j = json_loads(rows[i].args, JSON_DECODE_ANY, NULL);
		struct schema_args a;
		struct err err;

		assert_non_null(j);
		assert_int_equal(schema_args(&tool, j, &a, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(err.text, rows[i].why);
		json_decref(j);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_a_model_wants),
		cmocka_unit_test(takes_what_fits),
		cmocka_unit_test(says_what_is_wrong),
	};

	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
