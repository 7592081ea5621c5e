#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/feed.h"
#include "engine/reply.h"
#include "engine/run_int.h"
#include "engine/usage.h"

#define MOST_DEFAULT (16u << 20)

/* ---- a run's life ---- */

static void
pressure(void *arg, bool high)
{
	struct run *r = arg;

	if (r->source == NULL || r->paused == high)
		return;
	r->paused = high;
	if (r->source->pause != NULL)
		r->source->pause(r->source_arg, r, high);
}

/* The client's names or ours, one after another in one block. */
static void
own_facts(struct run *r, const struct run_conf *c)
{
	struct str all = { 0 };
	char id[16 + UUID_TEXT] = "response_", session[UUID_TEXT];
	const char *texts[5] = { c->id, c->session_id, c->user_id, c->agent,
		c->model };
	const char **to[5] = { &r->facts.id, &r->facts.session_id,
		&r->facts.user_id, &r->facts.agent, &r->facts.model };
	size_t at[5], n;

	uuid_put(id + strlen(id));
	if (texts[0] == NULL || *texts[0] == '\0')
		texts[0] = id;
	if (texts[1] == NULL || *texts[1] == '\0') {
		uuid_put(session);
		texts[1] = session;
	}
	if (texts[2] == NULL || *texts[2] == '\0')
		texts[2] = texts[1];
	for (int i = 0; i < 5; i++) {
		at[i] = all.len;
		str_puts(&all, texts[i] != NULL ? texts[i] : "");
		str_putc(&all, '\0');
	}
	n = all.len;
	r->own = xrealloc(str_take(&all), n);
	for (int i = 0; i < 5; i++)
		*to[i] = r->own + at[i];
}

struct run *
run_new(const struct run_conf *c)
{
	struct run *r = xcalloc(1, sizeof *r);
	struct feed_conf feed = {
		.keep = c->keep,
		.ids = c->ids,
		.pressure = pressure,
		.arg = r,
		.high = c->high,
	};

	own_facts(r, c);
	r->facts.created_at = c->now_s != 0 ? c->now_s : (int64_t)clock_unix();
	r->holders = 1;
	r->status = RUN_CREATED;
	r->most = c->most != 0 ? c->most : MOST_DEFAULT;
	r->ended = c->ended;
	r->arg = c->arg;
	TAILQ_INIT(&r->open);
	TAILQ_INIT(&r->done);
	TAILQ_INIT(&r->waits);
	if (c->stream)
		r->feed = feed_new(&feed);
	if (c->reply != NULL)
		r->reply = reply_new(c->reply, c->reply_arg);
	return r;
}

void
run_hold(struct run *r)
{
	r->holders++;
}

static void
free_items(struct items *items)
{
	struct item *it;

	while ((it = TAILQ_FIRST(items)) != NULL) {
		TAILQ_REMOVE(items, it, link);
		for (unsigned i = 0; i < it->m.nparts; i++)
			for (int k = 0; k < PART_FIELDS; k++)
				str_free(&it->m.part[i].field[k]);
		free(it->m.part);
		str_free(&it->m.usage);
		str_free(&it->m.metadata);
		str_free(&it->m.code);
		str_free(&it->m.text);
		free(it);
	}
}

void
run_drop(struct run *r)
{
	if (r == NULL || --r->holders > 0)
		return;
	r->source = NULL;
	feed_close(r->feed);
	reply_free(r->reply);
	free_items(&r->open);
	free_items(&r->done);
	free(r->output);
	str_free(&r->usage);
	free(r->own);
	free(r->code);
	free(r->why);
	free(r);
}

const struct run_facts *
run_facts(const struct run *r)
{
	return &r->facts;
}

enum run_status
run_status(const struct run *r)
{
	return r->status;
}

bool
run_over(const struct run *r)
{
	return r->status != RUN_CREATED && r->status != RUN_IN_PROGRESS;
}

struct feed *
run_feed(struct run *r)
{
	return r->feed;
}

const struct reply *
run_reply(const struct run *r)
{
	return r->reply;
}

const char *
run_code(const struct run *r)
{
	return r->code;
}

const char *
run_why(const struct run *r)
{
	return r->why;
}

/* ---- telling ---- */

void
run_emit(struct run *r, struct event *ev)
{
	ev->seq = r->seq++;
	ev->run = &r->facts;
	if (r->reply != NULL)
		r->reply->kind->event(r->reply, ev, r->feed);
}

void
run_start(struct run *r, const struct source *source, void *arg)
{
	struct event ev = { .kind = EV_CREATED };

	if (r->status != RUN_CREATED)
		return;
	r->source = source;
	r->source_arg = arg;
	run_emit(r, &ev);
	r->status = RUN_IN_PROGRESS;
	ev = (struct event){ .kind = EV_STARTED };
	run_emit(r, &ev);
}

bool
run_deaf(const struct run *r)
{
	return r->deaf || r->status != RUN_IN_PROGRESS;
}

bool
run_charge(struct run *r, size_t n)
{
	if (n <= r->most - r->said) {
		r->said += n;
		return true;
	}
	run_stop(r, RUN_FAILED, "RESPONSE_ERROR",
	    "the answer is longer than a run may be");
	return false;
}

/* ---- the end ---- */

static void
set_why(char **to, const char *text)
{
	free(*to);
	*to = text != NULL ? xstrdup(text) : NULL;
}

void
run_wait(struct run *r, struct run_wait *w)
{
	TAILQ_INSERT_TAIL(&r->waits, w, link);
	w->waiting = true;
}

void
run_unwait(struct run *r, struct run_wait *w)
{
	if (!w->waiting)
		return;
	TAILQ_REMOVE(&r->waits, w, link);
	w->waiting = false;
}

static void
tell_waits(struct run *r)
{
	struct run_wait *w;

	while ((w = TAILQ_FIRST(&r->waits)) != NULL) {
		run_unwait(r, w);
		w->over(w->arg, r);
	}
}

void
run_end(struct run *r, enum run_status status, const char *code,
    const char *why)
{
	struct event ev = { .kind = EV_END, .status = status };
	struct item *it;
	enum run_status cut = status == RUN_COMPLETED ? RUN_COMPLETED
	    : status == RUN_CANCELED                  ? RUN_CANCELED
						      : RUN_INCOMPLETE;

	if (r->deaf || run_over(r))
		return;
	if (r->status == RUN_CREATED)
		run_start(r, r->source, r->source_arg);
	run_hold(r);
	while ((it = TAILQ_FIRST(&r->open)) != NULL)
		run_end_item(r, it, cut);
	if (r->usage.len == 0)
		usage_sum(&r->usage, r->output, r->noutput);
	set_why(&r->code, code);
	set_why(&r->why, why);
	r->status = status;
	ev.now_s = (int64_t)clock_unix();
	ev.code = r->code;
	ev.why = r->why;
	ev.usage = r->usage.len > 0 ? r->usage.at : NULL;
	ev.output = r->output;
	ev.noutput = r->noutput;
	run_emit(r, &ev);
	r->source = NULL;
	if (r->feed != NULL)
		feed_finish(r->feed);
	if (r->ended != NULL)
		r->ended(r->arg, r);
	tell_waits(r);
	run_drop(r);
}

void
run_stop(struct run *r, enum run_status status, const char *code,
    const char *why)
{
	if (r->deaf || run_over(r))
		return;
	run_hold(r);
	r->deaf = true;
	if (r->source != NULL && r->source->cancel != NULL)
		r->source->cancel(r->source_arg, r);
	r->deaf = false;
	run_end(r, status, code, why);
	run_drop(r);
}
