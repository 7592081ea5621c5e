#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "web/multipart.h"

static int
on_begin(void *arg, const struct multipart_part *part, struct err *err)
{
	(void)err;
	str_printf(arg, "(%s %s %s:", part->name,
	    part->filename != NULL ? part->filename : "-",
	    part->type != NULL ? part->type : "-");
	return 0;
}

static int
on_data(void *arg, const uint8_t *bytes, size_t n, struct err *err)
{
	(void)err;
	assert_true(n > 0);
	str_add(arg, bytes, n);
	return 0;
}

static int
on_end(void *arg, struct err *err)
{
	(void)err;
	str_puts(arg, ")");
	return 0;
}

static const struct multipart_calls calls = { on_begin, on_data, on_end };

static void
trace(struct str *out, const char *type, const char *in, size_t n, size_t piece)
{
	struct multipart m;
	struct err err;
	int r = 0;

	if (multipart_init(&m, type, &calls, out, &err) < 0) {
		str_printf(out, "error %s", err.text);
		return;
	}
	for (size_t at = 0; at < n && r == 0; at += piece)
		r = multipart_feed(&m, (const uint8_t *)in + at,
		    n - at < piece ? n - at : piece, &err);
	if (r < 0 || multipart_finish(&m, &err) < 0)
		str_printf(out, "error %s", err.text);
	multipart_free(&m);
}

static void
expect(const char *type, const char *in, size_t n, const char *want)
{
	for (size_t piece = 1; piece <= n + 1; piece++) {
		auto_str struct str got = { 0 };

		trace(&got, type, in, n, piece);
		assert_string_equal(str_text(&got), want);
	}
}

#define TYPE "multipart/form-data; boundary=b"
#define PART(params) "--b\r\nContent-Disposition: form-data; " params "\r\n\r\n"

static void
expect_text(const char *in, const char *want)
{
	expect(TYPE, in, strlen(in), want);
}

static void
reads_what_the_clients_send(void **unused)
{
	static const char dashes[] =
	    "multipart/form-data; boundary=----agentscope-0123";
	static const char in[] =
	    "------agentscope-0123\r\n"
	    "Content-Disposition: form-data; name=\"paths\"\r\n\r\n"
	    "d/a.txt\r\n"
	    "------agentscope-0123\r\n"
	    "Content-Disposition: form-data; name=\"files\"; "
	    "filename=\"r\303\251sum\303\251.txt\"\r\n"
	    "Content-Type: application/octet-stream\r\n\r\n"
	    "x\r\n------agentscope-0124\r\r\n-\r\n"
	    "------agentscope-0123--\r\n";

	(void)unused;
	expect(dashes, in, sizeof in - 1,
	    "(paths - -:d/a.txt)"
	    "(files r\303\251sum\303\251.txt application/octet-stream:"
	    "x\r\n------agentscope-0124\r\r\n-)");
}

static void
keeps_every_byte(void **unused)
{
	auto_str struct str in = { 0 }, want = { 0 };

	(void)unused;
	str_puts(&in, PART("name=\"f\""));
	str_puts(&want, "(f - -:");
	for (int i = 1; i < 256; i++)
		str_putc(&in, (char)i), str_putc(&want, (char)i);
	str_puts(&in, "\r\r\n\r\n--\r\n--a\r\n--B\r\n--b--");
	str_puts(&want, "\r\r\n\r\n--\r\n--a\r\n--B)");
	expect(TYPE, in.at, in.len, want.at);
}

static void
empty_parts_and_edges(void **unused)
{
	(void)unused;
	expect_text("--b--", "");
	expect_text("--b--\r\nepilogue --b\r\n", "");
	expect_text("preamble\r\n--b--", "");
	expect_text(PART("name=a") "\r\n--b--", "(a - -:)");
	expect_text(PART("name=a") "--b--", "(a - -:)");
	expect_text(PART("name=a") "\r\n\r\n--b--", "(a - -:\r\n)");
	expect_text(PART("name=a") "--c\r\n--b--", "(a - -:--c)");
	expect_text("--b \t\r\n\r\n\r\n--b--", "( - -:)");
	expect_text("--b\r\nX: y\r\n\r\nz\r\n--b--", "( - -:z)");
	expect_text(PART("name=a") "1\r\n" PART("name=b") "2\r\n--b--",
	    "(a - -:1)(b - -:2)");
}

static void
reads_parameters(void **unused)
{
	(void)unused;
	expect_text(PART("name=\"a;b\"; filename=\"c\\\"d\\\\e\\f\"") "\r\n--b-"
								      "-",
	    "(a;b c\"d\\e\\f -:)");
	expect_text(PART("filename=\"%22 ; x\";name=\"\"") "\r\n--b--",
	    "( %22 ; x -:)");
	expect_text(PART("name=a; filename*=UTF-8''x; size=3") "\r\n--b--",
	    "(a - -:)");
	expect_text(PART("NAME=a ; FileName=../../etc/passwd") "\r\n--b--",
	    "(a ../../etc/passwd -:)");
	/* A quote that never ends: what was read before it counts. */
	expect_text(PART("name=a; filename=\"x") "\r\n--b--", "(a - -:)");
}

static void
refuses(void **unused)
{
	static const char nul[] = "--b\r\nA\0: b\r\n\r\n\r\n--b--";

	(void)unused;
	expect_text("", "error multipart: ended early");
	expect_text("no boundary at all", "error multipart: ended early");
	expect_text(PART("name=a") "x", "(a - -:xerror multipart: ended early");
	expect_text("--b\r\nA: b\r\n", "error multipart: ended early");
	expect_text("--bx\r\n\r\n\r\n--b--", "error multipart: bad boundary");
	expect_text("--b-x", "error multipart: bad boundary");
	expect_text("--b\rx", "error multipart: bad boundary");
	expect_text("--b\r\nA: b\n\r\n\r\n--b--", "error multipart: bare LF");
	expect_text("--b\r\nA : b\r\n\r\n\r\n--b--",
	    "error multipart: malformed field");
	expect_text("--b\r\n A: b\r\n\r\n\r\n--b--",
	    "error multipart: malformed field");
	expect_text("--b\r\nContent-Disposition: attachment\r\n\r\n\r\n--b--",
	    "error multipart: not form-data");
	expect(TYPE, nul, sizeof nul - 1, "error multipart: NUL in a head");
}

static void
knows_content_types(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *type;
		bool good;
	} types[] = {
		{ "multipart/form-data; boundary=b", true },
		{ "Multipart/Form-Data;boundary=\"b\"", true },
		{ "multipart/form-data ; charset=utf-8; Boundary=b", true },
		{ "multipart/form-data", false },
		{ "multipart/form-data; boundary=", false },
		{ "multipart/form-data; boundary=\"b", false },
		{ "multipart/form-data; boundary=\"b \"", false },
		{ "multipart/form-data; boundary=\xc3\xa9", false },
		{ "multipart/mixed; boundary=b", false },
		{ "application/json", false },
		{ "", false },
		{ NULL, false },
	};
	/* clang-format on */
	(void)unused;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		auto_str struct str got = { 0 };

		trace(&got, types[i].type, "--b--", 5, 5);
		assert_int_equal(got.len == 0, types[i].good);
	}
}

static void
bounds(void **unused)
{
	auto_str struct str head = { 0 }, parts = { 0 }, got = { 0 };
	char longest[128] = "multipart/form-data; boundary=";

	(void)unused;
	str_puts(&head, "--b\r\nA: ");
	for (int i = 0; i < MULTIPART_HEAD_MAX; i++)
		str_putc(&head, 'x');
	trace(&got, TYPE, head.at, head.len, 1000);
	assert_string_equal(got.at, "error multipart: head too large");
	str_cut(&got, 0);
	for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
		str_puts(&parts, i == 0 ? "--b\r\n\r\n" : "\r\n--b\r\n\r\n");
	trace(&got, TYPE, parts.at, parts.len, 65536);
	assert_non_null(strstr(got.at, "error multipart: too many parts"));
	str_cut(&got, 0);
	memset(longest + 30, 'x', MULTIPART_BOUNDARY_MAX);
	trace(&got, longest, "", 0, 1);
	assert_string_equal(got.at, "error multipart: ended early");
	str_cut(&got, 0);
	strcat(longest, "x");
	trace(&got, longest, "", 0, 1);
	assert_string_equal(got.at, "error no good boundary");
}

static int
full(void *arg, const uint8_t *bytes, size_t n, struct err *err)
{
	(void)arg;
	(void)bytes;
	(void)n;
	return err_set(err, ERR_LIMIT, "disk full");
}

static void
hands_on_its_callers_errors(void **unused)
{
	static const struct multipart_calls failing = { on_begin, full,
		on_end };
	static const char in[] = PART("name=a") "x\r\n--b--";
	auto_str struct str got = { 0 };
	struct multipart m;
	struct err err;

	(void)unused;
	assert_int_equal(multipart_init(&m, TYPE, &failing, &got, &err), 0);
	assert_int_equal(multipart_feed(&m, (const uint8_t *)in, sizeof in - 1,
			     &err),
	    -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_string_equal(err.text, "disk full");
	multipart_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_the_clients_send),
		cmocka_unit_test(keeps_every_byte),
		cmocka_unit_test(empty_parts_and_edges),
		cmocka_unit_test(reads_parameters),
		cmocka_unit_test(refuses),
		cmocka_unit_test(knows_content_types),
		cmocka_unit_test(bounds),
		cmocka_unit_test(hands_on_its_callers_errors),
	};

	return cmocka_run_group_tests_name("multipart", tests, NULL, NULL);
}
