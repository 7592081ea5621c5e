#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "json/jtext.h"

static void
survives(const char *in, const char *want)
{
	auto_str struct str out = { 0 };
	struct err err;
	json_t *v = jtext_read(in, strlen(in), NULL, &err);

	if (v == NULL)
		fail_msg("%s: %s", in, err.text);
	jtext_write(&out, v);
	assert_string_equal(str_text(&out), want);
	json_decref(v);
}

static void
values_come_back_as_they_were(void **unused)
{
	static const char *const same[] = { "{}", "[]", "null", "true",
		"[1,-1,0]", "{\"b\":1,\"a\":{\"z\":null}}",
		"9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "-9223372036854775809",
		"[123456789012345678901234567890]", "0.1", "1.5", "-2.25",
		"1e+100", "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0001\"", "\"\\u0000x\"",
		"\"\\u001f#12\"", "\"\\u001f\"", "{\"\\u001f#1\":2}",
		"\"h\xc3\xa9\xf0\x9f\x98\x80\"", "\"\x7f\xe2\x80\xa8\"" };

	(void)unused;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		survives(same[i], same[i]);
	survives(" { \"a\" : 1 , \"a\" : 2 } ", "{\"a\":2}");
	survives("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
	survives("\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
	survives("1.0", "1.0");
	survives("1e3", "1000.0");
	survives("[12345678901234567890,\"12345678901234567890\"]",
	    "[12345678901234567890,\"12345678901234567890\"]");
}

static void
what_is_no_json_is_refused(void **unused)
{
	static const char *const bad[] = { "", " ", "{", "[1,]", "{\"a\"}",
		"nope", "NaN", "Infinity", "-Infinity", "1e400", "01",
		"{123456789012345678901:1}", "\"\x01\"", "[1] x", "'a'",
		"\"\\ud800\"", "123456789012345678901x" };
	struct jtext_where where;
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_null(jtext_read(bad[i], strlen(bad[i]), &where, &err));
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.text, ": line "));
	}
	assert_null(jtext_read("", 0, NULL, &err));
	assert_string_equal(err.text,
	    "Expecting value: line 1 column 1 (char 0)");
	assert_null(jtext_read("\"\xff\"", 3, NULL, &err));
	assert_string_equal(err.text,
	    "'utf-8' codec can't decode byte 0xff in position 1");
}

static void
texts_are_what_the_client_wrote(void **unused)
{
	static const char in[] = "[\"\\u001fx\",\"a\\u0000b\",12345678901234567"
				 "8901234,5]";
	struct err err;
	json_t *v = jtext_read(in, sizeof in - 1, NULL, &err);
	size_t n;

	(void)unused;
	assert_non_null(v);
	assert_memory_equal(jtext_string(json_array_get(v, 0), &n), "\037x", 2);
	assert_int_equal(n, 2);
	assert_memory_equal(jtext_string(json_array_get(v, 1), &n), "a\0b", 3);
	assert_int_equal(n, 3);
	assert_null(jtext_cstring(json_array_get(v, 1)));
	assert_null(jtext_string(json_array_get(v, 2), &n));
	assert_null(jtext_string(json_array_get(v, 3), &n));
	assert_null(jtext_string(NULL, &n));
	json_decref(v);
}

static void
any_bytes_become_a_string(void **unused)
{
	auto_str struct str out = { 0 };

	(void)unused;
	jtext_quote(&out, "a\0\xff\xe2\x82z", 6);
	assert_string_equal(out.at, "\"a\\u0000\xef\xbf\xbd\xef\xbf\xbdz\"");
	str_cut(&out, 0);
	jtext_quote(&out, NULL, 0);
	assert_string_equal(out.at, "\"\"");
}

static void
times_are_floats_or_null(void **unused)
{
	auto_str struct str out = { 0 };

	(void)unused;
	jtext_time(&out, 0);
	str_putc(&out, ' ');
	jtext_time(&out, 1796048410.25);
	str_putc(&out, ' ');
	jtext_time(&out, 1796048410);
	assert_string_equal(out.at, "null 1796048410.25 1796048410.0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_back_as_they_were),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(texts_are_what_the_client_wrote),
		cmocka_unit_test(any_bytes_become_a_string),
		cmocka_unit_test(times_are_floats_or_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
