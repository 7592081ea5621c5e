/*
 * tools: what can be asked of this sandbox.  A new tool is one file and one
 * row in tools.c.
 */
#ifndef AGENT_TOOLS_H
#define AGENT_TOOLS_H

#include <stddef.h>

struct tool;

const struct tool *tool_at(size_t index); /* NULL after the last */
const struct tool *tool_find(const char *name);

#endif
