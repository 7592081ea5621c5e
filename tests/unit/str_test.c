#include <string.h>
#include "tests/unit/unit.h"
#include "base/str.h"

static void
grows_and_stays_ended(void **unused)
{
	auto_str struct str s = { 0 };

	(void)unused;
	assert_string_equal(str_text(&s), "");
	for (int i = 0; i < 1000; i++)
		str_printf(&s, "%d,", i);
	assert_int_equal(strlen(s.at), s.len);
	str_drop(&s, 2);
	assert_memory_equal(s.at, "1,2,", 4);
	str_cut(&s, 1);
	assert_string_equal(s.at, "1");
}

static void
hex_goes_there_and_back(void **unused)
{
	uint8_t in[3] = { 0, 0xab, 0xff }, out[3];
	char text[7];

	(void)unused;
	hex_put(text, in, 3);
	assert_string_equal(text, "00abff");
	assert_int_equal(hex_get(out, 3, text), 0);
	assert_memory_equal(in, out, 3);
	assert_int_equal(hex_get(out, 3, "00ABFF"), -1);
	assert_int_equal(hex_get(out, 3, "00abf"), -1);
	assert_int_equal(hex_get(out, 3, "00abff0"), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_and_stays_ended),
		cmocka_unit_test(hex_goes_there_and_back),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
