/*
 * result: the object that a tool call answers with (MCP's, spec 2.2).
 *
 *	struct str out = { 0 };
 *	result_begin(&out);
 *	result_text(&out, bytes, n, "stdout");
 *	result_end(&out, false);
 *
 * Knows no sandboxes; bytes may be anything.
 */
#ifndef WEB_RESULT_H
#define WEB_RESULT_H

#include <stdbool.h>
#include <stddef.h>

struct str;

void result_begin(struct str *out);
/* description NULL: an item without that key, as MCP servers make them. */
void result_text(struct str *out, const void *bytes, size_t n,
    const char *description);
void result_end(struct str *out, bool is_error);
/* What a call that got no result answers: no meta, one item. */
void result_failure(struct str *out, const char *text);

#endif
