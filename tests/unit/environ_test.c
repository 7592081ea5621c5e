#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "json/jtext.h"
#include "web/environ.h"

static json_t *
json(const char *text)
{
	struct err err;
	json_t *v = jtext_read(text, strlen(text), NULL, &err);

	if (v == NULL)
		fail_msg("%s: %s", text, err.text);
	return v;
}

static void
values_are_printed_as_python_prints_them(void **unused)
{
	static const char in[] = "{\"A\":\"x=y\",\"B\":5,\"C\":true,\"D\":1.5,"
				 "\"SECRET_TOKEN\":\"s\",\"E\":\"\","
				 "\"F\":12345678901234567890}";
	static const char *const want[] = { "A=x=y", "B=5", "C=True", "D=1.5",
		"E=", "F=12345678901234567890" };
	struct environ_list e = { 0 };
	json_t *v = json(in);
	struct err err;

	(void)unused;
	assert_int_equal(environ_read(&e, v, &err), 0);
	assert_int_equal(e.n, 6);
	for (size_t i = 0; i < e.n; i++)
		assert_string_equal(e.at[i], want[i]);
	assert_null(e.at[e.n]);
	environ_free(&e);
	json_decref(v);
}

static void
what_can_be_none_is_refused(void **unused)
{
	static const struct {
		const char *in;
		int r, code;
	} rows[] = {
		{ "null", 0, 0 },
		{ "[]", 0, 0 },
		{ "{}", 0, 0 },
		{ "[1]", -1, ERR_INVALID },
		{ "\"x\"", -1, ERR_INVALID },
		{ "{\"A\":null}", -1, ERR_DENIED },
		{ "{\"A\":{}}", -1, ERR_DENIED },
		{ "{\"A=\":\"x\"}", -1, ERR_DENIED },
		{ "{\"\":\"x\"}", -1, ERR_DENIED },
		{ "{\"A\":\"x\\u0000\"}", -1, ERR_DENIED },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct environ_list e = { 0 };
		json_t *v = json(rows[i].in);
		struct err err;

		assert_int_equal(environ_read(&e, v, &err), rows[i].r);
		if (rows[i].r < 0)
			assert_int_equal(err.code, rows[i].code);
		environ_free(&e);
		json_decref(v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_printed_as_python_prints_them),
		cmocka_unit_test(what_can_be_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
