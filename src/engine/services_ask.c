#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "base/uuid.h"
#include "conf/config.h"
#include "engine/services_int.h"
#include "json/jtext.h"
#include "store/history.h"
#include "store/memory.h"
#include "store/state.h"

#define NAME_MOST 256 /* bytes of a user's, a session's or a value's name */
#define BATCH_MOST 1000
#define LOCK_MOST 3600 /* seconds */
#define LIST_MOST 1000
#define LIST_USUAL 100

/* ---- what a line says ---- */

int
asking_text(const struct asking *a, const char *name, const char **out,
    struct err *err)
{
	const json_t *v = json_object_get(a->line, name);

	*out = NULL;
	if (v == NULL || json_is_null(v))
		return 0;
	if ((*out = jtext_cstring(v)) == NULL)
		return err_set(err, ERR_INVALID, "%s: not a text", name);
	return 0;
}

static int
short_text(const struct asking *a, const char *name, const char **out,
    struct err *err)
{
	if (asking_text(a, name, out, err) < 0)
		return -1;
	if (*out != NULL && (**out == '\0' || strlen(*out) > NAME_MOST))
		return err_set(err, ERR_INVALID,
		    "%s: empty, or longer than %d bytes", name, NAME_MOST);
	return 0;
}

/* A whole number from `least` on; absent: it stays what it is. */
static int
number(const struct asking *a, const char *name, int64_t least, int64_t most,
    int64_t *out, struct err *err)
{
	const json_t *v = json_object_get(a->line, name);
	double n = json_number_value(v);

	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_number(v) || n < (double)least || n > (double)most)
		return err_set(err, ERR_INVALID,
		    "%s: not a number from %lld to %lld", name,
		    (long long)least, (long long)most);
	*out = json_is_integer(v) ? json_integer_value(v) : (int64_t)n;
	return 0;
}

static int
limit_of(const struct asking *a, unsigned *out, struct err *err)
{
	int64_t n = LIST_USUAL;

	if (number(a, "limit", 1, LIST_MOST, &n, err) < 0)
		return -1;
	*out = (unsigned)n;
	return 0;
}

static int
whose(struct asking *a, bool session, struct err *err)
{
	if (short_text(a, "user", &a->key.user, err) < 0 ||
	    short_text(a, "session", &a->key.session, err) < 0)
		return -1;
	if (a->key.session == NULL)
		a->key.session = a->who->session;
	if (a->key.user == NULL)
		a->key.user = a->who->user;
	/* As a run has it: a user who is not named is the session. */
	if (a->key.user == NULL)
		a->key.user = a->key.session;
	if (a->key.user == NULL || (session && a->key.session == NULL))
		return err_set(err, ERR_INVALID,
		    "there is no run that says whose it is: name %s",
		    session ? "session" : "user");
	if (!session)
		a->key.session = "";
	return 0;
}

static int
room_for(const struct asking *a, const struct str *text, const char *what,
    struct err *err)
{
	const struct config *c = a->s->conf.config;
	int64_t have;

	if (text->len > c->state_max)
		return err_set(err, ERR_LIMIT,
		    "%s: %zu bytes, state_max is %llu", what, text->len,
		    (unsigned long long)c->state_max);
	have = service_bytes(a->s->sums, a->key.tenant, err);
	if (have < 0)
		return -1;
	if ((uint64_t)have + text->len > c->services_max)
		return err_set(err, ERR_LIMIT,
		    "the tenant keeps %lld bytes, services_max is %llu",
		    (long long)have, (unsigned long long)c->services_max);
	return 0;
}

static json_t *
value_of(const char *json)
{
	struct err err;

	/* What we wrote ourselves. */
	return jtext_read(json, strlen(json), NULL, &err);
}

/* ---- state ---- */

static int
name_of(const struct asking *a, const char **name, struct err *err)
{
	if (short_text(a, "name", name, err) < 0)
		return -1;
	if (*name == NULL)
		*name = "state";
	return 0;
}

static void
got_state(void *arg, const char *value, int64_t version)
{
	json_t **out = arg;

	*out = json_pack("{s:o,s:I}", "value", value_of(value), "version",
	    (json_int_t)version);
}

static int
lock(const struct asking *a, const char *name, struct err *err)
{
	int64_t seconds = 0;

	if (number(a, "lock", 1, LOCK_MOST, &seconds, err) < 0)
		return -1;
	if (seconds == 0)
		return 0;
	if (a->who->owner == NULL)
		return err_set(err, ERR_INVALID, "lock: only a run has locks");
	if (state_lock(a->s->state, &a->key, name, a->who->owner,
		a->now + (double)seconds, a->now, err) < 0)
		return -1;
	if (a->now + (double)seconds > a->s->locked_until)
		a->s->locked_until = a->now + (double)seconds;
	return 0;
}

static int
do_load(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const char *name;
	int r;

	(void)later;
	if (whose(a, true, err) < 0 || name_of(a, &name, err) < 0 ||
	    lock(a, name, err) < 0)
		return -1;
	r = state_get(a->s->state, &a->key, name, a->now, got_state, value,
	    err);
	if (r == 0)
		*value = json_null();
	return r < 0 ? -1 : 0;
}

static int
do_save(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const json_t *v = json_object_get(a->line, "value");
	struct state_put p = { .owner = a->who->owner, .now = a->now };
	auto_str struct str text = { 0 };
	int64_t ttl = 0, version;

	(void)later;
	p.if_version = -1;
	if (v == NULL)
		return err_set(err, ERR_INVALID, "value: missing");
	if (whose(a, true, err) < 0 || name_of(a, &p.name, err) < 0 ||
	    number(a, "ttl", 1, 10ll * 365 * 86400, &ttl, err) < 0 ||
	    number(a, "if_version", 0, INT64_MAX / 2, &p.if_version, err) < 0)
		return -1;
	jtext_write(&text, v);
	if (room_for(a, &text, "value", err) < 0)
		return -1;
	p.value = text.at;
	p.expires_at = ttl > 0 ? a->now + (double)ttl : 0;
	version = state_put(a->s->state, &a->key, &p, err);
	if (version < 0)
		return -1;
	*value = json_pack("{s:I}", "version", (json_int_t)version);
	return 0;
}

static int
do_delete(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const char *name;
	int r;

	(void)later;
	if (whose(a, true, err) < 0 || name_of(a, &name, err) < 0)
		return -1;
	r = state_delete(a->s->state, &a->key, name, a->who->owner, a->now,
	    err);
	if (r < 0)
		return -1;
	*value = json_pack("{s:b}", "deleted", r);
	return 0;
}

/* ---- history ---- */

static void
got_message(void *arg, const char *body)
{
	json_array_append_new(arg, value_of(body));
}

static int
do_history(struct asking *a, json_t **value, bool *later, struct err *err)
{
	unsigned limit;

	(void)later;
	if (whose(a, true, err) < 0 || limit_of(a, &limit, err) < 0)
		return -1;
	*value = json_array();
	if (history_list(a->s->history, &a->key, limit, got_message, *value,
		err) == 0)
		return 0;
	json_decref(*value);
	return -1;
}

static int
append(struct asking *a, const json_t *list, struct err *err)
{
	size_t n = json_array_size(list);
	char **bodies = xcalloc(n, sizeof *bodies);
	auto_str struct str all = { 0 };
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const json_t *m = json_array_get(list, i);
		struct str one = { 0 };

		if (!json_is_object(m)) {
			r = err_set(err, ERR_INVALID, "messages: not objects");
			break;
		}
		jtext_write(&one, m);
		r = room_for(a, &one, "a message", err);
		str_add(&all, one.at, one.len);
		bodies[i] = str_take(&one);
	}
	if (r == 0 && all.len > a->s->conf.config->services_max)
		r = err_set(err, ERR_LIMIT, "messages: too much at once");
	if (r == 0)
		r = history_append(a->s->history, &a->key,
		    (const char *const *)bodies, n,
		    a->s->conf.config->history_max, a->now, err);
	for (size_t i = 0; i < n; i++)
		free(bodies[i]);
	free(bodies);
	return r;
}

static int
do_append(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const json_t *list = json_object_get(a->line, "messages");

	(void)later;
	if (!json_is_array(list) || json_array_size(list) > BATCH_MOST)
		return err_set(err, ERR_INVALID,
		    "messages: not a list of at most %d", BATCH_MOST);
	if (whose(a, true, err) < 0 || append(a, list, err) < 0)
		return -1;
	*value = json_pack("{s:i}", "appended", (int)json_array_size(list));
	return 0;
}

static int
do_clear(struct asking *a, json_t **value, bool *later, struct err *err)
{
	int64_t n;

	(void)later;
	if (whose(a, true, err) < 0 ||
	    (n = history_clear(a->s->history, &a->key, err)) < 0)
		return -1;
	*value = json_pack("{s:I}", "cleared", (json_int_t)n);
	return 0;
}

/* ---- memory ---- */

static int
do_remember(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const json_t *meta = json_object_get(a->line, "metadata");
	auto_str struct str json = { 0 }, all = { 0 };
	struct memory_row row = { .made_at = a->now };
	char id[4 + UUID_TEXT] = "mem_";

	(void)later;
	if (whose(a, false, err) < 0 ||
	    asking_text(a, "text", &row.text, err) < 0)
		return -1;
	if (row.text == NULL || *row.text == '\0')
		return err_set(err, ERR_INVALID, "text: missing");
	if (meta != NULL && !json_is_null(meta) && !json_is_object(meta))
		return err_set(err, ERR_INVALID, "metadata: not an object");
	if (json_is_object(meta))
		jtext_write(&json, meta);
	else
		str_puts(&json, "null");
	str_puts(&all, row.text);
	str_add(&all, json.at, json.len);
	if (room_for(a, &all, "text", err) < 0)
		return -1;
	uuid_put(id + 4);
	row.id = id;
	row.metadata = json.at;
	if (memory_add(a->s->memory, &a->key, &row, err) < 0)
		return -1;
	*value = json_pack("{s:s}", "id", id);
	return 0;
}

static void
got_memory(void *arg, const struct memory_row *r)
{
	json_t *o = json_pack("{s:s,s:s,s:o,s:f}", "id", r->id, "text", r->text,
	    "metadata", value_of(r->metadata), "created_at", r->made_at);

	if (o != NULL)
		json_array_append_new(arg, o);
}

static int
do_recall(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const char *query;
	unsigned limit;
	int r;

	(void)later;
	if (whose(a, false, err) < 0 || limit_of(a, &limit, err) < 0 ||
	    asking_text(a, "query", &query, err) < 0)
		return -1;
	*value = json_array();
	r = query != NULL ? memory_search(a->s->memory, &a->key, query, limit,
				got_memory, *value, err)
			  : memory_list(a->s->memory, &a->key, limit,
				got_memory, *value, err);
	if (r < 0)
		json_decref(*value);
	return r;
}

static int
do_search(struct asking *a, json_t **value, bool *later, struct err *err)
{
	if (json_object_get(a->line, "query") == NULL)
		return err_set(err, ERR_INVALID, "query: missing");
	return do_recall(a, value, later, err);
}

static int
do_forget(struct asking *a, json_t **value, bool *later, struct err *err)
{
	const char *id;
	int r;

	(void)later;
	if (whose(a, false, err) < 0 || short_text(a, "id", &id, err) < 0)
		return -1;
	if (id == NULL)
		return err_set(err, ERR_INVALID, "id: missing");
	if ((r = memory_delete(a->s->memory, &a->key, id, err)) < 0)
		return -1;
	*value = json_pack("{s:b}", "deleted", r);
	return 0;
}

/* ---- sandboxes ---- */

static int
of_session(struct asking *a, json_t **value, bool *later, struct err *err,
    service_fn *fn)
{
	if (a->s->conf.manager == NULL)
		return err_set(err, ERR_MISSING, "there are no sandboxes");
	return whose(a, true, err) < 0 ? -1 : fn(a, value, later, err);
}

static int
do_connect(struct asking *a, json_t **value, bool *later, struct err *err)
{
	return of_session(a, value, later, err, box_connect);
}

static int
do_call(struct asking *a, json_t **value, bool *later, struct err *err)
{
	return of_session(a, value, later, err, box_call);
}

static int
do_release(struct asking *a, json_t **value, bool *later, struct err *err)
{
	return of_session(a, value, later, err, box_release);
}

/* ---- the table ---- */

/* clang-format off */
static const struct {
	const char *what;
	service_fn *fn;
} services[] = {
	{ "state.load",		do_load },
	{ "state.save",		do_save },
	{ "state.delete",	do_delete },
	{ "history.list",	do_history },
	{ "history.append",	do_append },
	{ "history.clear",	do_clear },
	{ "memory.add",		do_remember },
	{ "memory.search",	do_search },
	{ "memory.list",	do_recall },
	{ "memory.delete",	do_forget },
	{ "sandbox.connect",	do_connect },
	{ "sandbox.call",	do_call },
	{ "sandbox.release",	do_release },
};

static const char *const codes[ERR_CODES] = {
	[ERR_SYS]	= "failed",
	[ERR_INVALID]	= "invalid",
	[ERR_DENIED]	= "locked",
	[ERR_MISSING]	= "missing",
	[ERR_BUSY]	= "conflict",
	[ERR_LIMIT]	= "limit",
	[ERR_TIMEOUT]	= "timeout",
	[ERR_PROTO]	= "failed",
};
/* clang-format on */

const char *
services_tenant(const struct services *s, int tenant)
{
	const struct config *c = s->conf.config;

	if (tenant < 0 || (size_t)tenant >= c->ntenant)
		return "-";
	return c->tenant[tenant].name;
}

void
services_ask(struct services *s, uint64_t ask, const struct service_ask *who,
    const json_t *line)
{
	struct asking a = { .s = s, .ask = ask, .who = who, .line = line };
	const char *what = jtext_cstring(json_object_get(line, "what"));
	json_t *value = NULL;
	bool later = false;
	struct err err;

	a.key.tenant = services_tenant(s, who->tenant);
	a.key.agent = who->agent;
	a.now = clock_unix();
	for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
		if (what == NULL || strcmp(services[i].what, what) != 0)
			continue;
		if (services[i].fn(&a, &value, &later, &err) < 0)
			who->answer(who->arg, ask, NULL, codes[err.code],
			    err.text);
		else if (!later)
			who->answer(who->arg, ask, value, NULL, NULL);
		return;
	}
	err_set(&err, ERR_INVALID, "what: there is no service %.60s",
	    what != NULL ? what : "(none)");
	who->answer(who->arg, ask, NULL, "unknown", err.text);
}
