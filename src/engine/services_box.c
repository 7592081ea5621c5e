/*
 * The session's own sandboxes: found by its name, or made; released together.
 * Its name is a digest, so that no other agent's session can be meant.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/services_int.h"
#include "engine/toolbox.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "wire/loop.h"

#define ASKS_MOST 1024 /* of a tenant that wait at once */
#define TYPES_MOST 8

struct box_ask {
	TAILQ_ENTRY(box_ask) link;
	struct services *s;
	uint64_t ask;
	void (*answer)(void *, uint64_t, json_t *, const char *, const char *);
	void *arg;
	int tenant;
	char name[48];
	struct wait *wait;
	json_t *types, *boxes; /* connect */
	size_t at;
	struct toolbox *tools; /* call */
	json_t *result;
};

static void
name_of(char out[48], const struct service_key *k)
{
	auto_str struct str all = { 0 };
	uint8_t digest[32];

	str_add(&all, k->tenant, strlen(k->tenant) + 1);
	str_add(&all, k->agent, strlen(k->agent) + 1);
	str_add(&all, k->user, strlen(k->user) + 1);
	str_puts(&all, k->session);
	sha256(digest, all.at, all.len);
	strcpy(out, "agent_");
	hex_put(out + 6, digest, 20);
}

static void
box_free(struct box_ask *b)
{
	TAILQ_REMOVE(&b->s->boxes, b, link);
	loop_unpost(b->s->conf.loop, b);
	if (b->wait != NULL)
		manager_forget(b->wait);
	toolbox_free(b->tools);
	json_decref(b->types);
	json_decref(b->boxes);
	json_decref(b->result);
	free(b);
}

void
box_forget(struct services *s, void *arg)
{
	struct box_ask *b, *next;

	for (b = TAILQ_FIRST(&s->boxes); b != NULL; b = next) {
		next = TAILQ_NEXT(b, link);
		if (arg == NULL || b->arg == arg)
			box_free(b);
	}
}

static struct box_ask *
begin(const struct asking *a, struct err *err)
{
	struct box_ask *b;
	unsigned n = 0;

	TAILQ_FOREACH(b, &a->s->boxes, link)
		n += b->tenant == a->who->tenant;
	if (n >= ASKS_MOST) {
		err_set(err, ERR_LIMIT, "too many wait for sandboxes");
		return NULL;
	}
	b = xcalloc(1, sizeof *b);
	b->s = a->s;
	b->ask = a->ask;
	b->answer = a->who->answer;
	b->arg = a->who->arg;
	b->tenant = a->who->tenant;
	name_of(b->name, &a->key);
	TAILQ_INSERT_TAIL(&a->s->boxes, b, link);
	return b;
}

/* The answer may lead to anything, so it is gone before. */
static void
finish(struct box_ask *b, json_t *value, const struct err *err)
{
	struct box_ask was = *b;

	box_free(b);
	was.answer(was.arg, was.ask, value,
	    err == NULL                  ? NULL
		: err->code == ERR_LIMIT ? "limit"
					 : "failed",
	    err != NULL ? err->text : NULL);
}

/* ---- connect ---- */

/* One of this type that the session has already; NULL. */
static struct sandbox *
known(const struct box_ask *b, const char *type)
{
	json_t *ids = manager_session(b->s->conf.manager, b->tenant, b->name);
	struct sandbox *found = NULL, *sb;
	const json_t *id;
	size_t i;

	json_array_foreach(ids, i, id) {
		sb = manager_find(b->s->conf.manager, b->tenant,
		    json_string_value(id), true);
		if (sb != NULL && strcmp(sandbox_record(sb)->type, type) == 0)
			found = sb;
	}
	json_decref(ids);
	return found;
}

static void connect_next(void *);

static void
connected(void *arg, struct sandbox *sb, const struct err *err)
{
	struct box_ask *b = arg;
	const struct record *r;

	b->wait = NULL;
	if (sb == NULL) {
		finish(b, NULL, err);
		return;
	}
	r = sandbox_record(sb);
	json_array_append_new(b->boxes,
	    json_pack("{s:s,s:s}", "id", r->id, "type", r->type));
	b->at++;
	connect_next(b);
}

static void
connect_next(void *arg)
{
	struct box_ask *b = arg;
	struct manager *m = b->s->conf.manager;
	struct create create = { .tenant = b->tenant, .pooled = true };
	const char *type = json_string_value(json_array_get(b->types, b->at));
	struct sandbox *sb;
	struct err err;

	if (type == NULL) {
		finish(b, json_incref(b->boxes), NULL);
		return;
	}
	if ((sb = known(b, type)) != NULL)
		b->wait = manager_ready(m, b->tenant, sandbox_record(sb)->id,
		    false, connected, b, &err);
	else {
		create.type = type;
		create.meta = json_pack("{s:s}", "session_ctx_id", b->name);
		b->wait = manager_create(m, &create, connected, b, &err);
		json_decref(create.meta);
	}
	if (b->wait == NULL)
		finish(b, NULL, &err);
}

static int
types_of(const struct asking *a, json_t **types, struct err *err)
{
	json_t *list = json_object_get(a->line, "types"), *t;
	size_t i;

	if (list == NULL || json_is_null(list)) {
		*types = json_pack("[s]", "base");
		return 0;
	}
	if (!json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > TYPES_MOST)
		return err_set(err, ERR_INVALID,
		    "types: not a list of at most %d", TYPES_MOST);
	json_array_foreach(list, i, t)
		if (jtext_cstring(t) == NULL)
			return err_set(err, ERR_INVALID, "types: not texts");
	*types = json_incref(list);
	return 0;
}

int
box_connect(struct asking *a, json_t **value, bool *later, struct err *err)
{
	struct box_ask *b;
	json_t *types = NULL;

	(void)value;
	if (types_of(a, &types, err) < 0)
		return -1;
	if ((b = begin(a, err)) == NULL) {
		json_decref(types);
		return -1;
	}
	b->types = types;
	b->boxes = json_array();
	*later = true;
	loop_post(a->s->conf.loop, connect_next, b);
	return 0;
}

/* ---- call ---- */

static void
tell(void *arg)
{
	struct box_ask *b = arg;

	finish(b, json_incref(b->result), NULL);
}

/* Not from within the toolbox, which goes with it. */
static void
done(void *arg, size_t index, bool failed, const char *text, size_t n)
{
	struct box_ask *b = arg;

	(void)index;
	b->result = json_pack("{s:[{s:s,s:s#}],s:b}", "content", "type", "text",
	    "text", text, n, "isError", failed);
	loop_post(b->s->conf.loop, tell, b);
}

static bool
has(const struct box_ask *b, const char *id)
{
	json_t *ids = manager_session(b->s->conf.manager, b->tenant, b->name);
	const json_t *one;
	bool is = false;
	size_t i;

	json_array_foreach(ids, i, one)
		is = is || strcmp(json_string_value(one), id) == 0;
	json_decref(ids);
	return is;
}

int
box_call(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const json_t *args = json_object_get(a->line, "arguments");
	struct toolbox_conf conf = { .loop = a->s->conf.loop,
		.manager = a->s->conf.manager,
		.tenant = a->who->tenant,
		.bits = TOOLBOX_ALL,
		.timeout_ms = a->s->conf.config->timeout * 1000,
		.done = done };
	auto_str struct str text = { 0 };
	const char *id, *tool;
	struct box_ask *b;

	(void)value;
	if (asking_text(a, "id", &id, err) < 0 ||
	    asking_text(a, "tool", &tool, err) < 0)
		return -1;
	if (id == NULL || tool == NULL)
		return err_set(err, ERR_INVALID, "%s: missing",
		    id == NULL ? "id" : "tool");
	if (args != NULL && !json_is_null(args) && !json_is_object(args))
		return err_set(err, ERR_INVALID, "arguments: not an object");
	if ((b = begin(a, err)) == NULL)
		return -1;
	if (!has(b, id)) {
		box_free(b);
		return err_set(err, ERR_MISSING,
		    "the session has no sandbox %.80s", id);
	}
	if (json_is_object(args))
		jtext_write(&text, args);
	conf.session = b->name;
	conf.identity = id;
	conf.arg = b;
	b->tools = toolbox_new(&conf);
	*later = true;
	toolbox_call(b->tools, 0, tool, str_text(&text), text.len);
	return 0;
}

/* ---- release ---- */

int
box_release(struct asking *a, json_t **value, bool *later, struct err *err)
{
	char name[48];
	json_t *ids;
	const json_t *id;
	size_t i;
	int n = 0;

	(void)later;
	(void)err;
	name_of(name, &a->key);
	ids = manager_session(a->s->conf.manager, a->who->tenant, name);
	json_array_foreach(ids, i, id)
		n += manager_release(a->s->conf.manager, a->who->tenant,
			 json_string_value(id)) == 1;
	json_decref(ids);
	*value = json_pack("{s:i}", "released", n);
	return 0;
}
