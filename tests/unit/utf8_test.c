#include <string.h>
#include "tests/unit/unit.h"
#include "base/str.h"
#include "base/utf8.h"

static void
knows_text(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *bytes;
		size_t n, span;
	} rows[] = {
		{ "", 0, 0 },
		{ "abc", 3, 3 },
		{ "a\0b", 3, 3 },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, 9 },
		{ "a\xc0\x80", 3, 1 },		/* overlong */
		{ "\xed\xa0\x80", 3, 0 },	/* surrogate */
		{ "\xf4\x90\x80\x80", 4, 0 },	/* too high */
		{ "ok\xe2\x82", 4, 2 },		/* cut off */
		{ "\x80", 1, 0 },
		{ "\xff", 1, 0 },
	};
	/* clang-format on */

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(utf8_span(rows[i].bytes, rows[i].n),
		    rows[i].span);
}

static void
replaces_what_is_not(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *bytes, *want;
	} rows[] = {
		{ "plain",		"plain" },
		{ "a\xff" "b",		"a\xef\xbf\xbd" "b" },
		{ "\xe2\x82" "x",	"\xef\xbf\xbdx" },
		{ "\xe2\x82",		"\xef\xbf\xbd" },
		{ "\xed\xa0\x80",	"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf0\x9f\x98",	"\xef\xbf\xbd" },
	};
	/* clang-format on */

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_str struct str out = { 0 };

		utf8_clean(&out, rows[i].bytes, strlen(rows[i].bytes));
		assert_string_equal(str_text(&out), rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_text),
		cmocka_unit_test(replaces_what_is_not),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
