#include <string.h>
#include "tests/unit/unit.h"
#include "web/fetchline.h"

static void
lines_survive_any_cut(void **unused)
{
	static const char in[] = "progress layer 1 of 2\nprogress\n"
				 "error limit 3 layers\nerror odd\ndone\n";
	(void)unused;
	for (size_t cut = 1; cut < sizeof in; cut++) {
		struct fetch_lines f = { 0 };
		struct fetch_line l;
		struct err err;
		int seen = 0;

		for (size_t at = 0; at + 1 < sizeof in; at += cut) {
			size_t left = sizeof in - 1 - at;

			fetch_lines_feed(&f, in + at, left < cut ? left : cut);
			while (fetch_lines_next(&f, &l, &err) == 1)
				switch (seen++) {
				case 0:
					assert_int_equal(l.word,
					    FETCH_PROGRESS);
					assert_string_equal(l.text,
					    "layer 1 of 2");
					break;
				case 1:
					assert_string_equal(l.text, "");
					break;
				case 2:
					assert_int_equal(l.word, FETCH_ERROR);
					assert_int_equal(l.err.code, ERR_LIMIT);
					assert_string_equal(l.err.text,
					    "3 layers");
					break;
				case 3:
					assert_int_equal(l.err.code, ERR_PROTO);
					break;
				default:
					assert_int_equal(l.word, FETCH_DONE);
				}
		}
		assert_int_equal(seen, 5);
		fetch_lines_free(&f);
	}
}

static void
strangers_are_refused(void **unused)
{
	char big[5000];
	const char *const bad[] = { "progresso x\n", "\n", "hello\n", big };

	(void)unused;
	memset(big, 'p', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fetch_lines f = { 0 };
		struct fetch_line l;
		struct err err;

		fetch_lines_feed(&f, bad[i], strlen(bad[i]));
		assert_int_equal(fetch_lines_next(&f, &l, &err), -1);
		assert_int_equal(err.code, ERR_PROTO);
		fetch_lines_free(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_survive_any_cut),
		cmocka_unit_test(strangers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
