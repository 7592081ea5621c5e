#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "agent/call.h"
#include "agent/run.h"
#include "agent/tool.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"

#define ARGUMENT_MAX (128 * 1024 - 1) /* the kernel's MAX_ARG_STRLEN */

/*
 * A command that is too long for one argument is a script in a memory file,
 * sourced by a short command, so that $0 and what sh says of mistakes read as
 * usual.  Its first act is to close the descriptor, or its children had it.
 */
static int
run_long(struct call *call, struct run *r, const char *command, size_t n,
    struct err *err)
{
	static const char *const argv[] = { "/bin/sh", "-c",
		". /proc/self/fd/3", "/bin/sh", NULL };
	auto_str struct str script = { 0 };
	auto_fd int fd = -1;

	str_puts(&script, "exec 3<&-; ");
	str_add(&script, command, n);
	fd = file_memfd("command", script.at, script.len, err);
	if (fd < 0)
		return -1;
	r->argv = argv;
	r->also = fd;
	return run_start(call, r, err);
}

static int
shell(struct call *call, const struct args *args, struct err *err)
{
	const struct world *w = call_world(call);
	struct run r = { .env = w->env, .cwd = w->cwd, .also = -1 };
	const char *command;
	size_t n;

	if (arg_text(args, "command", &command, err) < 0)
		return -1;
	n = strlen(command);
	if (n > ARGUMENT_MAX)
		return run_long(call, &r, command, n, err);
	r.argv = (const char *const[]){ "/bin/sh", "-c", command, NULL };
	return run_start(call, &r, err);
}

/* clang-format off */
static const struct param params[] = {
	{ "command", ARG_TEXT, 1, INT32_MAX, "The command, for /bin/sh -c.", false },
	{ NULL },
};
/* clang-format on */

const struct tool tool_shell = {
	.name = "run_shell_command",
	.text = "Run a shell command in the workspace; its output and its exit "
		"status are returned.",
	.params = params,
	.run = shell,
};
