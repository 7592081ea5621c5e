#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/escape.h"
#include "engine/pick.h"
#include "engine/responses_item.h"

/* clang-format off */
static const struct {
	const char *prefix; /* of ids */
	const char *type;
	bool parts;
} kinds[ITEM_KINDS] = {
	[ITEM_MESSAGE]		= { "msg",	"message",		 true },
	[ITEM_REASONING]	= { "rs",	"reasoning",		 true },
	[ITEM_FUNCTION_CALL]	= { "fc",	"function_call",	 false },
	[ITEM_FUNCTION_OUTPUT]	= { "fco",	"function_call_output",	 false },
	[ITEM_MCP_CALL]		= { "mcp",	"mcp_call",		 false },
	[ITEM_MCP_TOOLS]	= { "mcpl",	"mcp_list_tools",	 false },
	[ITEM_MCP_REQUEST]	= { "mcpr",	"mcp_approval_request",	 false },
	[ITEM_MCP_RESPONSE]	= { "mcpa",	"mcp_approval_response", false },
	[ITEM_IMAGE]		= { "ig",	"image_generation_call", false },
};

static const struct {
	int item; /* -1: not shown */
	bool data; /* shown so only if it has data; else as a message */
} shown[MSG_KINDS] = {
	[MSG_MESSAGE]			= { ITEM_MESSAGE,	  false },
	[MSG_REASONING]			= { ITEM_REASONING,	  false },
	[MSG_PLUGIN_CALL]		= { ITEM_FUNCTION_CALL,	  true },
	[MSG_PLUGIN_CALL_OUTPUT]	= { ITEM_FUNCTION_OUTPUT, true },
	[MSG_FUNCTION_CALL]		= { ITEM_FUNCTION_CALL,	  true },
	[MSG_FUNCTION_CALL_OUTPUT]	= { ITEM_FUNCTION_OUTPUT, true },
	[MSG_COMPONENT_CALL]		= { ITEM_FUNCTION_CALL,	  true },
	[MSG_COMPONENT_CALL_OUTPUT]	= { ITEM_FUNCTION_OUTPUT, true },
	[MSG_MCP_LIST_TOOLS]		= { ITEM_MCP_TOOLS,	  true },
	[MSG_MCP_APPROVAL_REQUEST]	= { ITEM_MCP_REQUEST,	  true },
	[MSG_MCP_APPROVAL_RESPONSE]	= { ITEM_MCP_RESPONSE,	  true },
	[MSG_MCP_CALL]			= { ITEM_MCP_CALL,	  true },
	/* joined to its call; alone, an output like others */
	[MSG_MCP_CALL_OUTPUT]		= { ITEM_FUNCTION_OUTPUT, true },
	[MSG_HEARTBEAT]			= { -1,			  false },
	[MSG_ERROR]			= { ITEM_MESSAGE,	  false },
	[MSG_OTHER]			= { ITEM_MESSAGE,	  false },
};
/* clang-format on */

int
item_kind_of(const struct message *m)
{
	if (shown[m->kind].data && m->nparts > 0 &&
	    m->part[0].type != PART_DATA)
		return ITEM_MESSAGE;
	return shown[m->kind].item;
}

bool
item_has_parts(enum item_kind kind)
{
	return kinds[kind].parts;
}

/* What makes the response's id its own: "resp_X" is X. */
static const char *
stem(const char *response)
{
	return strncmp(response, "resp_", 5) == 0 && response[5] != '\0'
	    ? response + 5
	    : response;
}

void
item_name(struct item *it, const char *response)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-.:";
	const char *own = stem(response);
	struct slice id;

	if (own[strspn(own, plain)] != '\0' || strlen(own) > 64)
		own = stem(it->message->id);
	snprintf(it->id, sizeof it->id, "%s_%.64s_%u", kinds[it->kind].prefix,
	    own, it->index);
	if (it->kind != ITEM_MCP_REQUEST)
		return;
	/* An approval names the request by the id that the agent gave it. */
	id = pick_text(openai_data(it->message), "id");
	if (id.len > 0 && id.len < sizeof it->id &&
	    memchr(id.at, '\\', id.len) == NULL) {
		memcpy(it->id, id.at, id.len);
		it->id[id.len] = '\0';
	}
}

/* ---- pieces ---- */

static const char *
status_of(const struct item *it)
{
	if (it->open)
		return "in_progress";
	return it->cut || it->message->status != RUN_COMPLETED ? "incomplete"
							       : "completed";
}

static void
put_head(struct str *out, const struct item *it)
{
	str_printf(out, "{\"type\":\"%s\",\"id\":\"%s\"", kinds[it->kind].type,
	    it->id);
}

static void
put_status(struct str *out, const struct item *it)
{
	str_printf(out, ",\"status\":\"%s\"", status_of(it));
}

static void
put_member(struct str *out, const char *key, struct slice data,
    const char *name, const char *otherwise)
{
	size_t from;

	str_printf(out, ",\"%s\":\"", key);
	from = out->len;
	openai_member_text(out, data, name);
	if (out->len == from)
		str_puts(out, otherwise);
	str_putc(out, '"');
}

static void
put_value(struct str *out, const char *key, struct slice v,
    const char *otherwise)
{
	str_printf(out, ",\"%s\":", key);
	if (v.at != NULL)
		str_add(out, v.at, v.len);
	else
		str_puts(out, otherwise);
}

/* ---- parts ---- */

bool
part_is_picture(const struct part *p)
{
	return p->type == PART_IMAGE &&
	    slice_begins(slice_of(&p->field[0]), "\"data:image/") &&
	    memmem(p->field[0].at, p->field[0].len < 80 ? p->field[0].len : 80,
		";base64,", 8) != NULL;
}

const char *
item_part_type(const struct item *it, const struct part *p)
{
	if (it->kind == ITEM_REASONING)
		return "reasoning_text";
	return p->type == PART_REFUSAL ? "refusal" : "output_text";
}

/* A file known by its id alone is cited: a text can't say which. */
static void
put_annotations(struct str *out, const struct part *p, bool empty)
{
	struct slice id = p->type == PART_FILE
	    ? slice_inside(slice_of(&p->field[1]))
	    : (struct slice){ NULL, 0 };

	str_puts(out, ",\"annotations\":[");
	if (id.len > 0 && !empty) {
		str_puts(out, "{\"type\":\"file_path\",\"file_id\":");
		put_text(out, id);
		str_puts(out, ",\"index\":0}");
	}
	str_puts(out, "],\"logprobs\":[]");
}

void
item_put_part(struct str *out, const struct item *it, const struct part *p,
    bool empty)
{
	const char *type = item_part_type(it, p);
	bool refusal = strcmp(type, "refusal") == 0;

	str_printf(out, "{\"type\":\"%s\",\"%s\":\"", type,
	    refusal ? "refusal" : "text");
	if (!empty)
		openai_part_text(out, p);
	str_putc(out, '"');
	if (it->kind == ITEM_MESSAGE && !refusal)
		put_annotations(out, p, empty);
	str_putc(out, '}');
}

void
item_put_error(struct str *out, const struct message *m, bool empty)
{
	str_puts(out, "{\"type\":\"output_text\",\"text\":");
	put_text(out, empty ? (struct slice){ NULL, 0 } : slice_of(&m->text));
	str_puts(out, ",\"annotations\":[],\"logprobs\":[]}");
}

static unsigned
part_at(const struct item *it, unsigned at)
{
	for (unsigned i = at; i < it->nparts; i++)
		if (it->part[i].added && it->part[i].at == at)
			return i;
	for (unsigned i = 0; i < at && i < it->nparts; i++)
		if (it->part[i].added && it->part[i].at == at)
			return i;
	return 0;
}

static void
put_content(struct str *out, const struct item *it, bool begun)
{
	const struct message *m = it->message;

	str_puts(out, ",\"content\":[");
	for (unsigned at = 0; !begun && at < it->nadded; at++) {
		if (at > 0)
			str_putc(out, ',');
		item_put_part(out, it, &m->part[part_at(it, at)], false);
	}
	if (!begun && m->kind == MSG_ERROR && m->nparts == 0)
		item_put_error(out, m, false);
	str_putc(out, ']');
}

/* ---- kinds ---- */

static void
put_message(struct str *out, const struct item *it, bool begun)
{
	put_status(out, it);
	if (it->kind == ITEM_MESSAGE)
		str_puts(out, ",\"role\":\"assistant\"");
	else
		str_puts(out, ",\"summary\":[]");
	put_content(out, it, begun);
}

static void
put_call(struct str *out, const struct item *it, bool begun)
{
	struct slice data = openai_data(it->message);

	if (it->kind == ITEM_FUNCTION_CALL)
		put_member(out, "call_id", data, "call_id", it->id);
	put_member(out, "name", data, "name", "tool");
	if (begun)
		str_puts(out, ",\"arguments\":\"\"");
	else
		put_member(out, "arguments", data, "arguments", "");
	put_status(out, it);
}

static void
put_mcp_call(struct str *out, const struct item *it, bool begun)
{
	struct slice data = openai_data(it->message), back = { NULL, 0 },
		     request = pick(data, "approval_request_id");

	if (it->output != NULL)
		back = openai_data(it->output);
	put_call(out, it, begun);
	put_member(out, "server_label", data, "server_label", "mcp");
	put_value(out, "approval_request_id", request, "null");
	if (back.at == NULL)
		str_puts(out, ",\"output\":null");
	else
		put_member(out, "output", back, "output", "");
	str_puts(out, ",\"error\":null");
}

static void
put_output(struct str *out, const struct item *it, bool begun)
{
	struct slice data = openai_data(it->message);

	put_member(out, "call_id", data, "call_id", it->id);
	if (begun)
		str_puts(out, ",\"output\":\"\"");
	else
		put_member(out, "output", data, "output", "");
	put_status(out, it);
}

/* Each tool has a name and a schema, whatever the server has said. */
static void
put_tools(struct str *out, struct slice list)
{
	json_t *tools = json_loadb(list.at != NULL ? list.at : "[]",
		   list.at != NULL ? list.len : 2, 0, NULL),
	       *tool;
	size_t i;
	char *text;
	bool any = false;

	str_puts(out, ",\"tools\":[");
	json_array_foreach(tools, i, tool) {
		if (!json_is_string(json_object_get(tool, "name")))
			continue;
		if (json_object_get(tool, "input_schema") == NULL)
			json_object_set_new(tool, "input_schema",
			    json_object());
		text = json_dumps(tool, JSON_COMPACT);
		if (text == NULL)
			continue;
		if (any)
			str_putc(out, ',');
		any = true;
		str_puts(out, text);
		free(text);
	}
	str_putc(out, ']');
	json_decref(tools);
}

static void
put_mcp_tools(struct str *out, const struct item *it, bool begun)
{
	struct slice data = openai_data(it->message),
		     error = pick(data, "error");

	put_member(out, "server_label", data, "server_label", "mcp");
	put_tools(out, begun ? (struct slice){ NULL, 0 } : pick(data, "tools"));
	if (begun || error.at == NULL || slice_is(error, "null"))
		str_puts(out, ",\"error\":null");
	else
		put_member(out, "error", data, "error", "");
}

static void
put_request(struct str *out, const struct item *it, bool begun)
{
	struct slice data = openai_data(it->message);

	(void)begun;
	put_member(out, "name", data, "name", "tool");
	put_member(out, "arguments", data, "arguments", "");
	put_member(out, "server_label", data, "server_label", "mcp");
}

static void
put_response(struct str *out, const struct item *it, bool begun)
{
	struct slice data = openai_data(it->message),
		     yes = pick(data, "approve");

	(void)begun;
	put_member(out, "approval_request_id", data, "approval_request_id", "");
	put_value(out, "approve",
	    slice_is(yes, "true") ? yes : (struct slice){ "false", 5 }, "");
	put_member(out, "reason", data, "reason", "");
}

static void
put_image(struct str *out, const struct item *it, bool begun)
{
	const struct part *p = &it->message->part[it->image];
	struct slice url = slice_inside(slice_of(&p->field[0]));
	const char *data = memmem(url.at, url.len, ";base64,", 8);

	str_printf(out, ",\"status\":\"%s\",\"result\":",
	    begun ? "in_progress" : "completed");
	if (begun || data == NULL) {
		str_puts(out, "null");
		return;
	}
	data += 8;
	put_text(out,
	    (struct slice){ data, (size_t)(url.at + url.len - data) });
}

static void (*const put[ITEM_KINDS])(struct str *, const struct item *,
    bool begun) = {
	[ITEM_MESSAGE] = put_message,
	[ITEM_REASONING] = put_message,
	[ITEM_FUNCTION_CALL] = put_call,
	[ITEM_FUNCTION_OUTPUT] = put_output,
	[ITEM_MCP_CALL] = put_mcp_call,
	[ITEM_MCP_TOOLS] = put_mcp_tools,
	[ITEM_MCP_REQUEST] = put_request,
	[ITEM_MCP_RESPONSE] = put_response,
	[ITEM_IMAGE] = put_image,
};

void
item_put_begun(struct str *out, const struct item *it)
{
	put_head(out, it);
	put[it->kind](out, it, true);
	str_putc(out, '}');
}

void
item_put(struct str *out, const struct item *it)
{
	put_head(out, it);
	put[it->kind](out, it, false);
	str_putc(out, '}');
}
