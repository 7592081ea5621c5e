/*
 * toolresult: from what a tool did to the object that says so.
 *
 * The two tools that every sandbox has, their one argument each, what is wrong
 * with a call of them, and how their output becomes content items (spec 2.3,
 * 2.4).  Shared by the RPC routes and the in-box API behind /proxy.
 */
#ifndef WEB_TOOLRESULT_H
#define WEB_TOOLRESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct str;
struct work_outcome;

struct tool_row {
	const char *name;
	const char *param;    /* its one required argument */
	const char *required; /* what to say when that is empty */
	bool returncode;      /* tell the exit status as the last item */
};

const struct tool_row *tool_row(const char *name); /* NULL: not generic */
/*
 * Arguments that upstream does not know and that cost nothing: `timeout`, in
 * seconds, bounds the work (*work_ms); `split_output` is always so.
 */
bool tool_argument(const char *name, const json_t *, uint32_t *work_ms);
/* The result object of an outcome, whatever it is. */
void tool_result(struct str *out, const struct tool_row *,
    const struct work_outcome *);

#endif
