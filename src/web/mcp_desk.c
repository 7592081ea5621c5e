/* Sessions of the MCP server: a sandbox each, made when it is needed. */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/run.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/mcp_desk.h"
#include "web/mcp_int.h"
#include "wire/loop.h"

#define IDLE_MS (30 * 60 * 1000)
#define SCAN_MS 30000
#define ALIVE_MS 15000
#define SESSIONS 1000 /* of a tenant */
#define STREAMS 8     /* of a session */

struct stream {
	LIST_ENTRY(stream) link;
	struct mcp_session *of;
	struct http_req *q;
	struct watch *alive;
};

struct mcp_wait {
	TAILQ_ENTRY(mcp_wait) link;
	struct mcp_session *of;
	mcp_box_fn *fn;
	void *arg;
};

struct mcp_session {
	LIST_ENTRY(mcp_session) link;
	struct mcp_desk *desk;
	int tenant;
	char id[UUID_TEXT];
	int64_t used_ms;
	unsigned holders, nstream;
	bool ended;
	char *box;         /* NULL: not yet */
	struct wait *wait; /* it is being made */
	TAILQ_HEAD(, mcp_wait) waits;
	LIST_HEAD(, stream) streams;
	struct mcp_running *running;
};

struct mcp_desk {
	struct app *app;
	struct watch *scan;
	LIST_HEAD(, mcp_session) sessions;
};

static void
scan(void *arg, int what)
{
	struct mcp_desk *d = arg;
	struct mcp_session *s, *next;

	(void)what;
	for (s = LIST_FIRST(&d->sessions); s != NULL; s = next) {
		next = LIST_NEXT(s, link);
		if (s->holders == 0 && s->nstream == 0 &&
		    clock_left(s->used_ms + IDLE_MS) == 0)
			mcp_session_end(s);
	}
	watch_arm(d->scan, SCAN_MS);
}

struct mcp_desk *
mcp_desk_of(struct app *app)
{
	struct mcp_desk *d = app->mcp;

	if (d != NULL)
		return d;
	d = xcalloc(1, sizeof *d);
	d->app = app;
	LIST_INIT(&d->sessions);
	d->scan = watch_timer(app->loop, scan, d);
	watch_arm(d->scan, SCAN_MS);
	return app->mcp = d;
}

/* After the server: no request is left. */
void
mcp_desk_free(struct mcp_desk *d)
{
	if (d == NULL)
		return;
	while (!LIST_EMPTY(&d->sessions))
		mcp_session_end(LIST_FIRST(&d->sessions));
	watch_free(d->scan);
	free(d);
}

struct mcp_session *
mcp_session_new(struct mcp_desk *d, int tenant, struct err *err)
{
	struct mcp_session *s;
	unsigned n = 0;

	LIST_FOREACH(s, &d->sessions, link)
	n += s->tenant == tenant;
	if (n >= SESSIONS) {
		err_set(err, ERR_LIMIT, "there are %u sessions already", n);
		return NULL;
	}
	s = xcalloc(1, sizeof *s);
	s->desk = d;
	s->tenant = tenant;
	s->used_ms = clock_ms();
	uuid_put(s->id);
	TAILQ_INIT(&s->waits);
	LIST_INIT(&s->streams);
	LIST_INSERT_HEAD(&d->sessions, s, link);
	return s;
}

struct mcp_session *
mcp_session_find(struct mcp_desk *d, int tenant, const char *id)
{
	struct mcp_session *s;

	LIST_FOREACH(s, &d->sessions, link)
	if (s->tenant == tenant && strcmp(s->id, id) == 0) {
		s->used_ms = clock_ms();
		return s;
	}
	return NULL;
}

const char *
mcp_session_id(const struct mcp_session *s)
{
	return s->id;
}

static void
tell(struct mcp_session *s, const struct err *err)
{
	struct mcp_wait *w;

	while ((w = TAILQ_FIRST(&s->waits)) != NULL) {
		TAILQ_REMOVE(&s->waits, w, link);
		w->fn(w->arg, err == NULL ? s->box : NULL, err);
		free(w);
	}
}

static void
session_free(struct mcp_session *s)
{
	free(s->box);
	free(s);
}

static void
end_streams(struct mcp_session *s)
{
	struct stream *st;

	while ((st = LIST_FIRST(&s->streams)) != NULL) {
		LIST_REMOVE(st, link);
		st->of = NULL;
		s->nstream--;
		http_reply_end(st->q);
	}
}

void
mcp_desk_drain(struct mcp_desk *d)
{
	struct mcp_session *s;

	if (d == NULL)
		return;
	LIST_FOREACH(s, &d->sessions, link)
	end_streams(s);
}

void
mcp_session_end(struct mcp_session *s)
{
	struct err err;

	LIST_REMOVE(s, link);
	s->ended = true;
	s->holders++;
	end_streams(s);
	if (s->wait != NULL)
		manager_forget(s->wait); /* what comes has no owner: it goes */
	err_set(&err, ERR_MISSING, "the session has ended");
	tell(s, &err);
	if (s->box != NULL)
		manager_release(s->desk->app->manager, s->tenant, s->box);
	mcp_session_drop(s);
}

void
mcp_session_hold(struct mcp_session *s)
{
	s->holders++;
}

void
mcp_session_drop(struct mcp_session *s)
{
	s->used_ms = clock_ms();
	if (--s->holders == 0 && s->ended)
		session_free(s);
}

/* ---- its sandbox ---- */

static void
made(void *arg, struct sandbox *sb, const struct err *err)
{
	struct mcp_session *s = arg;

	s->wait = NULL;
	if (sb != NULL)
		s->box = xstrdup(sandbox_record(sb)->id);
	tell(s, err);
}

struct mcp_wait *
mcp_session_box(struct mcp_session *s, mcp_box_fn *fn, void *arg)
{
	struct create want = { .tenant = s->tenant, .pooled = true };
	struct mcp_wait *w;
	struct err err;

	if (s->box != NULL) {
		fn(arg, s->box, NULL);
		return NULL;
	}
	if (s->wait == NULL)
		s->wait =
		    manager_create(s->desk->app->manager, &want, made, s, &err);
	if (s->wait == NULL) {
		fn(arg, NULL, &err);
		return NULL;
	}
	w = xcalloc(1, sizeof *w);
	w->of = s;
	w->fn = fn;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&s->waits, w, link);
	return w;
}

void
mcp_wait_forget(struct mcp_wait *w)
{
	TAILQ_REMOVE(&w->of->waits, w, link);
	free(w);
}

/* ---- its streams ---- */

static void
alive(void *arg, int what)
{
	struct stream *st = arg;

	(void)what;
	if (http_reply_backlog(st->q) == 0)
		http_reply_write(st->q, ": \n\n", 4);
	watch_arm(st->alive, ALIVE_MS);
}

static void
stream_closed(struct http_req *q)
{
	struct stream *st = http_req_data(q);

	if (st->of != NULL) {
		LIST_REMOVE(st, link);
		st->of->nstream--;
		st->of->used_ms = clock_ms();
	}
	watch_free(st->alive);
	free(st);
}

void
mcp_session_listen(struct mcp_session *s, struct http_req *q)
{
	struct stream *st;

	if (s->nstream >= STREAMS) {
		http_reply_detail(q, 409, "this session has enough streams");
		return;
	}
	st = xcalloc(1, sizeof *st);
	st->of = s;
	st->q = q;
	st->alive = watch_timer(s->desk->app->loop, alive, st);
	s->nstream++;
	LIST_INSERT_HEAD(&s->streams, st, link);
	http_req_set_data(q, st);
	http_req_on_closed(q, stream_closed);
	http_reply_start(q, 200, "text/event-stream", -1);
	http_reply_write(q, ": \n\n", 4);
	watch_arm(st->alive, ALIVE_MS);
}

/* ---- what can be canceled ---- */

void
mcp_session_run(struct mcp_session *s, struct mcp_running *r)
{
	r->next = s->running;
	s->running = r;
}

void
mcp_session_ran(struct mcp_session *s, struct mcp_running *r)
{
	struct mcp_running **at = &s->running;

	while (*at != NULL && *at != r)
		at = &(*at)->next;
	if (*at == r)
		*at = r->next;
}

void
mcp_session_cancel(struct mcp_session *s, const char *id)
{
	for (struct mcp_running *r = s->running; r != NULL; r = r->next) {
		if (strcmp(r->id, id) != 0 || r->run == NULL)
			continue;
		run_stop(r->run, RUN_CANCELED, NULL, "canceled by its client");
		return;
	}
}
