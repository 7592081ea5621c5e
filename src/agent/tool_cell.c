#include <stdint.h>
#include "agent/cell.h"
#include "agent/tool.h"

static int
cell(struct call *call, const struct args *args, struct err *err)
{
	const struct arg *code = arg_find(args, "code");

	return cell_add(call, code->text, code->len, err);
}

/* clang-format off */
static const struct param params[] = {
	{ "code", ARG_TEXT, 1, INT32_MAX, "The code, as a cell of IPython.", false },
	{ NULL },
};
/* clang-format on */

const struct tool tool_cell = {
	.name = "run_ipython_cell",
	.text = "Run Python code in an IPython session that lives as long as "
		"the sandbox; what it prints and the value of its last "
		"expression are returned.",
	.params = params,
	.run = cell,
};
