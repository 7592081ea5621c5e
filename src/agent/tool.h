/*
 * tool: what a tool is, and the check of arguments against its table.
 *
 * The tables travel in Hello, so that the host prints schemas from them and
 * knows no tool by name.
 */
#ifndef AGENT_TOOL_H
#define AGENT_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;
struct err;

enum arg_type { ARG_TEXT, ARG_INT, ARG_BOOL, ARG_LIST };

struct arg {
	const char *name;
	enum arg_type type;
	const char *text; /* len bytes and a NUL */
	size_t len;
	int64_t num; /* ARG_INT, ARG_BOOL */
	const struct arg_item {
		const char *text;
		size_t len;
	} * item;
	size_t nitem;
};

struct args {
	const struct arg *at;
	size_t n;
};

struct param {
	const char *name; /* NULL ends the table */
	enum arg_type type;
	int64_t min, max; /* of the number; of the length; of the items */
	const char *text; /* for the model */
	bool optional;
};

struct tool {
	const char *name;
	const char *text;
	const struct param *params;
	bool internal; /* not for a model: exec, fs_* */
	/*
	 * Start the work.  Arguments have been checked; they are gone when this
	 * returns.  -1: nothing was started.
	 */
	int (*run)(struct call *, const struct args *, struct err *);
};

int tool_check(const struct tool *, const struct args *, struct err *);

/* ---- for tools, after the check ---- */

const struct arg *arg_find(const struct args *, const char *name);
int64_t arg_num(const struct args *, const char *name, int64_t otherwise);
/* NULL if absent; else without NUL inside, or an error that says so. */
int arg_text(const struct args *, const char *name, const char **out,
    struct err *);

#endif
