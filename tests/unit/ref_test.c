#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "rootfs/ref.h"

static void
names_are_taken_apart(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *name, *repo, *tag;
	} rows[] = {
		{ "base",				"base",			"latest" },
		{ "base:v1.2-x",			"base",			"v1.2-x" },
		{ "docker.io/library/python:3",		"python",		"3" },
		{ "docker.io/some/thing",		"some/thing",		"latest" },
		{ "localhost:5000/a/b_c-d:T",		"localhost:5000/a/b_c-d", "T" },
		{ "ghcr.io/x/y",			"ghcr.io/x/y",		"latest" },
	};
	/* clang-format on */

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct ref ref;
		struct err err;

		assert_int_equal(ref_parse(rows[i].name, &ref, &err), 0);
		assert_string_equal(ref.repo, rows[i].repo);
		assert_string_equal(ref.tag, rows[i].tag);
	}
}

static void
what_could_be_a_path_is_no_name(void **unused)
{
	static const char *const bad[] = { "", ":", "a:", ":t", "/a", "a/",
		"a//b", "../a", "a/../b", "a/./b", "a:../t", "a:t/..", ".a",
		"a.", "a..b/c", "-a", "a:-t", "a b", "a\n", "a@sha256:00",
		"a:b:c", "host:port/a", "host:123456/a", "host:/a", "\xc3\xa9",
		"a:t\x7f" };
	char longest[300];

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct ref ref;
		struct err err;

		assert_int_equal(ref_parse(bad[i], &ref, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
	for (size_t n = 0; n < sizeof longest; n++) {
		struct ref ref;
		struct err err;

		memset(longest, 'a', n);
		longest[n] = '\0';
		assert_int_equal(ref_parse(longest, &ref, &err),
		    n > 0 && n <= REF_MAX ? 0 : -1);
		if (n == sizeof longest - 1)
			break;
	}
}

static void
annotations_match(void **unused)
{
	struct ref ref;
	struct err err;

	(void)unused;
	assert_int_equal(ref_parse("x/y:v1", &ref, &err), 0);
	assert_int_equal(ref_match(&ref, "docker.io/x/y:v1"), REF_SAME);
	assert_int_equal(ref_match(&ref, "v1"), REF_TAG);
	assert_int_equal(ref_match(&ref, "x/y"), REF_OTHER);
	assert_int_equal(ref_match(&ref, "../v1"), REF_OTHER);
	assert_int_equal(ref_match(&ref, NULL), REF_OTHER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_taken_apart),
		cmocka_unit_test(what_could_be_a_path_is_no_name),
		cmocka_unit_test(annotations_match),
	};

	return cmocka_run_group_tests_name("ref", tests, NULL, NULL);
}
