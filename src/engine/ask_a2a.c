#include "engine/ask_a2a.h"

#include <stdio.h>
#include <string.h>
#include "base/str.h"
#include "engine/ask_media.h"
#include "json/jtext.h"

void
a2a_wrong(struct str *list, const char *field, const char *why)
{
	if (list->len > 0)
		str_putc(list, ',');
	str_puts(list, "{\"field\":");
	jtext_quote_text(list, field);
	str_puts(list, ",\"description\":");
	jtext_quote_text(list, why);
	str_putc(list, '}');
}

/* NULL: absent or null, or no text, which is said. */
static const char *
text(const json_t *o, const char *name, const char *field, struct str *wrong)
{
	const json_t *v = json_object_get(o, name);

	if (v == NULL || json_is_null(v))
		return NULL;
	if (jtext_cstring(v) == NULL)
		a2a_wrong(wrong, field, "must be a string");
	return jtext_cstring(v);
}

static json_t *
file_part(const json_t *file, const char *field, struct str *wrong)
{
	struct media m = {
		.url = text(file, "uri", field, wrong),
		.base64 = text(file, "bytes", field, wrong),
		.mime = text(file, "mimeType", field, wrong),
		.name = text(file, "name", field, wrong),
	};

	if (m.url == NULL && m.base64 == NULL) {
		a2a_wrong(wrong, field, "a file needs its bytes or an address");
		return NULL;
	}
	return media_part_by_mime(&m);
}

/* Its kind, said or seen; "" unknown. */
static const char *
part_kind(const json_t *p)
{
	static const char *const kinds[] = { "text", "file", "data" };
	const char *said = jtext_cstring(json_object_get(p, "kind"));

	for (size_t i = 0; i < 3; i++)
		if (said != NULL ? strcmp(said, kinds[i]) == 0
				 : json_object_get(p, kinds[i]) != NULL)
			return kinds[i];
	return "";
}

static json_t *
part(const json_t *p, const char *field, struct str *wrong)
{
	const char *kind = part_kind(p);
	json_t *v = *kind != '\0' ? json_object_get(p, kind) : NULL;

	if (v == NULL) {
		a2a_wrong(wrong, field, "must have text, a file or data");
	} else if (strcmp(kind, "text") == 0) {
		if (jtext_string(v, &(size_t){ 0 }) != NULL)
			return json_pack("{s:s,s:O}", "type", "text", "text",
			    v);
		a2a_wrong(wrong, field, "text must be a string");
	} else if (!json_is_object(v)) {
		a2a_wrong(wrong, field, "must be an object");
	} else if (strcmp(kind, "file") == 0) {
		return file_part(v, field, wrong);
	} else {
		return json_pack("{s:s,s:O}", "type", "data", "data", v);
	}
	return NULL;
}

static json_t *
parts(const json_t *message, bool modern, struct str *wrong)
{
	const json_t *list = json_object_get(message, "parts"), *v;
	json_t *out = json_array(), *p;
	char field[48];
	size_t i;

	if (!json_is_array(list))
		a2a_wrong(wrong, "message.parts", "must be a list of parts");
	else if (modern && json_array_size(list) == 0)
		a2a_wrong(wrong, "message.parts",
		    "at least one part is required");
	json_array_foreach(list, i, v) {
		snprintf(field, sizeof field, "message.parts[%zu]", i);
		p = part(v, field, wrong);
		if (p != NULL)
			json_array_append_new(out, p);
	}
	return out;
}

static const char *
role(const json_t *message, struct str *wrong)
{
	const char *r = text(message, "role", "message.role", wrong);

	if (r != NULL && strcmp(r, "user") == 0)
		return "user";
	if (r != NULL && strcmp(r, "agent") == 0)
		return "assistant";
	a2a_wrong(wrong, "message.role", "must be the user's or the agent's");
	return "user";
}

static void
settings(const json_t *params, struct a2a_ask *out, struct str *wrong)
{
	const json_t *c = json_object_get(params, "configuration"), *v;

	out->blocking = true;
	out->history = -1;
	if (c == NULL || json_is_null(c))
		return;
	if (!json_is_object(c)) {
		a2a_wrong(wrong, "configuration", "must be an object");
		return;
	}
	v = json_object_get(c, "blocking");
	out->blocking = !json_is_false(v);
	out->push = json_object_get(c, "pushNotificationConfig");
	if (json_is_null(out->push))
		out->push = NULL;
	v = json_object_get(c, "historyLength");
	if (json_is_integer(v) && json_integer_value(v) >= 0)
		out->history = json_integer_value(v) > 100000
		    ? 100000
		    : (int)json_integer_value(v);
	else if (v != NULL && !json_is_null(v))
		a2a_wrong(wrong, "configuration.historyLength",
		    "must be a number that is not negative");
}

static void
user(json_t *request, const json_t *metadata)
{
	const char *u = jtext_cstring(json_object_get(metadata, "user_id"));

	if (u == NULL)
		u = jtext_cstring(json_object_get(metadata, "userId"));
	if (u != NULL && *u != '\0')
		json_object_set_new(request, "user_id", json_string(u));
}

static json_t *
request(const json_t *params, const json_t *m, const struct a2a_ask *ask,
    const char *id, const char *role, json_t *content)
{
	json_t *message = json_pack("{s:s,s:s,s:o}", "type", "message", "role",
	    role, "content", content);
	json_t *r = json_pack("{s:[o],s:b}", "input", message, "stream", 1);
	json_t *v;

	if (id != NULL)
		json_object_set_new(message, "id", json_string(id));
	v = json_object_get(m, "metadata");
	if (json_is_object(v)) {
		json_object_set(message, "metadata", v);
		user(r, v);
	}
	v = json_object_get(params, "metadata");
	if (json_is_object(v)) {
		json_object_set(r, "metadata", v);
		user(r, v);
	}
	v = json_object_get(m, "referenceTaskIds");
	if (json_is_array(v))
		json_object_set(r, "reference_task_ids", v);
	if (ask->context != NULL && *ask->context != '\0')
		json_object_set_new(r, "session_id", json_string(ask->context));
	return r;
}

int
ask_a2a(const json_t *params, bool modern, struct a2a_ask *out,
    struct str *wrong)
{
	const json_t *m = json_object_get(params, "message");
	const char *id, *who;
	json_t *content;

	*out = (struct a2a_ask){ .blocking = true, .history = -1 };
	if (!json_is_object(m)) {
		a2a_wrong(wrong, "message", "is required");
		return -1;
	}
	id = text(m, "messageId", "message.messageId", wrong);
	if (id == NULL || *id == '\0')
		a2a_wrong(wrong, "message.messageId", "is required");
	who = role(m, wrong);
	content = parts(m, modern, wrong);
	out->task = text(m, "taskId", "message.taskId", wrong);
	out->context = text(m, "contextId", "message.contextId", wrong);
	if (out->task != NULL && *out->task == '\0')
		out->task = NULL;
	if (out->context != NULL && *out->context == '\0')
		out->context = NULL;
	settings(params, out, wrong);
	if (wrong->len > 0) {
		json_decref(content);
		return -1;
	}
	out->request = request(params, m, out, id, who, content);
	out->message = json_copy((json_t *)m);
	json_object_set_new(out->message, "kind", json_string("message"));
	return 0;
}
