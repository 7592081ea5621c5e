#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "web/result.h"
#include "web/toolresult.h"
#include "web/work.h"

static const struct tool_row rows[] = {
	{ "run_ipython_cell", "code", "Code is required.", false },
	{ "run_shell_command", "command", "Command is required.", true },
};

const struct tool_row *
tool_row(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool
tool_argument(const char *name, const json_t *v, uint32_t *work_ms)
{
	double s;

	if (strcmp(name, "split_output") == 0)
		return true;
	if (strcmp(name, "timeout") != 0)
		return false;
	s = json_number_value(v);
	if (s > 0 && s < 1e6)
		*work_ms = (uint32_t)(s * 1000) + 1;
	return true;
}

/* A line of ours at the end of what the tool wrote to stderr. */
static void
remark(struct str *errs, const char *text)
{
	if (errs->len > 0 && errs->at[errs->len - 1] != '\n')
		str_putc(errs, '\n');
	str_puts(errs, text);
	str_putc(errs, '\n');
}

static void
say_running(struct str *errs, const struct work_outcome *o)
{
	auto_str struct str text = { 0 };

	str_printf(&text,
	    "[no end after %u s: the work goes on in the sandbox, what it "
	    "has written so far stands here]",
	    o->waited_s);
	remark(errs, str_text(&text));
}

void
tool_result(struct str *out, const struct tool_row *row,
    const struct work_outcome *o)
{
	auto_str struct str errs = { 0 };
	char code[16];

	if (o->err != NULL) {
		result_failure(out, o->err->text);
		return;
	}
	if (o->tool_err != NULL && o->out.len == 0 && o->errs.len == 0) {
		result_failure(out, o->tool_err->text);
		return;
	}
	if (o->errs.len > 0)
		str_add(&errs, o->errs.at, o->errs.len);
	if (o->tool_err != NULL)
		remark(&errs, o->tool_err->text);
	if (o->running)
		say_running(&errs, o);
	result_begin(out);
	result_text(out, str_text(&o->out), o->out.len, "stdout");
	if (errs.len > 0)
		result_text(out, errs.at, errs.len, "stderr");
	if (row->returncode && o->has_exit && !o->running) {
		snprintf(code, sizeof code, "%d", o->exit);
		result_text(out, code, strlen(code), "returncode");
	}
	result_end(out, errs.len > 0);
}
