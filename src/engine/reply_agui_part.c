#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "engine/agui.h"
#include "engine/part_json.h"
#include "engine/reply_agui.h"

/* ---- calls ---- */

/* Is the end of this beginning of a document within a string? */
static bool
in_string(const char *at, size_t n)
{
	bool in = false;

	for (size_t i = 0; i < n; i++) {
		if (at[i] == '"')
			in = !in;
		else if (in && at[i] == '\\')
			i++;
	}
	return in;
}

/*
 * A partial document is closed so as to be valid, and what was not there yet
 * may stand in it as null or "": both may go away again.
 */
static size_t
without_close(const char *at, size_t n)
{
	while (n > 0 && strchr("\"}] \t\r\n", at[n - 1]) != NULL)
		n--;
	if (in_string(at, n))
		return n > 0 && at[n - 1] == '\\' ? n - 1 : n;
	while (n > 0 &&
	    (isalnum((unsigned char)at[n - 1]) ||
		strchr("+-.", at[n - 1]) != NULL))
		n--;
	return n;
}

size_t
agui_settled(struct slice before, struct slice now)
{
	size_t n = 0;

	while (n < before.len && n < now.len && before.at[n] == now.at[n])
		n++;
	n = without_close(now.at, n == before.len ? now.len : n);
	/* never within a character */
	while (n > 0 && n < now.len && (now.at[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static const char *
data_text(const json_t *data, const char *name)
{
	const char *text = json_string_value(json_object_get(data, name));

	return text != NULL ? text : "";
}

/* Arguments as text, whether they were text or a value. */
static void
data_args(struct str *out, const json_t *data)
{
	const json_t *args = json_object_get(data, "arguments");

	if (json_is_string(args))
		str_add(out, json_string_value(args), json_string_length(args));
	else if (args != NULL && !json_is_null(args))
		escape_json(out, args);
}

/* Text that is open is ended first: a call is not said within a sentence. */
static void
call_start(struct agui *g, struct feed *f, struct agui_open *o,
    const json_t *data)
{
	const char *id = data_text(data, "call_id");
	const char *name = data_text(data, "name");
	struct str *s;

	for (unsigned i = 0; i < g->nopen; i++)
		if (g->open[i]->as == AS_TEXT)
			agui_say_end(g, f, g->open[i]);
	if (*id == '\0')
		id = o->id;
	escape_text(&o->call, id, strlen(id));
	o->begun = true;
	if (g->holder[0] == '\0')
		snprintf(g->holder, sizeof g->holder, "%s", o->id);
	s = agui_begin(g, f, "TOOL_CALL_START");
	if (s == NULL)
		return;
	agui_member(s, "toolCallId", o->call.at, o->call.len);
	agui_member_plain(s, "toolCallName", *name != '\0' ? name : "unknown");
	agui_member_plain(s, "parentMessageId", g->holder);
	agui_end(f, s);
}

static void
call_args(struct agui *g, struct feed *f, struct agui_open *o, const char *text,
    size_t n)
{
	struct str *s;

	if (n == 0)
		return;
	str_add(&o->said, text, n);
	s = agui_begin(g, f, "TOOL_CALL_ARGS");
	if (s == NULL)
		return;
	agui_member(s, "toolCallId", o->call.at, o->call.len);
	str_puts(s, ",\"delta\":\"");
	escape_text(s, text, n);
	str_putc(s, '"');
	agui_end(f, s);
}

/* Arguments that take back what was said can't be told; no more is, then. */
static bool
goes_on(const struct agui_open *o, const struct str *args)
{
	return args->len >= o->said.len &&
	    memcmp(str_text(args), str_text(&o->said), o->said.len) == 0;
}

static void
call_event(struct agui *g, struct feed *f, const struct event *e,
    const json_t *data)
{
	struct agui_open *o = agui_open_of(g, e, AS_CALL);
	auto_str struct str args = { 0 };
	bool last = e->kind == EV_PART_END;
	size_t upto;

	data_args(&args, data);
	if (!o->begun && (last || *data_text(data, "name") != '\0'))
		call_start(g, f, o, data);
	if (last && args.len == 0)
		str_puts(&args, "{}");
	upto = last ? args.len
		    : agui_settled((struct slice){ str_text(&o->before),
				       o->before.len },
			  (struct slice){ str_text(&args), args.len });
	if (o->begun && upto > o->said.len && goes_on(o, &args))
		call_args(g, f, o, args.at + o->said.len, upto - o->said.len);
	str_cut(&o->before, 0);
	str_add(&o->before, str_text(&args), args.len);
	if (last) {
		agui_say_end(g, f, o);
		agui_open_drop(g, o);
	}
}

/* A call that is still open when its answer comes has all its arguments. */
static void
call_answered(struct agui *g, struct feed *f, const struct str *call)
{
	for (unsigned i = 0; i < g->nopen; i++) {
		struct agui_open *o = g->open[i];

		if (o->as == AS_CALL &&
		    strcmp(str_text(&o->call), str_text(call)) == 0)
			agui_say_end(g, f, o);
	}
}

static void
result_event(struct agui *g, struct feed *f, const struct event *e,
    const json_t *data)
{
	const json_t *output = json_object_get(data, "output");
	auto_str struct str call = { 0 }, id = { 0 };
	struct str *s;

	if (e->kind != EV_PART_END)
		return;
	str_puts(&id, e->message->id);
	if (e->part->index > 0)
		str_printf(&id, "_%u", e->part->index);
	escape_text(&call, data_text(data, "call_id"),
	    strlen(data_text(data, "call_id")));
	call_answered(g, f, &call);
	g->holder[0] = '\0';
	s = agui_begin(g, f, "TOOL_CALL_RESULT");
	if (s == NULL)
		return;
	agui_member(s, "messageId", id.at, id.len);
	agui_member(s, "toolCallId", str_text(&call), call.len);
	str_puts(s, ",\"content\":\"");
	if (json_is_string(output)) {
		escape_text(s, json_string_value(output),
		    json_string_length(output));
	} else if (output != NULL && !json_is_null(output)) {
		auto_str struct str text = { 0 };

		escape_json(&text, output);
		escape_text(s, text.at, text.len);
	}
	str_puts(s, "\",\"role\":\"tool\"");
	agui_end(f, s);
}

/* ---- what AG-UI has no event for ---- */

static void
custom(struct agui *g, struct feed *f, const char *name, const json_t *value)
{
	struct str *s = agui_begin(g, f, "CUSTOM");

	if (s == NULL)
		return;
	agui_member_plain(s, "name", name);
	agui_member_json(s, "value", value);
	agui_end(f, s);
}

/* {"type":"url"|"data"|"file","value":...} */
static json_t *
media_source(const char *text, const char *mime, bool is_id)
{
	struct place at = place_of(text, mime);

	if (is_id)
		return json_pack("{s:s,s:s}", "type", "file", "value", text);
	if (at.base64 != NULL)
		return json_pack("{s:s,s:s,s:o}", "type", "data", "value",
		    at.base64, "mimeType", json_stringn(at.mime, at.nmime));
	return json_pack("{s:s,s:s}", "type", "url", "value", at.url);
}

/* file: file_url, file_id, filename, file_data */
static json_t *
file_source(const struct part *p, json_t *part)
{
	static const unsigned order[] = { 0, 3, 1 };
	json_t *source = NULL, *value, *name = part_value(p, 2);

	for (unsigned i = 0; i < 3 && source == NULL; i++) {
		value = part_value(p, order[i]);
		if (json_is_string(value))
			source = media_source(json_string_value(value),
			    order[i] == 3 ? "application/octet-stream" : NULL,
			    order[i] == 1);
		json_decref(value);
	}
	if (json_is_string(name))
		json_object_set_new(part, "metadata",
		    json_pack("{s:O}", "filename", name));
	json_decref(name);
	return source;
}

static json_t *
media_part(const struct part *p)
{
	json_t *part = json_object(), *source = NULL, *value;
	auto_free char *mime = part_mime(p);

	json_object_set_new(part, "type",
	    json_string(
		p->type == PART_FILE ? "document" : part_kinds[p->type].name));
	if (p->type == PART_FILE) {
		source = file_source(p, part);
	} else {
		value = part_value(p, 0);
		if (json_is_string(value))
			source =
			    media_source(json_string_value(value), mime, false);
		json_decref(value);
	}
	if (source == NULL) { /* nothing in it */
		json_decref(part);
		return NULL;
	}
	json_object_set_new(part, "source", source);
	return part;
}

void
agui_media_event(struct agui *g, struct feed *f, const struct event *e)
{
	json_t *part, *value;

	if (e->kind != EV_PART_END || (part = media_part(e->part)) == NULL)
		return;
	value =
	    json_pack("{s:s,s:o}", "messageId", e->message->id, "part", part);
	custom(g, f, part_kinds[e->part->type].name, value);
	json_decref(value);
}

static bool
is_call(enum message_kind k)
{
	return k == MSG_PLUGIN_CALL || k == MSG_FUNCTION_CALL ||
	    k == MSG_COMPONENT_CALL || k == MSG_MCP_CALL;
}

static bool
is_output(enum message_kind k)
{
	return k == MSG_PLUGIN_CALL_OUTPUT || k == MSG_FUNCTION_CALL_OUTPUT ||
	    k == MSG_COMPONENT_CALL_OUTPUT || k == MSG_MCP_CALL_OUTPUT;
}

void
agui_data_event(struct agui *g, struct feed *f, const struct event *e)
{
	json_t *data = part_value(e->part, 0), *value;

	if (is_call(e->message->kind)) {
		call_event(g, f, e, data);
	} else if (is_output(e->message->kind)) {
		result_event(g, f, e, data);
	} else if (e->kind == EV_PART_END && data != NULL) {
		value = json_pack("{s:s,s:O}", "messageId", e->message->id,
		    "data", data);
		custom(g, f,
		    e->message->kind == MSG_MESSAGE ? "data" : e->message->type,
		    value);
		json_decref(value);
	}
	json_decref(data);
}
