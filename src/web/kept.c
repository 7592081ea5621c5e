#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/deployment.h"
#include "engine/feed.h"
#include "engine/run.h"
#include "manager/table.h"
#include "web/agent.h"
#include "web/app.h"
#include "web/http.h"
#include "web/kept.h"
#include "web/sse.h"
#include "wire/loop.h"

#define MOST 1000 /* runs; the oldest that is over goes first */

struct one {
	TAILQ_ENTRY(one) link; /* in order of due, as far as they have one */
	struct table_node by_run, by_name;
	struct deployment *d;
	struct run *run;
	struct run_wait wait;
	struct kept *of;
	char *name; /* agent, tenant and id */
	size_t nname;
	int64_t due; /* clock_ms(); 0: none */
};
TAILQ_HEAD(ones, one);

struct kept {
	struct app *app;
	struct table runs, names;
	struct ones due, others;
	struct watch *timer;
	unsigned n;
};

static void
drop(struct one *o)
{
	struct kept *k = o->of;

	TAILQ_REMOVE(o->due > 0 ? &k->due : &k->others, o, link);
	table_remove(&k->runs, &o->by_run);
	table_remove(&k->names, &o->by_name);
	run_unwait(o->run, &o->wait);
	run_drop(o->run);
	free(o->name);
	free(o);
	k->n--;
}

static void
rearm(struct kept *k)
{
	struct one *o = TAILQ_FIRST(&k->due);

	if (o != NULL)
		watch_arm(k->timer, clock_left(o->due));
	else
		watch_stop(k->timer);
}

static void
set_due(struct one *o, bool on)
{
	struct kept *k = o->of;

	TAILQ_REMOVE(o->due > 0 ? &k->due : &k->others, o, link);
	o->due =
	    on ? clock_ms() + (int64_t)k->app->config->kept_time * 1000 : 0;
	TAILQ_INSERT_TAIL(on ? &k->due : &k->others, o, link);
	rearm(k);
}

/* Nobody came back: over, or told so. */
static void
on_due(void *arg, int what)
{
	struct kept *k = arg;
	struct one *o;

	(void)what;
	while ((o = TAILQ_FIRST(&k->due)) != NULL && clock_left(o->due) == 0) {
		struct run *run = o->run;
		struct deployment *d = o->d;

		if (run_over(run)) {
			drop(o);
			continue;
		}
		set_due(o, false);
		deployment_left(d, run); /* may end it: see over() */
	}
	rearm(k);
}

static void
over(void *arg, struct run *run)
{
	struct one *o = arg;

	(void)run;
	set_due(o, true);
}

struct kept *
kept_new(struct app *app)
{
	struct kept *k = xcalloc(1, sizeof *k);

	k->app = app;
	TAILQ_INIT(&k->due);
	TAILQ_INIT(&k->others);
	k->timer = watch_timer(app->loop, on_due, k);
	return k;
}

void
kept_free(struct kept *k)
{
	struct one *o;

	if (k == NULL)
		return;
	while ((o = TAILQ_FIRST(&k->due)) != NULL ||
	    (o = TAILQ_FIRST(&k->others)) != NULL)
		drop(o);
	watch_free(k->timer);
	table_free(&k->runs);
	table_free(&k->names);
	free(k);
}

static char *
name_of(const struct deployment *d, int tenant, const char *id, size_t *n)
{
	struct str s = { 0 };

	str_puts(&s, deployment_name(d));
	str_putc(&s, '\0');
	str_printf(&s, "%d ", tenant);
	str_puts(&s, id);
	*n = s.len;
	return str_take(&s);
}

static void
make_room(struct kept *k)
{
	struct one *o, *next;

	for (o = TAILQ_FIRST(&k->due); o != NULL && k->n >= MOST; o = next) {
		next = TAILQ_NEXT(o, link);
		if (run_over(o->run))
			drop(o);
	}
}

bool
kept_add(struct kept *k, struct deployment *d, int tenant, struct run *run)
{
	struct one *o, *old;

	if (!feed_keeps(run_feed(run)))
		return false;
	make_room(k);
	if (k->n >= MOST)
		return false;
	o = xcalloc(1, sizeof *o);
	o->of = k;
	o->d = d;
	o->run = run;
	run_hold(run);
	o->name = name_of(d, tenant, run_facts(run)->id, &o->nname);
	/* A client may give an id twice: the last one is meant. */
	old = table_find(&k->names, o->name, o->nname);
	if (old != NULL)
		table_remove(&k->names, &old->by_name);
	table_add(&k->runs, &o->by_run, &o->run, sizeof o->run, o);
	table_add(&k->names, &o->by_name, o->name, o->nname, o);
	TAILQ_INSERT_TAIL(&k->others, o, link);
	k->n++;
	o->wait = (struct run_wait){ .over = over, .arg = o };
	if (run_over(run))
		set_due(o, true);
	else
		run_wait(run, &o->wait);
	return true;
}

void
kept_gone(void *arg, struct run *run)
{
	struct kept *k = arg;
	struct one *o = table_find(&k->runs, &run, sizeof run);

	if (o != NULL && !run_over(run) && feed_readers(run_feed(run)) == 0)
		set_due(o, true);
}

static int64_t
after_of(struct http_req *q)
{
	const char *text = http_req_param(q, "after");
	int64_t id = sse_last_id(q);

	if (id < 0 && text != NULL && *text >= '0' && *text <= '9')
		id = strtoll(text, NULL, 10);
	return id;
}

int
kept_read(struct http_req *q, struct deployment *d, const char *id)
{
	struct app *a = app_of(q);
	struct sse_ask ask = { .loop = a->loop,
		.keep_alive_s = a->config->keep_alive,
		.after = after_of(q),
		.gone = kept_gone,
		.arg = a->kept };
	struct one *o;
	struct err err;
	size_t n;
	char *name = name_of(d, app_tenant(q), id, &n);

	o = table_find(&a->kept->names, name, n);
	free(name);
	if (o == NULL)
		return agent_unknown(q);
	ask.run = o->run;
	if (sse_stream(q, &ask, &err) < 0) {
		http_reply_detail(q, 410, err.text);
		return 0;
	}
	if (!run_over(o->run))
		set_due(o, false);
	return 0;
}
