#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/escape.h"

#define FFFD "\xef\xbf\xbd"

/* What is handed over has nothing behind it. */
static char *
exact(const char *s, size_t n)
{
	char *copy = xmalloc(n);

	memcpy(copy, s, n);
	return copy;
}

static void
any_bytes(void **unused)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" },
		{ "plain \x7f </script>", "plain \x7f </script>" },
		{ "a\"b\\c\n\r\t\b\f\x01\x1f",
		    "a\\\"b\\\\c\\n\\r\\t\\b\\f"
		    "\\u0001\\u001f" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
		{ "\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
		    "\\u0085\\u2028\\u2029\xe2\x80\xaa" },
		{ "\xff", FFFD },
		{ "\xc2", FFFD },
		{ "\xe2\x80", FFFD },
		{ "\xed\xa0\x80", FFFD FFFD FFFD },
		{ "x\xc2\x85\xffy", "x\\u0085" FFFD "y" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str out = { 0 };
		size_t n = strlen(rows[i].in);
		auto_free char *in = exact(rows[i].in, n);

		escape_text(&out, in, n);
		assert_string_equal(str_text(&out), rows[i].out);
	}
}

static void
insides(void **unused)
{
	static const struct {
		const char *in, *out; /* NULL: no inside */
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "\\n\\r\\t\\b\\f\\\"\\\\", "\\n\\r\\t\\b\\f\\\"\\\\" },
		{ "\\/", "/" },
		{ "\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac" },
		{ "\\u0000\\u001f\\u000a\\u0022", "\\u0000\\u001f\\n\\\"" },
		{ "\\u0085\\u2028\xe2\x80\xa9", "\\u0085\\u2028\\u2029" },
		{ "\\ud83d\\ude00", "\xf0\x9f\x98\x80" },
		{ "\\uDBFF\\uDFFF", "\xf4\x8f\xbf\xbf" },
		{ "\\ud83d", FFFD },
		{ "\\ude00\\ud83dx", FFFD FFFD "x" },
		{ "\\ud83d\\ud83d\\ude00", FFFD "\xf0\x9f\x98\x80" },
		{ "\xff\xc3\xa9", FFFD "\xc3\xa9" },
		{ "\\x", NULL },
		{ "\\", NULL },
		{ "\\u12", NULL },
		{ "\\u12g4", NULL },
		{ "a\x01", NULL },
		{ "a\"b", NULL },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str out = { 0 }, again = { 0 };
		size_t n = strlen(rows[i].in);
		auto_free char *in = exact(rows[i].in, n);
		int rc = escape_inner(&out, in, n);

		assert_int_equal(rc, rows[i].out != NULL ? 0 : -1);
		if (rc < 0)
			continue;
		assert_string_equal(str_text(&out), rows[i].out);
		/* Escaping what is escaped changes nothing. */
		escape_inner(&again, str_text(&out), out.len);
		assert_string_equal(str_text(&again), rows[i].out);
		if (strstr(rows[i].in, "\\u") == NULL)
			assert_int_equal(escape_span(in, n) == n,
			    strcmp(rows[i].in, rows[i].out) == 0);
	}
}

static void
values(void **unused)
{
	auto_str struct str out = { 0 };
	json_t *v = json_pack("{s:s, s:[i,n], s:f}", "k\xe2\x80\xa8",
	    "a\xc2\x85\"", "l", 1, "f", 0.1);

	(void)unused;
	escape_json(&out, v);
	assert_string_equal(out.at,
	    "{\"k\\u2028\":\"a\\u0085\\\"\",\"l\":[1,null],\"f\":0.1}");
	json_decref(v);
}

static void
strangers_text(void **unused)
{
	static const struct {
		const char *in, *out; /* NULL: as it is */
	} rows[] = {
		{ "{\"a\":\"\\\\ud800 \\ud83d\\ude00\"}", NULL },
		{ "", NULL },
		{ "\\", NULL },
		{ "\"\\ud800\"", "\"\\ufffd\"" },
		{ "\"\\udc00x\\ud800\\n\"", "\"\\ufffdx\\ufffd\\n\"" },
		{ "\"\xff\\ud800\"", "\"" FFFD "\\ufffd\"" },
		{ "\\ud800", "\\ufffd" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str scratch = { 0 };
		size_t n = strlen(rows[i].in);
		auto_free char *in = exact(rows[i].in, n);
		const char *got = escape_tidy(in, &n, &scratch);
		const char *want =
		    rows[i].out != NULL ? rows[i].out : rows[i].in;

		assert_int_equal(got == in, rows[i].out == NULL);
		assert_int_equal(n, strlen(want));
		assert_memory_equal(got, want, n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(insides),
		cmocka_unit_test(values),
		cmocka_unit_test(strangers_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
