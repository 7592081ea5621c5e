#include <string.h>
#include "engine/event.h"

static const char *const statuses[RUN_STATUSES] = {
	[RUN_CREATED] = "created",
	[RUN_IN_PROGRESS] = "in_progress",
	[RUN_COMPLETED] = "completed",
	[RUN_CANCELED] = "canceled",
	[RUN_FAILED] = "failed",
	[RUN_REJECTED] = "rejected",
	[RUN_QUEUED] = "queued",
	[RUN_INCOMPLETE] = "incomplete",
};

const struct part_kind part_kinds[PART_TYPES] = {
	[PART_TEXT] = { "text", { "text" }, true },
	[PART_REFUSAL] = { "refusal", { "refusal" }, true },
	[PART_DATA] = { "data", { "data" }, false },
	[PART_IMAGE] = { "image", { "image_url" }, false },
	[PART_AUDIO] = { "audio", { "data", "format" }, false },
	[PART_VIDEO] = { "video", { "video_url" }, false },
	[PART_FILE] = { "file",
	    { "file_url", "file_id", "filename", "file_data" }, false },
};

/* In the order of enum message_kind; MSG_OTHER has no name of its own. */
static const char *const messages[MSG_OTHER] = {
	[MSG_MESSAGE] = "message",
	[MSG_REASONING] = "reasoning",
	[MSG_PLUGIN_CALL] = "plugin_call",
	[MSG_PLUGIN_CALL_OUTPUT] = "plugin_call_output",
	[MSG_FUNCTION_CALL] = "function_call",
	[MSG_FUNCTION_CALL_OUTPUT] = "function_call_output",
	[MSG_COMPONENT_CALL] = "component_call",
	[MSG_COMPONENT_CALL_OUTPUT] = "component_call_output",
	[MSG_MCP_LIST_TOOLS] = "mcp_list_tools",
	[MSG_MCP_APPROVAL_REQUEST] = "mcp_approval_request",
	[MSG_MCP_APPROVAL_RESPONSE] = "mcp_approval_response",
	[MSG_MCP_CALL] = "mcp_call",
	[MSG_MCP_CALL_OUTPUT] = "mcp_call_output",
	[MSG_HEARTBEAT] = "heartbeat",
	[MSG_ERROR] = "error",
};

const char *
run_status_name(enum run_status s)
{
	return (unsigned)s < RUN_STATUSES ? statuses[s] : "unknown";
}

int
run_status_parse(const char *name)
{
	for (int i = 0; i < RUN_STATUSES; i++)
		if (strcmp(statuses[i], name) == 0)
			return i;
	return -1;
}

int
part_type_parse(const char *name)
{
	for (int i = 0; i < PART_TYPES; i++)
		if (strcmp(part_kinds[i].name, name) == 0)
			return i;
	return -1;
}

enum message_kind
message_kind_of(const char *type)
{
	for (int i = 0; i < MSG_OTHER; i++)
		if (strcmp(messages[i], type) == 0)
			return (enum message_kind)i;
	return MSG_OTHER;
}
