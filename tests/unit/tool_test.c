#include <string.h>
#include "tests/unit/unit.h"
#include "agent/tool.h"
#include "base/err.h"

/* clang-format off */
static const struct param params[] = {
	{ "command",	ARG_TEXT, 1, 10,   "t", false },
	{ "timeout",	ARG_INT,  1, 3600, "t", true },
	{ "tty",	ARG_BOOL, 0, 1,	   "t", true },
	{ "argv",	ARG_LIST, 1, 2,	   "t", true },
	{ NULL },
};
/* clang-format on */
static const struct tool tool = { .name = "try", .params = params };

static struct arg
text(const char *name, const char *value)
{
	return (struct arg){ .name = name,
		.type = ARG_TEXT,
		.text = value,
		.len = strlen(value) };
}

static struct arg
number(const char *name, enum arg_type type, int64_t n)
{
	return (struct arg){ .name = name, .type = type, .num = n };
}

static struct arg
list(const char *name, size_t n)
{
	return (struct arg){ .name = name, .type = ARG_LIST, .nitem = n };
}

static int
check(struct arg one, struct arg two, struct err *err)
{
	struct arg at[] = { one, two };
	struct args args = { at, two.name != NULL ? 2 : 1 };

	return tool_check(&tool, &args, err);
}

static void
takes_what_fits(void **unused)
{
	struct err err;
	struct arg c = text("command", "ls"), none = { 0 };

	(void)unused;
	assert_int_equal(check(c, none, &err), 0);
	assert_int_equal(check(c, number("timeout", ARG_INT, 3600), &err), 0);
	assert_int_equal(check(number("tty", ARG_BOOL, 1), c, &err), 0);
	assert_int_equal(check(c, list("argv", 2), &err), 0);
}

static void
says_what_does_not(void **unused)
{
	struct arg c = text("command", "ls"), none = { 0 };
	const struct {
		struct arg one, two;
		enum err_code code;
		const char *text;
	} bad[] = {
		{ number("tty", ARG_BOOL, 1), none, ERR_INVALID,
		    "command is required" },
		{ text("command", ""), none, ERR_INVALID,
		    "command is required" },
		{ text("command", "12345678901"), none, ERR_LIMIT,
		    "command: 11 bytes; 1 to 10 are allowed" },
		{ number("command", ARG_INT, 5), none, ERR_INVALID,
		    "command must be text" },
		{ c, text("timeout", "5"), ERR_INVALID,
		    "timeout must be a whole number" },
		{ c, number("timeout", ARG_INT, 0), ERR_LIMIT,
		    "timeout: 0; 1 to 3600 are allowed" },
		{ c, number("tty", ARG_INT, 1), ERR_INVALID,
		    "tty must be true or false" },
		{ c, list("argv", 3), ERR_LIMIT,
		    "argv: 3 items; 1 to 2 are allowed" },
		{ c, text("zz", "1"), ERR_INVALID, "try: unknown argument zz" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err err = { 0 };

		assert_int_equal(check(bad[i].one, bad[i].two, &err), -1);
		assert_string_equal(err.text, bad[i].text);
		assert_int_equal(err.code, bad[i].code);
	}
}

static void
hands_out_arguments(void **unused)
{
	struct arg at[] = { text("command", "ls"),
		number("timeout", ARG_INT, 7),
		{ .name = "nul", .type = ARG_TEXT, .text = "a\0b", .len = 3 } };
	struct args args = { at, 3 };
	struct err err;
	const char *out;

	(void)unused;
	assert_int_equal(arg_num(&args, "timeout", 9), 7);
	assert_int_equal(arg_num(&args, "absent", 9), 9);
	assert_int_equal(arg_text(&args, "command", &out, &err), 0);
	assert_string_equal(out, "ls");
	assert_int_equal(arg_text(&args, "absent", &out, &err), 0);
	assert_null(out);
	assert_int_equal(arg_text(&args, "nul", &out, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_fits),
		cmocka_unit_test(says_what_does_not),
		cmocka_unit_test(hands_out_arguments),
	};

	return cmocka_run_group_tests_name("tool", tests, NULL, NULL);
}
