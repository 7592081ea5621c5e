#include <string.h>
#include "agent/cap.h"
#include "base/str.h"
#include "tests/unit/unit.h"

static uint64_t
through(const char *in, size_t n, size_t most, size_t piece, struct str *out)
{
	struct cap c;

	cap_init(&c, most);
	for (size_t at = 0; at < n; at += piece) {
		size_t part = n - at < piece ? n - at : piece;

		str_add(out, in + at, cap_take(&c, in + at, part));
	}
	return cap_end(&c, out);
}

static void
what_fits_is_left_alone(void **unused)
{
	char in[64];

	(void)unused;
	memset(in, 'x', sizeof in);
	for (size_t n = 0; n <= sizeof in; n++)
		for (size_t piece = 1; piece <= n + 1; piece++) {
			auto_str struct str out = { 0 };

			in[n / 2] = (char)n;
			assert_int_equal(through(in, n, 64, piece, &out), 0);
			assert_int_equal(out.len, n);
			if (n > 0)
				assert_memory_equal(out.at, in, n);
			in[n / 2] = 'x';
		}
}

static void
head_and_tail_of_the_rest(void **unused)
{
	char in[1000];

	(void)unused;
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (char)('a' + i % 26);
	for (size_t piece = 1; piece <= sizeof in; piece++) {
		auto_str struct str out = { 0 }, want = { 0 };

		assert_int_equal(through(in, sizeof in, 21, piece, &out), 979);
		str_add(&want, in, 11);
		str_puts(&want, "\n[... 979 bytes left out ...]\n");
		str_add(&want, in + 990, 10);
		assert_int_equal(out.len, want.len);
		assert_memory_equal(out.at, want.at, want.len);
	}
}

static void
cuts_between_characters(void **unused)
{
	static const char *const one[] = { "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80" };

	(void)unused;
	for (size_t k = 0; k < 3; k++)
		for (size_t shift = 0; shift < 4; shift++)
			for (size_t most = 8; most < 40; most++) {
				auto_str struct str in = { 0 }, out = { 0 };
				uint64_t cut;
				const char *mark;

				str_add(&in, "abcd", shift);
				for (int i = 0; i < 100; i++)
					str_puts(&in, one[k]);
				cut = through(in.at, in.len, most, 7, &out);
				mark = memmem(out.at, out.len, "\n[...", 5);
				assert_non_null(mark);
				assert_int_equal(((size_t)(mark - out.at) -
						     shift) %
					strlen(one[k]),
				    0);
				mark = strstr(mark + 1, "\n") + 1;
				assert_memory_equal(mark, one[k],
				    strlen(one[k]));
				assert_true(cut + 3 >= in.len - most);
				assert_true(cut <= in.len - most + 3);
			}
}

static void
a_cap_of_one_byte(void **unused)
{
	auto_str struct str out = { 0 };

	(void)unused;
	assert_int_equal(through("abc", 3, 1, 1, &out), 1);
	assert_string_equal(out.at, "a\n[... 1 bytes left out ...]\nc");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_left_alone),
		cmocka_unit_test(head_and_tail_of_the_rest),
		cmocka_unit_test(cuts_between_characters),
		cmocka_unit_test(a_cap_of_one_byte),
	};

	return cmocka_run_group_tests_name("cap", tests, NULL, NULL);
}
