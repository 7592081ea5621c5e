#include <string.h>
#include "tests/unit/unit.h"
#include "base/str.h"
#include "web/plain.h"

struct pair {
	const char *in;
	size_t n;
	const char *out;
};
#define PAIR(i, o)                                                             \
	{                                                                      \
		i, sizeof(i) - 1, o                                            \
	}

static const struct pair pairs[] = {
	PAIR("", ""),
	PAIR("a\nb", "a\nb"),
	PAIR("a\r\nb\rc\n", "a\nb\nc\n"),
	PAIR("\r", "\n"),
	PAIR("\r\r\n\n\r", "\n\n\n\n"),
	PAIR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
	PAIR("x\xff\r\n\xc3", "x\xef\xbf\xbd\n\xef\xbf\xbd"),
	PAIR("\xe2\x82\n", "\xef\xbf\xbd\n"),
	PAIR("\xf0\x9f\x98", "\xef\xbf\xbd"),
};

/* The result is the same wherever the pieces are cut. */
static void
cuts_do_not_show(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (size_t cut = 1; cut <= pairs[i].n + 1; cut++) {
			const uint8_t *b = (const uint8_t *)pairs[i].in;
			auto_str struct str out = { 0 };
			struct plain p = { 0 };

			for (size_t at = 0; at < pairs[i].n; at += cut)
				plain_feed(&p, b + at,
				    at + cut < pairs[i].n ? cut
							  : pairs[i].n - at,
				    &out);
			plain_end(&p, &out);
			assert_string_equal(str_text(&out), pairs[i].out);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_do_not_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
