#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/ask.h"

/* For the names of calls: an answer beyond that has none. */
#define LOOKS_MOST (4u << 20)

json_t *
ask_message(const char *type, const char *role, json_t *content)
{
	return json_pack("{s:s,s:s,s:o}", "type", type, "role", role, "content",
	    content);
}

json_t *
ask_data(json_t *data)
{
	return json_pack("[{s:s,s:o}]", "type", "data", "data", data);
}

/* ---- items ---- */

struct into {
	json_t *messages;
	const json_t *before, *items;
	size_t at; /* of this item */
	const char *param;
	struct ask_fault *fault;
	size_t *looks; /* at other items that are left */
};

typedef int item_fn(struct into *, const json_t *item);

static const json_t *
item_need(struct into *in, const json_t *item, const char *name)
{
	return ask_need(item, name, in->param, in->fault);
}

static int
append(struct into *in, json_t *message)
{
	return json_array_append_new(in->messages, message);
}

static const struct {
	const char *theirs, *ours;
} roles[] = { { "user", "user" }, { "assistant", "assistant" },
	{ "system", "system" }, { "developer", "system" } };

static int
item_message(struct into *in, const json_t *item)
{
	const json_t *role = item_need(in, item, "role");
	const char *ours = NULL;
	json_t *content;
	char at[96];

	if (role == NULL)
		return -1;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (strcmp(roles[i].theirs, json_string_value(role)) == 0)
			ours = roles[i].ours;
	ask_param(at, sizeof at, in->param, "role");
	if (ours == NULL)
		return ask_value(in->fault, at,
		    "'%.40s' is no role: user, assistant, system, developer.",
		    json_string_value(role));
	ask_param(at, sizeof at, in->param, "content");
	content = ask_content(json_object_get(item, "content"), at, in->fault);
	if (content == NULL)
		return -1;
	return append(in, ask_message("message", ours, content));
}

/* Its text; a summary where there is no text.  Encrypted only: nothing. */
static int
item_reasoning(struct into *in, const json_t *item)
{
	const json_t *text = json_object_get(item, "content");
	json_t *content;
	char at[96];

	if (!json_is_array(text) || json_array_size(text) == 0)
		text = json_object_get(item, "summary");
	if (!json_is_array(text) || json_array_size(text) == 0)
		return 0;
	ask_param(at, sizeof at, in->param, "content");
	content = ask_content(text, at, in->fault);
	if (content == NULL)
		return -1;
	return append(in, ask_message("reasoning", "assistant", content));
}

static int
item_call(struct into *in, const json_t *item)
{
	const json_t *id = item_need(in, item, "call_id"),
		     *name = id != NULL ? item_need(in, item, "name") : NULL,
		     *args =
			 name != NULL ? item_need(in, item, "arguments") : NULL;

	if (args == NULL)
		return -1;
	return append(in,
	    ask_message("function_call", "assistant",
		ask_data(json_pack("{s:O,s:O,s:O}", "call_id", id, "name", name,
		    "arguments", args))));
}

static json_t *
find_name(const json_t *items, size_t n, const json_t *id, size_t *looks)
{
	for (size_t i = n; i-- > 0 && *looks > 0; --*looks) {
		const json_t *one = json_array_get(items, i);
		json_t *name = json_object_get(one, "name");

		if (name != NULL &&
		    json_equal(json_object_get(one, "call_id"), id))
			return json_incref(name);
	}
	return NULL;
}

/* The name of the call that it answers. */
static json_t *
name_of_call(const struct into *in, const json_t *id)
{
	json_t *name = find_name(in->items, in->at, id, in->looks);

	if (name == NULL)
		name = find_name(in->before, json_array_size(in->before), id,
		    in->looks);
	return name != NULL ? name : json_null();
}

/* A string as it is; parts as the JSON text of them, as agents' own are. */
static json_t *
output_text(const json_t *output)
{
	json_t *text;
	char *dump;

	if (json_is_string(output))
		return json_incref((json_t *)(uintptr_t)output);
	dump = json_dumps(output, JSON_ENCODE_ANY);
	text = json_string(dump != NULL ? dump : "");
	free(dump);
	return text;
}

static int
put_output(struct into *in, const json_t *item, const char *type)
{
	const json_t *id = item_need(in, item, "call_id"),
		     *output = json_object_get(item, "output");
	char at[96];

	if (id == NULL)
		return -1;
	ask_param(at, sizeof at, in->param, "output");
	if (output == NULL)
		return ask_missing(in->fault, at);
	if (!json_is_string(output) && !json_is_array(output))
		return ask_type(in->fault, at, "a string or an array", output);
	return append(in,
	    ask_message(type, "tool",
		ask_data(json_pack("{s:O,s:o,s:o}", "call_id", id, "name",
		    name_of_call(in, id), "output", output_text(output)))));
}

static int
item_output(struct into *in, const json_t *item)
{
	return put_output(in, item, "function_call_output");
}

static int
item_custom_output(struct into *in, const json_t *item)
{
	return put_output(in, item, "plugin_call_output");
}

static int
item_custom_call(struct into *in, const json_t *item)
{
	const json_t *id = item_need(in, item, "call_id"),
		     *name = id != NULL ? item_need(in, item, "name") : NULL,
		     *input =
			 name != NULL ? item_need(in, item, "input") : NULL;

	if (input == NULL)
		return -1;
	return append(in,
	    ask_message("plugin_call", "assistant",
		ask_data(json_pack("{s:O,s:O,s:O,s:O}", "call_id", id, "name",
		    name, "arguments", input, "input", input))));
}

static int
item_mcp_call(struct into *in, const json_t *item)
{
	const json_t *id = item_need(in, item, "id"),
		     *name = id != NULL ? item_need(in, item, "name") : NULL,
		     *args =
			 name != NULL ? item_need(in, item, "arguments") : NULL,
		     *label = json_object_get(item, "server_label"),
		     *output = json_object_get(item, "output");

	if (args == NULL)
		return -1;
	append(in,
	    ask_message("mcp_call", "assistant",
		ask_data(json_pack("{s:O,s:O,s:O,s:O?}", "call_id", id,
		    "arguments", args, "name", name, "server_label", label))));
	if (!json_is_string(output))
		return 0;
	return append(in,
	    ask_message("mcp_call_output", "tool",
		ask_data(json_pack("{s:O,s:O,s:O}", "call_id", id, "name", name,
		    "output", output))));
}

static int
item_picture(struct into *in, const json_t *item)
{
	const json_t *data = json_object_get(item, "result");
	json_t *url;

	if (!json_is_string(data))
		return 0;
	url = json_sprintf("data:image/png;base64,%s", json_string_value(data));
	return append(in,
	    ask_message("message", "assistant",
		json_pack("[{s:s,s:o}]", "type", "image", "image_url", url)));
}

static int
item_reference(struct into *in, const json_t *item)
{
	const json_t *id = item_need(in, item, "id");

	if (id == NULL)
		return -1;
	return ask_value(in->fault, in->param, "No item '%.60s' is stored.",
	    json_string_value(id));
}

/* What we have no message for is passed on as data of its own type. */
static int
item_other(struct into *in, const json_t *item)
{
	const char *type = json_string_value(json_object_get(item, "type"));
	const char *end = strrchr(type, '_');
	const char *role = "assistant";

	if (end != NULL && strcmp(end, "_output") == 0)
		role = "tool";
	else if (end != NULL && strcmp(end, "_response") == 0)
		role = "user";
	return append(in,
	    ask_message(type, role,
		ask_data(json_incref((json_t *)(uintptr_t)item))));
}

static const struct {
	const char *type;
	item_fn *take;
} items[] = {
	{ "message", item_message },
	{ "reasoning", item_reasoning },
	{ "function_call", item_call },
	{ "function_call_output", item_output },
	{ "custom_tool_call", item_custom_call },
	{ "custom_tool_call_output", item_custom_output },
	{ "mcp_call", item_mcp_call },
	{ "mcp_list_tools", item_other },
	{ "mcp_approval_request", item_other },
	{ "mcp_approval_response", item_other },
	{ "image_generation_call", item_picture },
	{ "item_reference", item_reference },
	{ "file_search_call", item_other },
	{ "computer_call", item_other },
	{ "computer_call_output", item_other },
	{ "web_search_call", item_other },
	{ "code_interpreter_call", item_other },
	{ "local_shell_call", item_other },
	{ "local_shell_call_output", item_other },
	{ "shell_call", item_other },
	{ "shell_call_output", item_other },
	{ "apply_patch_call", item_other },
	{ "apply_patch_call_output", item_other },
	{ "tool_search_call", item_other },
	{ "tool_search_output", item_other },
	{ "additional_tools", item_other },
	{ "program", item_other },
	{ "program_output", item_other },
	{ "compaction", item_other },
};

static int
item_of(struct into *in, const json_t *item)
{
	const json_t *type;
	const char *name = "message"; /* with role and content, it is implied */
	char at[96];

	if (!json_is_object(item))
		return ask_type(in->fault, in->param, "an object", item);
	type = json_object_get(item, "type");
	ask_param(at, sizeof at, in->param, "type");
	if (json_is_string(type))
		name = json_string_value(type);
	else if (type != NULL && !json_is_null(type))
		return ask_type(in->fault, at, "a string", type);
	else if (json_object_get(item, "role") == NULL &&
	    json_object_get(item, "id") != NULL)
		name = "item_reference";
	for (size_t i = 0; i < sizeof items / sizeof *items; i++)
		if (strcmp(items[i].type, name) == 0)
			return items[i].take(in, item);
	return ask_value(in->fault, at, "There are no items of type '%.40s'.",
	    name);
}

int
ask_items(json_t *messages, const json_t *before, const json_t *list,
    const char *param, struct ask_fault *f)
{
	size_t looks = LOOKS_MOST;
	json_t *item;
	char at[96];
	size_t i;

	json_array_foreach(list, i, item) {
		struct into in = { messages, before, list, i, at, f, &looks };

		snprintf(at, sizeof at, "%.60s[%zu]", param, i);
		if (item_of(&in, item) < 0)
			return -1;
	}
	return 0;
}

/* ---- pairs ---- */

/* -1, 1: the item is a call, an output; 0: neither. */
static int
side(const json_t *item)
{
	const char *type = json_string_value(json_object_get(item, "type"));
	size_t n = type != NULL ? strlen(type) : 0;

	if (json_object_get(item, "call_id") == NULL || n == 0)
		return 0;
	return n > 7 && strcmp(type + n - 7, "_output") == 0 ? 1 : -1;
}

/* A set of the ids of this side's items. */
static void
note_side(json_t *ids, const json_t *list, int which)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		const char *id =
		    json_string_value(json_object_get(item, "call_id"));

		if (id != NULL && side(item) == which)
			json_object_set_new(ids, id, json_true());
	}
}

json_t *
ask_paired(const json_t *history, const json_t *input)
{
	json_t *out = json_array(), *calls = json_object(),
	       *answers = json_object(), *item;
	size_t i;

	note_side(answers, history, 1);
	note_side(answers, input, 1);
	json_array_foreach(history, i, item) {
		const char *id =
		    json_string_value(json_object_get(item, "call_id"));
		int which = id != NULL ? side(item) : 0;

		if (which < 0 && json_object_get(answers, id) == NULL)
			continue;
		if (which > 0 && json_object_get(calls, id) == NULL)
			continue;
		if (which < 0)
			json_object_set_new(calls, id, json_true());
		json_array_append(out, item);
	}
	json_decref(calls);
	json_decref(answers);
	return out;
}
