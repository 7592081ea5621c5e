#include <stdint.h>
#include <string.h>
#include "agent/call.h"
#include "agent/env.h"
#include "agent/run.h"
#include "agent/tool.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"

static int
check_items(const struct args *args, const char *name, struct err *err)
{
	const struct arg *a = arg_find(args, name);

	for (size_t i = 0; a != NULL && i < a->nitem; i++)
		if (strlen(a->item[i].text) != a->item[i].len)
			return err_set(err, ERR_INVALID,
			    "%s: item %zu has a NUL byte; it can't", name, i);
	return 0;
}

/* What a shell would make of a program that can't be started. */
static int
refused(struct call *call, const struct err *err)
{
	struct call_result r = { .err = err,
		.has_exit = true,
		.exit = err->code == ERR_MISSING ? 127 : 126 };

	call_done(call, &r);
	return 0;
}

static int
exec(struct call *call, const struct args *args, struct err *err)
{
	const struct world *w = call_world(call);
	const struct arg *argv = arg_find(args, "argv");
	auto_free const char **copy = NULL;
	auto_free char **env = NULL;
	struct run r = { .cwd = w->cwd,
		.also = -1,
		.input = arg_num(args, "input", 0) != 0,
		.tty = arg_num(args, "tty", 0) != 0,
		.rows = (unsigned)arg_num(args, "rows", 0),
		.cols = (unsigned)arg_num(args, "cols", 0) };
	const char *cwd;

	if (arg_text(args, "cwd", &cwd, err) < 0 ||
	    check_items(args, "argv", err) < 0 ||
	    check_items(args, "env", err) < 0)
		return -1;
	if (cwd != NULL && cwd[0] != '\0')
		r.cwd = cwd;
	if (argv->item[0].len == 0)
		return err_set(err, ERR_INVALID, "argv: no program");
	copy = xcalloc(argv->nitem + 1, sizeof *copy);
	for (size_t i = 0; i < argv->nitem; i++)
		copy[i] = argv->item[i].text;
	env = env_over(w->env, arg_find(args, "env"));
	r.argv = copy;
	r.env = env;
	if (run_start(call, &r, err) < 0)
		return refused(call, err);
	return 0;
}

/* clang-format off */
static const struct param params[] = {
	{ "argv",  ARG_LIST, 1, 65535,	"The program and its arguments.", false },
	{ "env",   ARG_LIST, 0, 4096,	"NAME=value, over the sandbox's own.", true },
	{ "cwd",   ARG_TEXT, 0, 4095,	"Where it runs; the workspace if absent.", true },
	{ "input", ARG_BOOL, 0, 1,	"It reads Input; else its stdin is empty.", true },
	{ "tty",   ARG_BOOL, 0, 1,	"On a terminal: all output is stream 1.", true },
	{ "rows",  ARG_INT,  0, 65535,	"Of the terminal.", true },
	{ "cols",  ARG_INT,  0, 65535,	"Of the terminal.", true },
	{ NULL },
};
/* clang-format on */

const struct tool tool_exec = {
	.name = "exec",
	.text = "Run a program without a shell.  A program that is not there "
		"is ERR_MISSING with exit 127, one that can't be run "
		"ERR_DENIED with exit 126.",
	.params = params,
	.internal = true,
	.run = exec,
};
