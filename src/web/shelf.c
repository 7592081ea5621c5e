#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/escape.h"
#include "engine/reply_responses.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "manager/table.h"
#include "store/responses.h"
#include "web/shelf.h"
#include "web/shelf_int.h"
#include "wire/loop.h"

#define KEPT_MS 120000 /* a stream, after its end */
#define KEPT_MOST 32
#define EXPIRE_MS 3600000

/* What one tenant may have on disk. */
static const struct response_bounds bounds = { 20000, 256u << 20,
	30 * 24 * 3600 };

struct shelved {
	struct shelf *shelf;
	struct table_node node;
	TAILQ_ENTRY(shelved) link; /* when it is over, and kept */
	char *key;                 /* "TENANT\0ID" */
	size_t len;
	char *tenant, *conversation;
	struct run *run;
	struct run_wait wait;
	json_t *input;
	int64_t until;
	bool background, kept, dropped; /* dropped: deleted meanwhile */
};

struct shelf {
	struct loop *loop;
	struct responses_store *store;
	struct table live;
	TAILQ_HEAD(, shelved) kept;
	unsigned nkept;
	struct watch *timer;
	int64_t expired;
	bool posted; /* commit */
};

/* ---- entries ---- */

static void
make_key(struct str *key, const char *tenant, const char *id)
{
	str_puts(key, tenant);
	str_putc(key, '\0');
	str_puts(key, id);
}

static struct shelved *
find(const struct shelf *s, const struct shelf_who *who, const char *id)
{
	auto_str struct str key = { 0 };
	struct shelved *e;

	make_key(&key, who->tenant, id);
	e = table_find(&s->live, key.at, key.len);
	if (e == NULL || e->dropped ||
	    (*who->agent != '\0' &&
		strcmp(run_facts(e->run)->agent, who->agent) != 0))
		return NULL;
	return e;
}

static void
entry_free(struct shelved *e)
{
	if (e->kept) {
		TAILQ_REMOVE(&e->shelf->kept, e, link);
		e->shelf->nkept--;
	}
	table_remove(&e->shelf->live, &e->node);
	run_unwait(e->run, &e->wait);
	run_drop(e->run);
	json_decref(e->input);
	free(e->tenant);
	free(e->conversation);
	free(e->key);
	free(e);
}

/* ---- to disk ---- */

static void
commit(void *arg)
{
	struct shelf *s = arg;
	struct err err;

	s->posted = false;
	if (responses_commit(s->store, &err) < 0)
		log_say(LOG_WARN, "responses can't be stored", "why", err.text,
		    NULL);
}

/* All that end in one turn are written at once. */
static void
store(struct shelved *e)
{
	auto_str struct str body = { 0 }, input = { 0 };
	const struct run_facts *f = run_facts(e->run);
	const struct reply *reply = run_reply(e->run);
	struct shelf *s = e->shelf;
	struct err err;

	responses_print(reply, f, &body);
	escape_json(&input, e->input);
	if (responses_put(s->store,
		&(struct response_row){ .tenant = e->tenant,
		    .id = f->id,
		    .agent = f->agent,
		    .conversation = e->conversation,
		    .status = responses_status(reply),
		    .body = str_text(&body),
		    .input = str_text(&input),
		    .created_s = f->created_at },
		&err) < 0)
		log_say(LOG_WARN, "a response can't be stored", "run", f->id,
		    "why", err.text, NULL);
	if (!s->posted)
		loop_post(s->loop, commit, s);
	s->posted = true;
}

/* ---- those that are over ---- */

static void
tidy(void *arg, int what)
{
	struct shelf *s = arg;
	int64_t now = clock_ms();
	struct shelved *e;

	(void)what;
	while ((e = TAILQ_FIRST(&s->kept)) != NULL && e->until <= now)
		entry_free(e);
	if (e != NULL)
		watch_arm(s->timer, e->until - now);
}

static void
keep(struct shelved *e)
{
	struct shelf *s = e->shelf;

	if (s->nkept == KEPT_MOST)
		entry_free(TAILQ_FIRST(&s->kept));
	e->kept = true;
	e->until = clock_ms() + KEPT_MS;
	TAILQ_INSERT_TAIL(&s->kept, e, link);
	if (s->nkept++ == 0)
		watch_arm(s->timer, KEPT_MS);
}

static void
expire(struct shelf *s)
{
	struct err err;

	if (clock_ms() < s->expired + EXPIRE_MS)
		return;
	s->expired = clock_ms();
	if (responses_expire(s->store, (int64_t)clock_unix(), &err) < 0)
		log_say(LOG_WARN, "old responses stay", "why", err.text, NULL);
}

static void
over(void *arg, struct run *run)
{
	struct shelved *e = arg;

	(void)run;
	if (!e->dropped)
		store(e);
	expire(e->shelf);
	if (!e->dropped && e->background)
		keep(e);
	else
		entry_free(e);
}

void
shelf_add(struct shelf *s, const struct shelf_ask *ask)
{
	struct shelved *e = xcalloc(1, sizeof *e);
	struct str key = { 0 };

	make_key(&key, ask->tenant, run_facts(ask->run)->id);
	e->shelf = s;
	e->len = key.len;
	e->key = str_take(&key);
	e->tenant = xstrdup(ask->tenant);
	e->conversation = xstrdup(ask->conversation);
	e->input = json_incref(ask->input);
	e->background = ask->background;
	e->run = ask->run;
	e->wait = (struct run_wait){ .over = over, .arg = e };
	run_hold(e->run);
	table_add(&s->live, &e->node, e->key, e->len, e);
	if (run_over(e->run)) {
		over(e, e->run);
		return;
	}
	run_wait(e->run, &e->wait);
	if (!e->background)
		return;
	/* Its id is told now, and has to be known whatever happens next. */
	store(e);
	loop_unpost(s->loop, s);
	commit(s);
}

/* ---- asking ---- */

struct run *
shelf_run(struct shelf *s, const struct shelf_who *who, const char *id)
{
	struct shelved *e = find(s, who, id);

	return e != NULL ? e->run : NULL;
}

struct copy {
	const struct shelf_who *who;
	struct str *body, *input;
	bool unfinished, found;
};

static void
copy_row(void *arg, const struct response_row *r)
{
	struct copy *c = arg;

	if (*c->who->agent != '\0' && strcmp(c->who->agent, r->agent) != 0)
		return;
	c->found = true;
	c->unfinished = strcmp(r->status, "queued") == 0 ||
	    strcmp(r->status, "in_progress") == 0;
	if (c->body != NULL)
		str_puts(c->body, r->body);
	if (c->input != NULL)
		str_puts(c->input, r->input);
}

/* It was running when the daemon ended: nobody will finish it. */
static int
close_it(struct str *body, struct err *err)
{
	json_t *v = jtext_read(body->at, body->len, NULL, err);

	if (v == NULL)
		return -1;
	json_object_set_new(v, "status", json_string("failed"));
	json_object_set_new(v, "error",
	    json_pack("{s:s,s:s}", "code", "server_error", "message",
		"The daemon ended while this was in progress."));
	str_cut(body, 0);
	escape_json(body, v);
	json_decref(v);
	return 0;
}

int
shelf_get(struct shelf *s, const struct shelf_who *who, const char *id,
    struct str *json, struct err *err)
{
	struct shelved *e = find(s, who, id);
	struct copy c = { who, json, NULL, false, false };
	int n;

	if (e != NULL) {
		responses_print(run_reply(e->run), run_facts(e->run), json);
		return 1;
	}
	n = responses_get(s->store, who->tenant, id, copy_row, &c, err);
	if (n <= 0 || !c.found)
		return n < 0 ? -1 : 0;
	return c.unfinished && close_it(json, err) < 0 ? -1 : 1;
}

int
shelf_input(struct shelf *s, const struct shelf_who *who, const char *id,
    json_t **items, struct err *err)
{
	auto_str struct str input = { 0 };
	struct shelved *e = find(s, who, id);
	struct copy c = { who, NULL, &input, false, false };
	int n;

	if (e != NULL) {
		*items = json_incref(e->input);
		return 1;
	}
	n = responses_get(s->store, who->tenant, id, copy_row, &c, err);
	if (n <= 0 || !c.found)
		return n < 0 ? -1 : 0;
	*items = jtext_read(input.at, input.len, NULL, err);
	return *items != NULL ? 1 : -1;
}

int
shelf_delete(struct shelf *s, const struct shelf_who *who, const char *id,
    struct err *err)
{
	struct copy c = { who, NULL, NULL, false, false };
	struct shelved *e = find(s, who, id);
	int n;

	n = responses_get(s->store, who->tenant, id, copy_row, &c, err);
	if (n < 0 || (e == NULL && !c.found))
		return n < 0 ? -1 : 0;
	if (e != NULL && e->kept) {
		entry_free(e);
	} else if (e != NULL) {
		e->dropped = true; /* over() lets it go */
		run_stop(e->run, RUN_CANCELED, NULL, "it was deleted");
	}
	return responses_delete(s->store, who->tenant, id, err) < 0 ? -1 : 1;
}

/* ---- the shelf ---- */

struct responses_store *
shelf_store(struct shelf *s)
{
	return s->store;
}

bool
shelf_goes_on(struct shelf *s, const char *tenant, const char *id)
{
	struct shelved *e = find(s, &(struct shelf_who){ tenant, "" }, id);

	return e != NULL && !run_over(e->run);
}

struct shelf *
shelf_new(struct loop *loop, const char *dir, struct err *err)
{
	auto_free char *path = dir != NULL
	    ? xasprintf("%s/responses.sqlite3", dir)
	    : xstrdup(":memory:");
	struct responses_store *store = responses_open(path, &bounds, err);
	struct shelf *s;

	if (store == NULL)
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->loop = loop;
	s->store = store;
	s->timer = watch_timer(loop, tidy, s);
	s->expired = clock_ms() - EXPIRE_MS;
	TAILQ_INIT(&s->kept);
	return s;
}

void
shelf_free(struct shelf *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->live.nbucket; i++)
		while (s->live.bucket[i] != NULL)
			entry_free(s->live.bucket[i]->thing);
	table_free(&s->live);
	watch_free(s->timer);
	loop_unpost(s->loop, s);
	responses_close(s->store);
	free(s);
}
