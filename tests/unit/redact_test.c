#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "base/str.h"
#include "model/redact.h"

#define KEY "sk-abcabcabd-1234"
#define OTHER "sk-abcabcabd-12345678"

static void
a_secret_goes_wherever_it_is_split(void **unused)
{
	static const char text[] = "x" KEY "y sk-abcab" KEY KEY "sk-abc";
	const char *want = "x[hidden]y sk-abcab[hidden][hidden]sk-abc";
	size_t n = strlen(text);

	(void)unused;
	for (size_t at = 0; at <= n; at++) {
		struct redact r = { 0 };
		auto_str struct str out = { 0 };

		redact_add(&r, KEY, strlen(KEY));
		redact_feed(&r, text, at, &out);
		redact_feed(&r, text + at, n - at, &out);
		redact_end(&r, &out);
		assert_string_equal(str_text(&out), want);
		redact_free(&r);
	}
}

static void
one_byte_at_a_time(void **unused)
{
	static const char text[] = "a" OTHER "b" KEY "c";
	struct redact r = { 0 };
	auto_str struct str out = { 0 };

	(void)unused;
	redact_add(&r, KEY, strlen(KEY));
	redact_add(&r, OTHER, strlen(OTHER));
	for (size_t i = 0; i < strlen(text); i++) {
		redact_feed(&r, text + i, 1, &out);
		assert_true(r.held.len < strlen(OTHER));
	}
	redact_end(&r, &out);
	assert_string_equal(str_text(&out), "a[hidden]b[hidden]c");
	redact_free(&r);
}

static void
nothing_waits_that_need_not(void **unused)
{
	struct redact r = { 0 };
	auto_str struct str out = { 0 };

	(void)unused;
	redact_add(&r, KEY, strlen(KEY));
	redact_feed(&r, "data: hello\n\n", 13, &out);
	assert_string_equal(str_text(&out), "data: hello\n\n");
	redact_free(&r);
}

static void
what_is_short_is_no_secret(void **unused)
{
	struct redact r = { 0 };
	auto_free char *text = NULL;

	(void)unused;
	redact_add(&r, "EMPTY", 5);
	assert_int_equal(r.n, 0);
	redact_add(&r, KEY, strlen(KEY));
	text = redact_text(&r, "EMPTY or " KEY);
	assert_string_equal(text, "EMPTY or [hidden]");
	redact_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_goes_wherever_it_is_split),
		cmocka_unit_test(one_byte_at_a_time),
		cmocka_unit_test(nothing_waits_that_need_not),
		cmocka_unit_test(what_is_short_is_no_secret),
	};

	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
