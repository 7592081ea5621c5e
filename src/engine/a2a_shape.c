#include "engine/a2a_shape.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include "base/str.h"

static const char *const states[] = { "submitted", "working", "input-required",
	"completed", "canceled", "failed", "rejected", "auth-required",
	"unknown" };
#define STATE_PREFIX "TASK_STATE_"

void
a2a_modern_state(struct str *out, const char *legacy)
{
	if (strcmp(legacy, "unknown") == 0)
		legacy = "unspecified";
	str_puts(out, STATE_PREFIX);
	for (; *legacy != '\0'; legacy++)
		str_putc(out,
		    *legacy == '-' ? '_'
				   : (char)toupper((unsigned char)*legacy));
}

const char *
a2a_state(const char *text)
{
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		auto_str struct str loud = { 0 };

		a2a_modern_state(&loud, states[i]);
		if (strcmp(text, states[i]) == 0 ||
		    strcmp(text, str_text(&loud)) == 0)
			return states[i];
	}
	return NULL;
}

void
a2a_time(struct str *out, long long ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	char text[32];

	gmtime_r(&s, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	str_printf(out, "%s.%03lldZ", text, ms % 1000);
}

/* ---- from 0.3 to 1.0 ---- */

static const char *
text_of(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static bool
kind_is(const json_t *o, const char *kind)
{
	const char *k = text_of(o, "kind");

	return k != NULL && strcmp(k, kind) == 0;
}

static void
copy(json_t *to, const char *as, const json_t *from, const char *name)
{
	json_t *v = json_object_get(from, name);

	if (v != NULL && !json_is_null(v))
		json_object_set(to, as, v);
}

static json_t *
modern_part(const json_t *old)
{
	const json_t *file = json_object_get(old, "file");
	json_t *p = json_object();

	if (file != NULL) {
		copy(p, "url", file, "uri");
		copy(p, "raw", file, "bytes");
		copy(p, "filename", file, "name");
		copy(p, "mediaType", file, "mimeType");
	} else {
		copy(p, "text", old, "text");
		copy(p, "data", old, "data");
	}
	copy(p, "metadata", old, "metadata");
	return p;
}

static json_t *
each(const json_t *list, json_t *(*fn)(const json_t *))
{
	json_t *out = json_array(), *v;
	size_t i;

	json_array_foreach(list, i, v)
		json_array_append_new(out, fn(v));
	return out;
}

static void
put_each(json_t *o, const char *name, json_t *(*fn)(const json_t *))
{
	const json_t *v = json_object_get(o, name);

	if (json_is_array(v))
		json_object_set_new(o, name, each(v, fn));
}

static void
put_object(json_t *o, const char *name, json_t *(*fn)(const json_t *))
{
	const json_t *v = json_object_get(o, name);

	if (json_is_object(v))
		json_object_set_new(o, name, fn(v));
}

static json_t *
modern_status(const json_t *old)
{
	json_t *s = json_copy((json_t *)old);
	const char *state = text_of(old, "state");
	auto_str struct str loud = { 0 };

	if (state != NULL) {
		a2a_modern_state(&loud, state);
		json_object_set_new(s, "state", json_string(str_text(&loud)));
	}
	put_object(s, "message", a2a_modern);
	return s;
}

json_t *
a2a_modern(const json_t *old)
{
	json_t *o = json_copy((json_t *)old);
	const char *role = text_of(old, "role");

	if (role != NULL)
		json_object_set_new(o, "role",
		    json_string(strcmp(role, "agent") == 0 ? "ROLE_AGENT"
							   : "ROLE_USER"));
	json_object_del(o, "kind");
	json_object_del(o, "final");
	put_each(o, "parts", modern_part);
	put_each(o, "history", a2a_modern);
	put_each(o, "artifacts", a2a_modern);
	put_object(o, "artifact", a2a_modern);
	put_object(o, "status", modern_status);
	return o;
}

json_t *
a2a_modern_result(const json_t *old)
{
	static const char *const kinds[][2] = { { "task", "task" },
		{ "message", "message" }, { "status-update", "statusUpdate" },
		{ "artifact-update", "artifactUpdate" } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kind_is(old, kinds[i][0]))
			return json_pack("{s:o}", kinds[i][1], a2a_modern(old));
	return json_incref((json_t *)old);
}

/*
 * {"taskId","pushNotificationConfig":{"id","url","token","authentication":
 * {"schemes":[],"credentials"}}} and {"taskId","id","url","token",
 * "authentication":{"scheme","credentials"}}
 */
json_t *
a2a_modern_push(const json_t *old)
{
	const json_t *c = json_object_get(old, "pushNotificationConfig");
	const json_t *auth = json_object_get(c, "authentication");
	json_t *o = json_object(), *a;

	copy(o, "taskId", old, "taskId");
	copy(o, "id", c, "id");
	copy(o, "url", c, "url");
	copy(o, "token", c, "token");
	if (json_is_object(auth)) {
		a = json_object();
		json_object_set(a, "scheme",
		    json_array_get(json_object_get(auth, "schemes"), 0));
		copy(a, "credentials", auth, "credentials");
		json_object_set_new(o, "authentication", a);
	}
	return o;
}

/* ---- from 1.0 to 0.3 ---- */

static json_t *
legacy_part(const json_t *new)
{
	json_t *p, *file, *data = json_object_get(new, "data");

	if (!json_is_object(new) || json_object_get(new, "kind") != NULL)
		return json_incref((json_t *)new);
	p = json_object();
	copy(p, "metadata", new, "metadata");
	if (json_object_get(new, "text") != NULL) {
		json_object_set_new(p, "kind", json_string("text"));
		copy(p, "text", new, "text");
	} else if (data != NULL) {
		json_object_set_new(p, "kind", json_string("data"));
		if (json_is_object(data))
			json_object_set(p, "data", data);
		else
			json_object_set_new(p, "data",
			    json_pack("{s:O}", "value", data));
	} else {
		file = json_object();
		copy(file, "uri", new, "url");
		copy(file, "bytes", new, "raw");
		copy(file, "name", new, "filename");
		copy(file, "mimeType", new, "mediaType");
		json_object_set_new(p, "kind", json_string("file"));
		json_object_set_new(p, "file", file);
	}
	return p;
}

static json_t *
legacy_message(const json_t *new)
{
	json_t *m = json_copy((json_t *)new);
	const char *role = text_of(new, "role");

	if (role != NULL && strcmp(role, "ROLE_USER") == 0)
		json_object_set_new(m, "role", json_string("user"));
	if (role != NULL && strcmp(role, "ROLE_AGENT") == 0)
		json_object_set_new(m, "role", json_string("agent"));
	json_object_set_new(m, "kind", json_string("message"));
	put_each(m, "parts", legacy_part);
	return m;
}

json_t *
a2a_legacy_push(const json_t *new)
{
	const json_t *auth = json_object_get(new, "authentication");
	json_t *c = json_object(), *a, *scheme;
	json_t *o = json_pack("{s:o}", "pushNotificationConfig", c);

	copy(o, "taskId", new, "taskId");
	copy(c, "id", new, "id");
	copy(c, "url", new, "url");
	copy(c, "token", new, "token");
	if (json_is_object(auth)) {
		scheme = json_object_get(auth, "scheme");
		a = json_pack("{s:[]}", "schemes");
		if (json_is_string(scheme))
			json_array_append(json_object_get(a, "schemes"),
			    scheme);
		copy(a, "credentials", auth, "credentials");
		json_object_set_new(c, "authentication", a);
	}
	return o;
}

static json_t *
legacy_configuration(const json_t *new)
{
	json_t *c = json_copy((json_t *)new), *push;
	const json_t *now = json_object_get(new, "returnImmediately");

	json_object_set_new(c, "blocking", json_boolean(!json_is_true(now)));
	push = json_object_get(new, "taskPushNotificationConfig");
	if (json_is_object(push)) {
		push = a2a_legacy_push(push);
		copy(c, "pushNotificationConfig", push,
		    "pushNotificationConfig");
		json_decref(push);
	}
	return c;
}

json_t *
a2a_legacy_params(const json_t *params)
{
	json_t *p;

	if (!json_is_object(params))
		return json_incref((json_t *)params);
	p = json_copy((json_t *)params);
	put_object(p, "message", legacy_message);
	put_object(p, "configuration", legacy_configuration);
	return p;
}
