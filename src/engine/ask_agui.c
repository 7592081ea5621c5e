#include "engine/ask_agui.h"

#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "engine/ask_media.h"
#include "engine/invalid.h"
#include "json/jtext.h"

struct asking {
	struct invalid *wrong;
	json_t *input; /* messages of the request, so far */
	size_t looks;  /* at them, for names of calls */
};

#define LOOKS_MOST (4u << 20) /* beyond that a call has no name */

/* The member by either of its names. */
static json_t *
member(const json_t *o, const char *camel, const char *snake)
{
	json_t *v = json_object_get(o, camel);

	return v != NULL || snake == NULL ? v : json_object_get(o, snake);
}

static bool
absent(const json_t *v)
{
	return v == NULL || json_is_null(v);
}

/* The string itself: what its text holds is not looked at. */
static json_t *
string(struct asking *a, const struct place *at, const json_t *o,
    const char *camel, const char *snake)
{
	json_t *v = member(o, camel, snake);

	if (v == NULL)
		invalid_missing(a->wrong, at, camel, o);
	else if (jtext_string(v, &(size_t){ 0 }) == NULL)
		invalid_add(a->wrong, &(struct place){ at, camel, 0 },
		    "string_type", "Input should be a valid string", v, NULL);
	else
		return v;
	return NULL;
}

/* Its text, which holds no NUL. */
static const char *
text(struct asking *a, const struct place *at, const json_t *o,
    const char *camel, const char *snake)
{
	const json_t *v = string(a, at, o, camel, snake);

	if (v != NULL && jtext_cstring(v) == NULL)
		invalid_add(a->wrong, &(struct place){ at, camel, 0 },
		    "string_type", "Input should be a valid string", v, NULL);
	return v != NULL ? jtext_cstring(v) : NULL;
}

/* May be absent or null; NULL then, too. */
static const char *
text_if(struct asking *a, const struct place *at, const json_t *o,
    const char *camel, const char *snake)
{
	return absent(member(o, camel, snake)) ? NULL
					       : text(a, at, o, camel, snake);
}

static bool
is_object(struct asking *a, const struct place *at, const json_t *v)
{
	if (json_is_object(v))
		return true;
	invalid_add(a->wrong, at, "model_attributes_type",
	    "Input should be a valid dictionary or object to extract fields "
	    "from",
	    v, NULL);
	return false;
}

/* NULL when absent, null, or no list (which is said). */
static json_t *
list(struct asking *a, const struct place *at, const json_t *o,
    const char *camel, const char *snake)
{
	json_t *v = member(o, camel, snake);

	if (absent(v) || json_is_array(v))
		return absent(v) ? NULL : v;
	invalid_add(a->wrong, &(struct place){ at, camel, 0 }, "list_type",
	    "Input should be a valid list", v, NULL);
	return NULL;
}

/* ---- parts of a message ---- */

static void
bad_tag(struct asking *a, const struct place *at, const json_t *v,
    const char *by, const char *tag, const char *expected)
{
	auto_str struct str msg = { 0 };
	json_t *ctx;
	auto_free char *ctx_text = NULL;

	if (tag == NULL) {
		str_printf(&msg,
		    "Unable to extract tag using discriminator '%s'", by);
		ctx = json_pack("{s:o}", "discriminator",
		    json_sprintf("'%s'", by));
		ctx_text = json_dumps(ctx, JSON_COMPACT);
		invalid_add(a->wrong, at, "union_tag_not_found", str_text(&msg),
		    v, ctx_text);
	} else {
		str_printf(&msg,
		    "Input tag '%s' found using '%s' does not match any of "
		    "the expected tags: %s",
		    tag, by, expected);
		ctx = json_pack("{s:o,s:s,s:s}", "discriminator",
		    json_sprintf("'%s'", by), "tag", tag, "expected_tags",
		    expected);
		ctx_text = json_dumps(ctx, JSON_COMPACT);
		invalid_add(a->wrong, at, "union_tag_invalid", str_text(&msg),
		    v, ctx_text);
	}
	json_decref(ctx);
}

static json_t *
source_part(struct asking *a, const struct place *at, const json_t *v,
    const char *type)
{
	struct place here = { at, "source", 0 };
	const json_t *source = json_object_get(v, "source");
	const json_t *meta = json_object_get(v, "metadata");
	const char *kind, *value;
	struct media m = { 0 };

	if (source == NULL) {
		invalid_missing(a->wrong, at, "source", v);
		return NULL;
	}
	if (!is_object(a, &here, source))
		return NULL;
	kind = json_string_value(json_object_get(source, "type"));
	value = text(a, &here, source, "value", NULL);
	m.mime = text_if(a, &here, source, "mimeType", "mime_type");
	m.name = json_string_value(json_object_get(meta, "filename"));
	if (kind != NULL && strcmp(kind, "url") == 0)
		m.url = value;
	else if (kind != NULL && strcmp(kind, "data") == 0)
		m.base64 = value;
	else if (kind != NULL && strcmp(kind, "file") == 0)
		m.id = value;
	else
		bad_tag(a, &here, source, "type", kind,
		    "'data', 'url', 'file'");
	if (m.base64 != NULL && m.mime == NULL)
		(void)text(a, &here, source, "mimeType", "mime_type");
	return a->wrong->n == 0 ? media_part(type, &m) : NULL;
}

/* The part of 0.x: its type is that of its bytes. */
static json_t *
binary_part(struct asking *a, const struct place *at, const json_t *v)
{
	struct media m = {
		.mime = text(a, at, v, "mimeType", "mime_type"),
		.id = text_if(a, at, v, "id", NULL),
		.url = text_if(a, at, v, "url", NULL),
		.base64 = text_if(a, at, v, "data", NULL),
		.name = text_if(a, at, v, "filename", NULL),
	};

	if (a->wrong->n == 0 && m.id == NULL && m.url == NULL &&
	    m.base64 == NULL)
		invalid_add(a->wrong, at, "value_error",
		    "Value error, BinaryInputContent requires id, url, or "
		    "data to be provided.",
		    v, NULL);
	if (a->wrong->n > 0)
		return NULL;
	return media_part_by_mime(&m);
}

static json_t *
text_part(json_t *t)
{
	return json_pack("{s:s,s:O}", "type", "text", "text", t);
}

static json_t *
part(struct asking *a, const struct place *at, const json_t *v)
{
	const char *type;
	json_t *t;

	if (!is_object(a, at, v))
		return NULL;
	type = json_string_value(json_object_get(v, "type"));
	if (type == NULL) {
		bad_tag(a, at, v, "type", NULL, NULL);
		return NULL;
	}
	if (strcmp(type, "text") == 0) {
		t = string(a, at, v, "text", NULL);
		return t != NULL ? text_part(t) : NULL;
	}
	if (strcmp(type, "binary") == 0)
		return binary_part(a, at, v);
	if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0 ||
	    strcmp(type, "video") == 0 || strcmp(type, "document") == 0)
		return source_part(a, at, v, type);
	bad_tag(a, at, v, "type", type,
	    "'text', 'image', 'audio', 'video', 'document', 'binary'");
	return NULL;
}

/* A string or a list of parts: parts of ours, a new reference; or NULL. */
static json_t *
content(struct asking *a, const struct place *at, const json_t *o)
{
	struct place here = { at, "content", 0 };
	json_t *v = json_object_get(o, "content"), *one, *out, *p;
	size_t i;

	if (v == NULL) {
		invalid_missing(a->wrong, at, "content", o);
		return NULL;
	}
	if (jtext_string(v, &(size_t){ 0 }) == NULL && !json_is_array(v)) {
		invalid_add(a->wrong, &here, "string_type",
		    "Input should be a valid string or a list of parts", v,
		    NULL);
		return NULL;
	}
	out = json_array();
	if (json_is_string(v))
		json_array_append_new(out, text_part(v));
	json_array_foreach(v, i, one) {
		p = part(a, &(struct place){ &here, NULL, i }, one);
		if (p != NULL)
			json_array_append_new(out, p);
	}
	return out;
}

/* ---- messages ---- */

/* content is taken; NULL: nothing is added. */
static void
add(struct asking *a, const json_t *o, const char *type, const char *role,
    json_t *parts)
{
	json_t *m, *name = json_object_get(o, "name");

	if (parts == NULL)
		return;
	m = json_pack("{s:O,s:s,s:s,s:o}", "id", json_object_get(o, "id"),
	    "type", type, "role", role, "content", parts);
	if (m == NULL)
		return; /* the id is no string, which has been said */
	if (json_is_string(name))
		json_object_set_new(m, "metadata",
		    json_pack("{s:O}", "original_name", name));
	json_array_append_new(a->input, m);
}

static void
add_data(struct asking *a, const json_t *o, const char *type, const char *role,
    json_t *data)
{
	add(a, o, type, role,
	    json_pack("[{s:s,s:o}]", "type", "data", "data", data));
}

static void
said(struct asking *a, const struct place *at, const json_t *o,
    const char *role)
{
	json_t *t = string(a, at, o, "content", NULL);

	if (t != NULL)
		add(a, o, "message", role, json_pack("[o]", text_part(t)));
}

static void
from_system(struct asking *a, const struct place *at, const json_t *o)
{
	said(a, at, o, "system");
}

static void
from_user(struct asking *a, const struct place *at, const json_t *o)
{
	add(a, o, "message", "user", content(a, at, o));
}

static void
one_call(struct asking *a, const struct place *at, const json_t *o,
    const json_t *call)
{
	struct place in = { at, "function", 0 };
	const json_t *fn;
	const char *id, *name;
	json_t *args;

	if (!is_object(a, at, call))
		return;
	id = text(a, at, call, "id", NULL);
	fn = json_object_get(call, "function");
	if (fn == NULL) {
		invalid_missing(a->wrong, at, "function", call);
		return;
	}
	if (!is_object(a, &in, fn))
		return;
	name = text(a, &in, fn, "name", NULL);
	args = string(a, &in, fn, "arguments", NULL);
	if (id != NULL && name != NULL && args != NULL)
		add_data(a, o, "function_call", "assistant",
		    json_pack("{s:s,s:s,s:O}", "call_id", id, "name", name,
			"arguments", args));
}

static void
from_assistant(struct asking *a, const struct place *at, const json_t *o)
{
	struct place here = { at, "toolCalls", 0 };
	json_t *calls = list(a, at, o, "toolCalls", "tool_calls"), *call;
	size_t i;

	if (!absent(json_object_get(o, "content")))
		said(a, at, o, "assistant");
	json_array_foreach(calls, i, call)
		one_call(a, &(struct place){ &here, NULL, i }, o, call);
}

/* The name that this call was made by; NULL: unknown. */
static const char *
called(struct asking *a, const char *id)
{
	const json_t *m, *data;
	const char *call;
	size_t i;

	json_array_foreach(a->input, i, m) {
		if (a->looks++ >= LOOKS_MOST)
			return NULL;
		data = json_object_get(json_array_get(json_object_get(m,
							  "content"),
					   0),
		    "data");
		call = json_string_value(json_object_get(data, "call_id"));
		if (call != NULL && strcmp(call, id) == 0)
			return json_string_value(json_object_get(data, "name"));
	}
	return NULL;
}

/* Text as it is; parts, unless they are one text, as JSON. */
static json_t *
output_text(const json_t *parts)
{
	const json_t *first = json_array_get(parts, 0);
	auto_free char *dump = NULL;

	if (json_array_size(parts) == 1 &&
	    json_object_get(first, "text") != NULL)
		return json_incref(json_object_get(first, "text"));
	dump = json_dumps(parts, JSON_COMPACT);
	return json_string(dump != NULL ? dump : "");
}

static void
from_tool(struct asking *a, const struct place *at, const json_t *o)
{
	const char *id = text(a, at, o, "toolCallId", "tool_call_id");
	const char *failed = text_if(a, at, o, "error", NULL);
	json_t *parts = content(a, at, o), *data;
	const char *name;

	if (id == NULL || parts == NULL) {
		json_decref(parts);
		return;
	}
	data = json_pack("{s:s}", "call_id", id);
	name = called(a, id);
	if (name != NULL)
		json_object_set_new(data, "name", json_string(name));
	json_object_set_new(data, "output",
	    failed != NULL && *failed != '\0'
		? json_sprintf("error: %s", failed)
		: output_text(parts));
	json_decref(parts);
	add_data(a, o, "function_call_output", "tool", data);
}

/* Something that the page shows; not for the agent. */
static void
from_activity(struct asking *a, const struct place *at, const json_t *o)
{
	const json_t *v = json_object_get(o, "content");

	(void)text(a, at, o, "activityType", "activity_type");
	if (v == NULL)
		invalid_missing(a->wrong, at, "content", o);
	else if (!json_is_object(v))
		invalid_add(a->wrong, &(struct place){ at, "content", 0 },
		    "dict_type", "Input should be a valid dictionary", v, NULL);
}

static void
from_reasoning(struct asking *a, const struct place *at, const json_t *o)
{
	json_t *t = string(a, at, o, "content", NULL);

	if (t != NULL)
		add(a, o, "reasoning", "assistant",
		    json_pack("[o]", text_part(t)));
}

static const struct {
	const char *role;
	void (*read)(struct asking *, const struct place *, const json_t *);
} roles[] = {
	{ "developer", from_system },
	{ "system", from_system },
	{ "assistant", from_assistant },
	{ "user", from_user },
	{ "tool", from_tool },
	{ "activity", from_activity },
	{ "reasoning", from_reasoning },
};

static void
message(struct asking *a, const struct place *at, const json_t *v)
{
	const char *role;

	if (!is_object(a, at, v))
		return;
	role = json_string_value(json_object_get(v, "role"));
	for (size_t i = 0; role != NULL && i < sizeof roles / sizeof *roles;
	     i++) {
		struct place here = { at, roles[i].role, 0 };

		if (strcmp(role, roles[i].role) != 0)
			continue;
		if (text(a, &here, v, "id", NULL) != NULL)
			roles[i].read(a, &here, v);
		return;
	}
	bad_tag(a, at, v, "role", role,
	    "'developer', 'system', 'assistant', 'user', 'tool', 'activity', "
	    "'reasoning'");
}

/* ---- tools, context, and the whole ---- */

static json_t *
parameters(const json_t *v)
{
	json_t *p = json_is_object(v) ? json_deep_copy(v) : json_object();

	if (json_object_get(p, "type") == NULL)
		json_object_set_new(p, "type", json_string("object"));
	if (json_object_get(p, "properties") == NULL)
		json_object_set_new(p, "properties", json_object());
	if (json_object_get(p, "required") == NULL)
		json_object_set_new(p, "required", json_array());
	return p;
}

static json_t *
tools(struct asking *a, const json_t *from)
{
	struct place here = { NULL, "tools", 0 };
	json_t *out = json_array(), *v;
	size_t i;

	json_array_foreach(from, i, v) {
		struct place at = { &here, NULL, i };
		const char *name, *description;

		if (!is_object(a, &at, v))
			continue;
		name = text(a, &at, v, "name", NULL);
		description = text(a, &at, v, "description", NULL);
		if (name != NULL && description != NULL)
			json_array_append_new(out,
			    json_pack("{s:s,s:{s:s,s:s,s:o}}", "type",
				"function", "function", "name", name,
				"description", description, "parameters",
				parameters(json_object_get(v, "parameters"))));
	}
	return out;
}

static json_t *
context(struct asking *a, const json_t *from)
{
	struct place here = { NULL, "context", 0 };
	json_t *out = json_array(), *v;
	size_t i;

	json_array_foreach(from, i, v) {
		struct place at = { &here, NULL, i };
		const char *description, *value;

		if (!is_object(a, &at, v))
			continue;
		description = text(a, &at, v, "description", NULL);
		value = text(a, &at, v, "value", NULL);
		if (description != NULL && value != NULL)
			json_array_append_new(out,
			    json_pack("{s:s,s:s}", "description", description,
				"value", value));
	}
	return out;
}

static const char *
user_of(const json_t *props)
{
	const char *user = json_string_value(json_object_get(props, "user_id"));

	if (user == NULL)
		user = json_string_value(json_object_get(props, "userId"));
	return user != NULL && *user != '\0' ? user : "default_user_id";
}

static void
set_text(json_t *r, const char *name, const char *value)
{
	if (value != NULL && *value != '\0')
		json_object_set_new(r, name, json_string(value));
}

static void
set_value(json_t *r, const char *name, json_t *value)
{
	if (!absent(value))
		json_object_set(r, name, value);
}

int
ask_agui(const json_t *body, struct agui_ask *out, struct invalid *wrong)
{
	struct asking a = { .wrong = wrong };
	struct place messages = { NULL, "messages", 0 };
	const char *thread, *run;
	json_t *r, *props, *given, *one;
	size_t i;

	if (!is_object(&a, NULL, body))
		return -1;
	thread = text(&a, NULL, body, "threadId", "thread_id");
	run = text(&a, NULL, body, "runId", "run_id");
	props = member(body, "forwardedProps", "forwarded_props");
	out->parent_run =
	    text_if(&a, NULL, body, "parentRunId", "parent_run_id");
	out->modern = text_if(&a, NULL, body, "protocolVersion",
			  "protocol_version") != NULL;
	a.input = json_array();
	given = list(&a, NULL, body, "messages", NULL);
	json_array_foreach(given, i, one)
		message(&a, &(struct place){ &messages, NULL, i }, one);
	r = json_pack("{s:o,s:b,s:s,s:o,s:o}", "input", a.input, "stream", 1,
	    "user_id", user_of(props), "tools",
	    tools(&a, list(&a, NULL, body, "tools", NULL)), "context",
	    context(&a, list(&a, NULL, body, "context", NULL)));
	set_text(r, "id", run);
	set_text(r, "session_id", thread);
	set_text(r, "parent_run_id", out->parent_run);
	set_value(r, "state", json_object_get(body, "state"));
	set_value(r, "forwarded_props", props);
	set_value(r, "resume", list(&a, NULL, body, "resume", NULL));
	if (wrong->n > 0) {
		json_decref(r);
		return -1;
	}
	out->request = r;
	return 0;
}
