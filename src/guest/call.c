#include <stdlib.h>
#include "base/own.h"
#include "guest/inner.h"
#include "guest/request.h"
#include "wire/loop.h"

struct guest_call *
call_find(struct guest *g, uint32_t number)
{
	struct guest_call *c;

	TAILQ_FOREACH(c, &g->bucket[number % BUCKETS], next)
		if (c->number == number)
			return c;
	return NULL;
}

/* ---- the end of calls ---- */

void
call_free(struct guest_call *c)
{
	watch_free(c->late);
	free(c);
}

void
call_unlink(struct guest_call *c)
{
	struct guest *g = c->guest;

	TAILQ_REMOVE(&g->bucket[c->number % BUCKETS], c, next);
	g->ncall--;
	c->guest = NULL;
}

void
call_tell(struct guest_call *c, const struct guest_done *done)
{
	const struct guest_sink *sink = c->sink;

	c->sink = NULL;
	if (sink != NULL)
		sink->done(c->arg, done);
}

void
call_abandon(struct guest_call *c, const struct err *why, bool running)
{
	struct guest_done done = { .err = why, .running = running };

	watch_free(take_ptr(&c->late));
	guest_took(c, WINDOW - c->credit - c->owed);
	call_tell(c, &done);
}

static void
orphan_done(void *arg)
{
	struct guest_call *c = arg;
	struct guest_done done = { .err = &c->why };

	call_tell(c, &done);
	call_free(c);
}

void
calls_end(struct guest *g, const struct err *why)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct guest_call *c;

		while ((c = TAILQ_FIRST(&g->bucket[i])) != NULL) {
			call_unlink(c);
			watch_free(take_ptr(&c->late));
			c->why = *why;
			loop_post(g->loop, orphan_done, c);
		}
	}
}

/* ---- output credit ---- */

static void
grant(struct guest_call *c)
{
	if (c->owed == 0 || c->guest == NULL || c->guest->broken)
		return;
	request_credit(&c->guest->queue, c->number, c->owed);
	c->credit += c->owed;
	c->owed = 0;
	guest_push(c->guest);
}

void
guest_took(struct guest_call *c, size_t n)
{
	size_t held = WINDOW - c->credit - c->owed;

	c->owed += (uint32_t)(n < held ? n : held);
	if (c->owed >= WINDOW / 4)
		grant(c);
}

/* ---- input ---- */

void
calls_room(struct guest *g)
{
	if (!g->choked || g->broken || guest_unsent(g) > QUEUE_LOW)
		return;
	g->choked = false;
	for (size_t i = 0; i < BUCKETS && !g->broken; i++) {
		struct guest_call *c = TAILQ_FIRST(&g->bucket[i]), *after;

		for (; c != NULL && !g->broken; c = after) {
			after = TAILQ_NEXT(c, next);
			if (c->room > 0 && c->sink != NULL &&
			    c->sink->room != NULL)
				c->sink->room(c->arg);
		}
	}
}

/* No answer where one was promised, or no Done after a Cancel. */
static void
call_late(void *arg, int what)
{
	struct guest_call *c = arg;
	struct err why;

	(void)what;
	err_set(&why, ERR_TIMEOUT, "%s",
	    c->cancelled ? "the agent did not end the call"
			 : "the agent did not answer in time");
	call_abandon(c, &why, !c->cancelled);
}

static void
call_deadline(struct guest_call *c, int64_t ms)
{
	if (c->late == NULL)
		c->late = watch_timer(c->loop, call_late, c);
	watch_arm(c->late, ms);
}

struct guest_call *
guest_call(struct guest *g, const struct guest_request *q, struct err *err)
{
	struct guest_call *c;
	uint32_t number = g->last + 1 == 0 ? 1 : g->last + 1;

	if (!guest_ready(g) && (!g->early || g->broken)) {
		err_set(err, ERR_BUSY, "the sandbox is not ready");
		return NULL;
	}
	if (g->ncall >= CALLS_MAX || guest_unsent(g) > QUEUE_STUCK) {
		err_set(err, ERR_LIMIT,
		    g->ncall >= CALLS_MAX
			? "too many calls run in the sandbox"
			: "the sandbox takes no calls at the moment");
		return NULL;
	}
	while (call_find(g, number) != NULL)
		number = number + 1 == 0 ? 1 : number + 1;
	if (request_call(&g->queue, number, q, WINDOW, err) < 0)
		return NULL;
	g->last = number;
	c = xcalloc(1, sizeof *c);
	c->guest = g;
	c->loop = g->loop;
	c->number = number;
	c->sink = q->sink;
	c->arg = q->sink_arg;
	c->credit = WINDOW;
	TAILQ_INSERT_TAIL(&g->bucket[number % BUCKETS], c, next);
	g->ncall++;
	if (q->answer_ms > 0)
		call_deadline(c, (int64_t)q->answer_ms + ANSWER_GRACE);
	guest_push(g);
	return c;
}

size_t
guest_room(const struct guest_call *c)
{
	struct guest *g = c->guest;

	if (g == NULL || g->broken || c->room == 0)
		return 0;
	if (guest_unsent(g) > QUEUE_HIGH) {
		g->choked = true;
		return 0;
	}
	return c->room < QUEUE_HIGH ? (size_t)c->room : QUEUE_HIGH;
}

void
guest_input(struct guest_call *c, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	if (c->guest == NULL || c->guest->broken)
		return;
	if (n > c->room)
		abort(); /* our own mistake: see guest_room */
	c->room -= n;
	while (n > 0) {
		size_t piece = n < REQUEST_PIECE ? n : REQUEST_PIECE;

		request_input(&c->guest->queue, c->number, at, piece, false);
		at += piece;
		n -= piece;
	}
	guest_push(c->guest);
}

void
guest_input_end(struct guest_call *c)
{
	if (c->guest == NULL || c->guest->broken)
		return;
	request_input(&c->guest->queue, c->number, NULL, 0, true);
	guest_push(c->guest);
}

void
guest_resize(struct guest_call *c, unsigned rows_, unsigned cols)
{
	if (c->guest == NULL || c->guest->broken)
		return;
	request_resize(&c->guest->queue, c->number, rows_, cols);
	guest_push(c->guest);
}

void
guest_cancel(struct guest_call *c)
{
	if (c->guest == NULL || c->guest->broken || c->cancelled)
		return;
	c->cancelled = true;
	request_cancel(&c->guest->queue, c->number);
	if (c->sink != NULL)
		call_deadline(c, CANCEL_GRACE);
	guest_push(c->guest);
}

void
guest_detach(struct guest_call *c)
{
	c->sink = NULL;
	if (c->guest == NULL) {
		loop_unpost(c->loop, c);
		call_free(c);
		return;
	}
	watch_free(take_ptr(&c->late));
	guest_took(c, WINDOW); /* what is on its way */
	if (c->guest->broken)
		return;
	/* The agent learns it too: an endless cell must not block the next. */
	request_detach(&c->guest->queue, c->number);
	guest_push(c->guest);
}
