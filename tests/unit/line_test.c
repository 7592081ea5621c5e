#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/line.h"

static int
read_line(struct line *l, const char *text, struct str *scratch)
{
	struct err err;

	return line_read(l, text, strlen(text), scratch, &err);
}

static void
the_usual_ones_are_read_in_place(void **unused)
{
	static const struct {
		const char *text, *label, *said; /* label NULL: to the answer */
		int index;
	} rows[] = {
		{ "{\"run\":7,\"text\":\"Hello\"}", NULL, "Hello", -1 },
		{ " { \"text\" : \"a\\\"b\" , \"run\" : 7 } ", NULL, "a\\\"b",
		    -1 },
		{ "{\"run\":7,\"text\":\"\"}", NULL, "", -1 },
		{ "{\"run\":7,\"text\":\"\\u00e9\\\\\"}", NULL, "\xc3\xa9\\\\",
		    -1 },
		{ "{\"run\":7,\"object\":\"content\",\"msg_id\":\"m\",\"type\":"
		  "\"text\",\"index\":2,\"delta\":true,\"text\":\"x\"}",
		    "m", "x", 2 },
		{ "{\"run\":7,\"object\":\"content\",\"msg_id\":\"m\","
		  "\"delta\":true,\"text\":\"\\ud800\"}",
		    "m", "\xef\xbf\xbd", -1 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str scratch = { 0 };
		struct line l;

		assert_int_equal(read_line(&l, rows[i].text, &scratch), 0);
		assert_null(l.rest);
		assert_int_equal(l.run, 7);
		assert_int_equal(l.index, rows[i].index);
		assert_int_equal(l.is_text, rows[i].label == NULL);
		assert_int_equal(l.is_delta, rows[i].label != NULL);
		assert_int_equal(l.text.len, strlen(rows[i].said));
		assert_memory_equal(l.text.at, rows[i].said, l.text.len);
		if (l.is_delta)
			assert_memory_equal(l.label.at, rows[i].label, 1);
	}
}

static void
others_are_objects(void **unused)
{
	static const struct {
		const char *text;
		uint64_t run;
	} rows[] = {
		{ "{\"op\":\"ready\",\"protocol\":1}", 0 },
		{ "{\"run\":12345678901,\"op\":\"end\"}", 12345678901 },
		{ "{\"run\":1,\"text\":\"a\",\"more\":[1]}", 1 },
		{ "{\"run\":1,\"text\":null}", 1 },
		{ "{\"run\":1,\"text\":\"a\",\"text\":\"b\"}", 1 },
		{ "{\"run\":1,\"object\":\"content\",\"delta\":true,\"text\":"
		  "\"no label\"}",
		    1 },
		{ "{\"run\":1,\"object\":\"content\",\"msg_id\":\"m\\n\","
		  "\"delta\":true,\"text\":\"odd label\"}",
		    1 },
		{ "{\"run\":1,\"object\":\"content\",\"msg_id\":\"m\","
		  "\"delta\":false,\"text\":\"whole\"}",
		    1 },
		{ "{\"x\":\"\\ud800\"}", 0 },
		{ "{\"x\":\"\xff\"}", 0 },
		{ "{\"n\":123456789012345678901234567890}", 0 },
		{ "{}", 0 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str scratch = { 0 };
		struct line l;

		assert_int_equal(read_line(&l, rows[i].text, &scratch), 0);
		assert_true(json_is_object(l.rest));
		assert_false(l.is_text || l.is_delta);
		assert_int_equal(l.run, rows[i].run);
		json_decref(l.rest);
	}
}

static void
what_is_no_line_is_refused(void **unused)
{
	static const char *const rows[] = { "", " ", "x", "[]", "1", "\"a\"",
		"{", "{\"run\":1,\"text\":\"a\"", "{\"run\":1,\"text\":\"a\"}x",
		"{\"run\":1,\"text\":\"a\"}{}", "{\"run\":0,\"text\":\"a\"}",
		"{\"run\":-1,\"text\":\"a\"}", "{\"run\":01,\"text\":\"a\"}",
		"{\"run\":1.5,\"text\":\"a\"}", "{\"run\":\"1\"}",
		"{\"run\":1,\"text\":\"a\\\"}", "{\"run\":1,\"text\":\"\\x\"}",
		"{\"run\":1,\"text\":\"\x01\"}", "{\"run\":1,,\"text\":\"a\"}",
		"{\"run\":1 \"text\":\"a\"}", "{\"run\":1,\"text\":\"a\",}",
		"{\"run\":123456789012345678901,\"text\":\"a\"}",
		"{\"a\":NaN}" };
	auto_str struct str deep = { 0 };
	struct line l;
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str scratch = { 0 };

		if (line_read(&l, rows[i], strlen(rows[i]), &scratch, &err) ==
		    0)
			fail_msg("taken: %s", rows[i]);
		assert_int_equal(err.code, ERR_PROTO);
		assert_null(l.rest);
	}
	for (int i = 0; i < 100000; i++)
		str_puts(&deep, "{\"a\":");
	auto_str struct str scratch = { 0 };
	assert_int_equal(line_read(&l, deep.at, deep.len, &scratch, &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_usual_ones_are_read_in_place),
		cmocka_unit_test(others_are_objects),
		cmocka_unit_test(what_is_no_line_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
