#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "json/jtext.h"
#include "web/mcp.h"
#include "web/toolresult.h"
#include "web/work.h"

#define ITEM(text, what)                                                       \
	"{\"type\":\"text\",\"text\":\"" text                                  \
	"\",\"annotations\":null,\"description\":\"" what "\"}"
#define HEAD "{\"meta\":null,\"content\":["

static struct work_outcome
printed(const char *out, const char *errs)
{
	struct work_outcome o = { 0 };

	str_puts(&o.out, out);
	str_puts(&o.errs, errs);
	return o;
}

static void
check(const char *tool, struct work_outcome *o, const char *want)
{
	auto_str struct str out = { 0 };

	tool_result(&out, tool_row(tool), o);
	assert_string_equal(out.at, want);
	str_free(&o->out);
	str_free(&o->errs);
}

static void
a_shell_tells_its_status_last(void **unused)
{
	struct work_outcome o = printed("a\n", "b\n");

	(void)unused;
	o.has_exit = true;
	o.exit = 2;
	check("run_shell_command", &o,
	    HEAD ITEM("a\\n", "stdout") "," ITEM("b\\n", "stderr") "," ITEM("2",
		"returncode") "],\"isError\":true}");
	o = printed("", "");
	o.has_exit = true;
	o.exit = -9;
	check("run_shell_command", &o,
	    HEAD ITEM("", "stdout") "," ITEM("-9",
		"returncode") "],\"isError\":false}");
}

static void
a_cell_tells_what_it_printed(void **unused)
{
	struct work_outcome o = printed("", "");

	(void)unused;
	check("run_ipython_cell", &o,
	    HEAD ITEM("", "stdout") "],\"isError\":false}");
	o = printed("Out[1]: 2\n", "");
	check("run_ipython_cell", &o,
	    HEAD ITEM("Out[1]: 2\\n", "stdout") "],\"isError\":false}");
	o = printed("x", "w\n");
	check("run_ipython_cell", &o,
	    HEAD ITEM("x", "stdout") "," ITEM("w\\n",
		"stderr") "],\"isError\":true}");
}

static void
an_early_answer_says_so(void **unused)
{
	struct work_outcome o = printed("so far", "");

	(void)unused;
	o.running = true;
	o.has_exit = true;
	o.waited_s = 58;
	check("run_shell_command", &o,
	    HEAD ITEM("so far",
		"stdout") "," ITEM("[no end after 58 s: the work goes on in "
				   "the sandbox, what it "
				   "has written so far stands here]\\n",
		"stderr") "],\"isError\":true}");
}

static void
failures_keep_their_reason(void **unused)
{
	struct err err;
	struct work_outcome o = { .err = &err };

	(void)unused;
	err_set(&err, ERR_BUSY, "the \"sandbox\" is gone");
	check("run_shell_command", &o,
	    "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"the "
	    "\\\"sandbox\\\" is gone\"}]}");
	o = (struct work_outcome){ .tool_err = &err };
	check("run_ipython_cell", &o,
	    "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"the "
	    "\\\"sandbox\\\" is gone\"}]}");
	o = printed("half", "");
	o.tool_err = &err;
	check("run_ipython_cell", &o,
	    HEAD ITEM("half",
		"stdout") "," ITEM("the \\\"sandbox\\\" is gone\\n",
		"stderr") "],\"isError\":true}");
}

static void
mcp_servers_fail_by_name(void **unused)
{
	static const struct {
		const char *in, *part; /* part NULL: fine */
	} rows[] = {
		{ "null", "server_configs is required" },
		{ "{}", "server_configs is required" },
		{ "\"x\"", "valid dictionary" },
		{ "{\"x\":1}", "'mcpServers'" },
		{ "{\"mcpServers\":[]}", "valid dictionary" },
		{ "{\"mcpServers\":{}}", NULL },
		{ "{\"mcpServers\":{\"time\":{},\"b\":{}}}", "['time', 'b']" },
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		json_t *v =
		    jtext_read(rows[i].in, strlen(rows[i].in), NULL, &err);
		int r = mcp_check_servers(v, &err);

		assert_int_equal(r, rows[i].part == NULL ? 0 : -1);
		if (r < 0)
			assert_non_null(strstr(err.text, rows[i].part));
		json_decref(v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shell_tells_its_status_last),
		cmocka_unit_test(a_cell_tells_what_it_printed),
		cmocka_unit_test(an_early_answer_says_so),
		cmocka_unit_test(failures_keep_their_reason),
		cmocka_unit_test(mcp_servers_fail_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
