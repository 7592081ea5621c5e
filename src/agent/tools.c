#include <string.h>
#include "agent/tool.h"
#include "agent/tools.h"

extern const struct tool tool_cell, tool_exec, tool_shell;
extern const struct tool tool_fs_exists, tool_fs_list, tool_fs_mkdir,
    tool_fs_move, tool_fs_read, tool_fs_remove, tool_fs_stat, tool_fs_write,
    tool_fs_tar, tool_fs_untar;

static const struct tool *const tools[] = {
	&tool_cell,
	&tool_shell,
	&tool_exec,
	&tool_fs_read,
	&tool_fs_write,
	&tool_fs_list,
	&tool_fs_stat,
	&tool_fs_exists,
	&tool_fs_remove,
	&tool_fs_move,
	&tool_fs_mkdir,
	&tool_fs_tar,
	&tool_fs_untar,
};

#define TOOLS (sizeof tools / sizeof *tools)

const struct tool *
tool_at(size_t index)
{
	return index < TOOLS ? tools[index] : NULL;
}

const struct tool *
tool_find(const char *name)
{
	for (size_t i = 0; i < TOOLS; i++)
		if (strcmp(tools[i]->name, name) == 0)
			return tools[i];
	return NULL;
}
