/* A2A: who wants to be told of a task's changes.  Kept with the task. */
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/a2a_shape.h"
#include "engine/ask_a2a.h"
#include "engine/deployment.h"
#include "json/jtext.h"
#include "web/a2a_int.h"

#define PUSH_MOST 16 /* settings of one task */

/* false: nobody delivers them, which has been replied. */
static bool
supported(struct a2a_call *c)
{
	if (a2a_desk_pushes(c->desk))
		return true;
	a2a_fail(c, A2A_NO_PUSH, "Push notifications are not supported");
	return false;
}

/* One setting (in 0.3's shape) as the version has it; it stays the caller's. */
static json_t *
shaped(const struct a2a_call *c, json_t *setting)
{
	return c->modern ? a2a_modern_push(setting) : json_incref(setting);
}

static const char *
id_of(const json_t *setting)
{
	const char *id = json_string_value(
	    json_object_get(json_object_get(setting, "pushNotificationConfig"),
		"id"));

	return id != NULL ? id : "";
}

/* Its place in the list; the list's size: none. */
static size_t
place(const json_t *list, const char *id)
{
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
		if (strcmp(id_of(v), id) == 0)
			return i;
	return json_array_size(list);
}

static void
fail_field(struct a2a_call *c, const char *field, const char *why)
{
	auto_str struct str wrong = { 0 };

	a2a_wrong(&wrong, field, why);
	a2a_fail_params(c, &wrong);
}

/* Which setting: in 0.3 pushNotificationConfigId, in 1.0 id. */
static const char *
wanted(const struct a2a_call *c)
{
	const char *id = jtext_cstring(json_object_get(c->params,
	    c->modern ? "id" : "pushNotificationConfigId"));

	return id != NULL ? id : "";
}

/* The task: in 0.3 often id, and always taskId in what sets one. */
static int
task_of(struct a2a_call *c, struct a2a_task_ref *ref)
{
	bool has = json_object_get(c->params, "taskId") != NULL;

	return a2a_named(c, has || c->modern ? "taskId" : "id", ref);
}

/* What is to be set, in 0.3's shape, with an id; NULL: it has been replied. */
static json_t *
given(struct a2a_call *c)
{
	json_t *set =
	    c->modern ? a2a_legacy_push(c->params) : json_deep_copy(c->params);
	json_t *conf = json_object_get(set, "pushNotificationConfig");
	const char *url = jtext_cstring(json_object_get(conf, "url"));
	char id[UUID_TEXT];

	if (url == NULL ||
	    (strncmp(url, "http://", 7) != 0 &&
		strncmp(url, "https://", 8) != 0)) {
		fail_field(c, "url", "must be an http or https address");
		json_decref(set);
		return NULL;
	}
	uuid_put(id);
	if (jtext_cstring(json_object_get(conf, "id")) == NULL)
		json_object_set_new(conf, "id", json_string(id));
	return set;
}

void
a2a_push_set(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	struct err err;
	json_t *set, *list;
	size_t at;

	if (!supported(c) || task_of(c, &ref) < 0)
		return;
	set = given(c);
	if (set != NULL) {
		list = json_copy(ref.push);
		at = place(list, id_of(set));
		if (at < json_array_size(list))
			json_array_set(list, at, set);
		else
			json_array_append(list, set);
		if (json_array_size(list) > PUSH_MOST)
			fail_field(c, "taskId", "has too many of these");
		else if (a2a_desk_set_push(c->desk, c->who,
			     json_string_value(json_object_get(ref.task, "id")),
			     ref.task, list, &err) < 0)
			a2a_fail_err(c, &err);
		else
			a2a_say(c, shaped(c, set));
		json_decref(list);
		json_decref(set);
	}
	a2a_ref_free(&ref);
}

void
a2a_push_get(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	size_t at = 0;

	if (!supported(c) || task_of(c, &ref) < 0)
		return;
	if (*wanted(c) != '\0')
		at = place(ref.push, wanted(c));
	if (at < json_array_size(ref.push))
		a2a_say(c, shaped(c, json_array_get(ref.push, at)));
	else
		a2a_fail(c, A2A_NO_TASK, "Task not found");
	a2a_ref_free(&ref);
}

void
a2a_push_list(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	json_t *out, *v;
	size_t i;

	if (!supported(c) || task_of(c, &ref) < 0)
		return;
	out = json_array();
	json_array_foreach(ref.push, i, v)
		json_array_append_new(out, shaped(c, v));
	a2a_say(c, c->modern ? json_pack("{s:o}", "configs", out) : out);
	a2a_ref_free(&ref);
}

void
a2a_push_delete(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	struct err err;
	json_t *list;

	if (!supported(c) || task_of(c, &ref) < 0)
		return;
	list = json_copy(ref.push);
	json_array_remove(list, place(list, wanted(c)));
	if (a2a_desk_set_push(c->desk, c->who,
		json_string_value(json_object_get(ref.task, "id")), ref.task,
		list, &err) < 0)
		a2a_fail_err(c, &err);
	else
		a2a_say(c, c->modern ? json_object() : json_null());
	json_decref(list);
	a2a_ref_free(&ref);
}
