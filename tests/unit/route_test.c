#include <stdio.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "web/route.h"
#include "web/uri.h"

#define GET (1u << HTTP_GET)
#define POST (1u << HTTP_POST)
#define DELETE (1u << HTTP_DELETE)

/* clang-format off */
static const struct route table[] = {
	{ GET,		"/" },
	{ GET,		"/health" },
	{ GET,		"/a/fixed" },
	{ GET | DELETE,	"/a/:id" },
	{ POST,		"/a/:id" },
	{ POST,		"/a/:id/b/:other" },
	{ GET | POST,	"/proxy/:id/*rest" },
	{ GET,		"/:w/:x/:y/:z/:one-too-many" },
};
/* clang-format on */

/* "row names", or the error. */
static void
expect(enum http_method method, const char *path, const char *want)
{
	auto_str struct str got = { 0 };
	struct route_names names;
	struct err err = { 0 };
	unsigned allow = 0;
	const struct route *r = route_find(table, sizeof table / sizeof *table,
	    method, path, &names, &allow, &err);

	if (r == NULL)
		str_printf(&got, "%s %x", err.text, allow);
	else
		str_printf(&got, "%d", (int)(r - table));
	for (int i = 0; r != NULL && i < names.n; i++)
		str_printf(&got, " %.*s=%.*s", (int)names.at[i].name_len,
		    names.at[i].name, (int)names.at[i].value_len,
		    names.at[i].value);
	assert_string_equal(got.at, want);
}

static void
finds_rows_and_binds_names(void **unused)
{
	(void)unused;
	expect(HTTP_GET, "/", "0");
	expect(HTTP_GET, "/health", "1");
	expect(HTTP_GET, "/health/", "1");
	expect(HTTP_GET, "/a/fixed", "2");
	expect(HTTP_GET, "/a/other", "3 id=other");
	expect(HTTP_DELETE, "/a/fixed", "3 id=fixed");
	expect(HTTP_POST, "/a/x%2Fy/", "4 id=x%2Fy");
	expect(HTTP_POST, "/a/x/b/y", "5 id=x other=y");
}

static void
binds_the_rest(void **unused)
{
	(void)unused;
	expect(HTTP_GET, "/proxy/i", "6 id=i rest=");
	expect(HTTP_GET, "/proxy/i/", "6 id=i rest=");
	expect(HTTP_POST, "/proxy/i/a/b", "6 id=i rest=a/b");
	expect(HTTP_GET, "/proxy/i/a/b/", "6 id=i rest=a/b/");
	expect(HTTP_GET, "/proxy", "Not Found 0");
	expect(HTTP_GET, "/proxy/", "Not Found 0");
}

static void
tells_a_path_from_a_method(void **unused)
{
	(void)unused;
	expect(HTTP_GET, "/nope", "Not Found 0");
	expect(HTTP_GET, "/healthy", "Not Found 0");
	expect(HTTP_GET, "/healt", "Not Found 0");
	expect(HTTP_GET, "/a", "Not Found 0");
	expect(HTTP_GET, "/a/x/b", "Not Found 0");
	expect(HTTP_GET, "/health//", "Not Found 0");
	expect(HTTP_GET, "/a//", "Not Found 0");
	expect(HTTP_POST, "/a//b/y", "Not Found 0");
	expect(HTTP_GET, "*", "Not Found 0");
	expect(HTTP_GET, "", "Not Found 0");
	expect(HTTP_POST, "/health", "Method Not Allowed 1");
	expect(HTTP_HEAD, "/health", "Method Not Allowed 1");
	expect(HTTP_PUT, "/a/x", "Method Not Allowed 15");
	expect(HTTP_METHODS, "/health", "Method Not Allowed 1");
	/* A row with more names than fit never matches. */
	expect(HTTP_GET, "/1/2/3/4/5", "Not Found 0");
}

static void
decodes(void **unused)
{
	char out[32];

	(void)unused;
	assert_int_equal(uri_decode(out, "a%20b+%2f%C3%A9", 15, false), 0);
	assert_string_equal(out, "a b+/\303\251");
	assert_int_equal(uri_decode(out, "a+b%2B", 6, true), 0);
	assert_string_equal(out, "a b+");
	assert_int_equal(uri_decode(out, "", 0, true), 0);
	assert_string_equal(out, "");
	assert_int_equal(uri_decode(out, "%00", 3, false), -1);
	assert_int_equal(uri_decode(out, "%4", 2, false), -1);
	assert_int_equal(uri_decode(out, "%", 1, false), -1);
	assert_int_equal(uri_decode(out, "%g1", 3, false), -1);
	assert_int_equal(uri_decode(out, "%1g", 3, false), -1);
	assert_int_equal(uri_decode(out, "%20", 2, false), -1);
	assert_true(uri_is_sane("a=b&c=%41"));
	assert_false(uri_is_sane("a=100%"));
	assert_false(uri_is_sane("a=%00"));
}

static void
collapses_slashes(void **unused)
{
	/* clang-format off */
	static const char *const pairs[][2] = {
		{ "/", "/" }, { "//", "/" }, { "///a//b/", "/a/b/" },
		{ "/a/b", "/a/b" }, { "", "" }, { "*", "*" },
	};
	/* clang-format on */
	(void)unused;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char path[32];

		snprintf(path, sizeof path, "%s", pairs[i][0]);
		uri_collapse(path);
		assert_string_equal(path, pairs[i][1]);
	}
}

static void
splits_queries(void **unused)
{
	auto_str struct str got = { 0 };
	const char *at = "&a=1&&b&c=&=d&e=f=g&";
	struct uri_pair p;

	(void)unused;
	while (uri_next_pair(&at, &p))
		str_printf(&got, "(%.*s|%.*s)", (int)p.name_len, p.name,
		    (int)p.value_len, p.value);
	assert_string_equal(got.at, "(a|1)(b|)(c|)(|d)(e|f=g)");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_rows_and_binds_names),
		cmocka_unit_test(binds_the_rest),
		cmocka_unit_test(tells_a_path_from_a_method),
		cmocka_unit_test(decodes),
		cmocka_unit_test(collapses_slashes),
		cmocka_unit_test(splits_queries),
	};

	return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
