#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "agent/call.h"
#include "agent/cap.h"
#include "agent/stream.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/loop.h"

#define BUCKETS 64
#define PIECE (64 * 1024) /* of output, in one event */

struct call {
	LIST_ENTRY(call) next;
	const struct world *world;
	struct stream *stream; /* NULL: gone */
	uint32_t number;
	const struct call_ops *ops; /* NULL: no work, or over */
	void *work;
	struct watch *answer, *limit;
	uint32_t work_ms;
	size_t credit;      /* output it may still send */
	size_t granted;     /* input the front may still send */
	struct cap cap[2];  /* stdout, stderr */
	struct str tail[2]; /* what cap kept, on its way after the work */
	Guest__Done done;   /* said when the tails are sent */
	char *text;         /* of done */
	bool capped, deaf;  /* deaf: the caller is gone, Done is still said */
	bool closing;       /* done is filled; output is dropped */
	bool told;          /* Done has been said */
	bool over;          /* no work any more */
};

static LIST_HEAD(, call) calls[BUCKETS];

static void
free_call(struct call *c)
{
	LIST_REMOVE(c, next);
	watch_free(c->answer);
	watch_free(c->limit);
	for (int i = 0; i < 2; i++) {
		cap_free(&c->cap[i]);
		str_free(&c->tail[i]);
	}
	free(c->text);
	free(c);
}

static void
send_event(struct call *c, Guest__Event *e)
{
	e->call = c->number;
	stream_send(c->stream, e);
}

static void
send_output(struct call *c, int stream, const char *bytes, size_t n)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Output o = GUEST__OUTPUT__INIT;

	e.kind_case = GUEST__EVENT__KIND_OUTPUT;
	e.output = &o;
	o.stream = (uint32_t)stream;
	while (n > 0) {
		size_t piece = n < PIECE ? n : PIECE;

		o.data.data = (uint8_t *)(uintptr_t)bytes;
		o.data.len = piece;
		send_event(c, &e);
		bytes += piece;
		n -= piece;
		c->credit -= piece < c->credit ? piece : c->credit;
	}
}

/* What may be sent at all, whatever stream. */
static size_t
allowance(const struct call *c)
{
	return stream_full(c->stream) ? 0 : c->credit;
}

/* Tails as far as credit goes, then Done.  Frees the call when all is over. */
static void
conclude(struct call *c)
{
	for (int i = 0; i < 2 && !c->told && c->closing; i++) {
		size_t n = c->tail[i].len, most = allowance(c);

		if (n > most)
			n = most;
		send_output(c, i + 1, str_text(&c->tail[i]), n);
		str_drop(&c->tail[i], n);
		if (c->tail[i].len > 0)
			return;
	}
	if (c->closing && !c->told) {
		Guest__Event e = GUEST__EVENT__INIT;

		e.kind_case = GUEST__EVENT__KIND_DONE;
		e.done = &c->done;
		send_event(c, &e);
		c->told = true;
	}
	if (c->over && c->told)
		free_call(c);
}

/* From now on there is an answer, and nothing is added to it. */
static void
close_with(struct call *c, const struct call_result *r, bool running)
{
	c->closing = true;
	guest__done__init(&c->done);
	c->done.running = running;
	if (r != NULL) {
		c->done.has_exit = r->has_exit;
		c->done.exit = r->exit;
		c->done.flag = r->flag;
	}
	if (r != NULL && r->err != NULL) {
		c->done.code = 1 + (uint32_t)r->err->code;
		c->text = xstrdup(r->err->text);
		c->done.text = c->text;
	}
	if (c->capped && !c->deaf) {
		c->done.cut_out = cap_end(&c->cap[0], &c->tail[0]);
		c->done.cut_err = cap_end(&c->cap[1], &c->tail[1]);
	}
	watch_free(c->answer);
	c->answer = NULL;
}

static void
alone(struct call *c)
{
	if (c->over || c->ops == NULL)
		return;
	if (c->ops->alone != NULL)
		c->ops->alone(c->work);
	else if (c->ops->room != NULL)
		c->ops->room(c->work); /* all output is dropped from now on */
}

static void
answer_now(void *arg, int what)
{
	struct call *c = arg;

	(void)what;
	if (c->closing)
		return;
	close_with(c, NULL, true);
	alone(c);
	conclude(c);
}

static void
end_work(struct call *c, enum call_end why)
{
	if (!c->over && c->ops != NULL)
		c->ops->end(c->work, why);
}

static void
limit_reached(void *arg, int what)
{
	(void)what;
	end_work(arg, END_TIMEOUT);
}

static struct watch *
timer(struct call *c, watch_fn *fn, uint32_t ms)
{
	struct watch *w;

	if (ms == 0)
		return NULL;
	w = watch_timer(c->world->loop, fn, c);
	watch_arm(w, ms);
	return w;
}

struct call *
call_new(const struct world *world, struct stream *stream, uint32_t number,
    const struct call_limits *l)
{
	struct call *c = xcalloc(1, sizeof *c);

	c->world = world;
	c->stream = stream;
	c->number = number;
	c->credit = l->credit;
	c->capped = l->cap > 0;
	for (int i = 0; i < 2 && c->capped; i++)
		cap_init(&c->cap[i], l->cap);
	c->answer = timer(c, answer_now, l->answer_ms);
	c->work_ms = l->work_ms;
	c->limit = timer(c, limit_reached, l->work_ms);
	LIST_INSERT_HEAD(&calls[number % BUCKETS], c, next);
	return c;
}

const struct world *
call_world(const struct call *c)
{
	return c->world;
}

void
call_work(struct call *c, const struct call_ops *ops, void *work)
{
	c->ops = ops;
	c->work = work;
}

void
call_begun(struct call *c)
{
	if (c->limit != NULL)
		watch_arm(c->limit, c->work_ms);
}

bool
call_alone(const struct call *c)
{
	return c->closing || c->told || c->deaf;
}

size_t
call_room(const struct call *c, int stream)
{
	size_t most;

	if (call_alone(c))
		return SIZE_MAX;
	most = allowance(c);
	/* What does not go on at once goes into the ring, which needs no room. */
	if (c->capped && stream != STREAM_FILE &&
	    most >= cap_wants(&c->cap[stream - 1]))
		return SIZE_MAX;
	return most;
}

void
call_output(struct call *c, int stream, const void *bytes, size_t n)
{
	if (call_alone(c))
		return;
	if (c->capped && stream != STREAM_FILE)
		n = cap_take(&c->cap[stream - 1], bytes, n);
	send_output(c, stream, bytes, n);
}

bool
call_may_list(const struct call *c)
{
	return call_alone(c) || !stream_full(c->stream);
}

void
call_list(struct call *c, const struct call_entry *entry)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Entry g = GUEST__ENTRY__INIT;
	auto_str struct str path = { 0 };

	if (call_alone(c))
		return;
	str_puts(&path, entry->base);
	if (entry->path[0] != '\0' || path.len == 0)
		str_putc(&path, '/');
	str_puts(&path, entry->path);
	e.kind_case = GUEST__EVENT__KIND_ENTRY;
	e.entry = &g;
	g.path.data = (uint8_t *)path.at;
	g.path.len = path.len;
	g.name.data = (uint8_t *)(uintptr_t)entry->name;
	g.name.len = strlen(entry->name);
	g.type = entry->type;
	g.size = entry->size;
	g.mtime_ms = entry->mtime_ms;
	send_event(c, &e);
}

void
call_want(struct call *c, size_t n)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Credit g = GUEST__CREDIT__INIT;

	if (c->told || n == 0)
		return;
	e.kind_case = GUEST__EVENT__KIND_CREDIT;
	e.credit = &g;
	g.bytes = (uint32_t)n;
	c->granted += n;
	send_event(c, &e);
}

void
call_done(struct call *c, const struct call_result *r)
{
	c->over = true;
	watch_free(c->limit);
	c->limit = NULL;
	if (!c->closing && !c->told)
		close_with(c, r, false);
	conclude(c);
}

struct call *
call_find(const struct stream *stream, uint32_t number)
{
	struct call *c;

	LIST_FOREACH(c, &calls[number % BUCKETS], next)
	if (c->number == number && c->stream == stream)
		return c;
	return NULL;
}

int
call_input(struct call *c, const uint8_t *bytes, size_t n, bool eof,
    struct err *err)
{
	if (c->over)
		return 0; /* crossed with our Done */
	if (n > c->granted)
		return err_set(err, ERR_PROTO,
		    "call %u: %zu bytes of input, %zu were asked for",
		    c->number, n, c->granted);
	c->granted -= n;
	if (c->ops != NULL && c->ops->input != NULL)
		c->ops->input(c->work, bytes, n, eof);
	return 0;
}

void
call_credit(struct call *c, uint32_t bytes)
{
	c->credit += bytes;
	if (c->closing)
		conclude(c);
	else if (c->ops != NULL && c->ops->room != NULL)
		c->ops->room(c->work);
}

void
call_resize(struct call *c, unsigned rows, unsigned cols)
{
	if (!c->over && c->ops != NULL && c->ops->resize != NULL)
		c->ops->resize(c->work, rows, cols);
}

void
call_cancel(struct call *c)
{
	end_work(c, END_CANCEL);
}

void
call_detach(struct call *c)
{
	if (c->closing || c->deaf)
		return;
	c->deaf = true;
	alone(c);
}

/* The callbacks free the call they are about, and no other. */
static void
each(const struct stream *stream, void (*fn)(struct call *))
{
	for (int i = 0; i < BUCKETS; i++) {
		struct call *c, *after;

		for (c = LIST_FIRST(&calls[i]); c != NULL; c = after) {
			after = LIST_NEXT(c, next);
			if (c->stream == stream)
				fn(c);
		}
	}
}

static void
room_one(struct call *c)
{
	call_credit(c, 0);
}

void
call_room_all(const struct stream *stream)
{
	each(stream, room_one);
}

static void
lose_one(struct call *c)
{
	bool was_answered = c->closing;

	c->stream = NULL;
	c->closing = c->told = true;
	watch_free(c->answer);
	c->answer = NULL;
	if (c->over)
		free_call(c);
	else if (was_answered)
		return; /* it was said that this goes on */
	else
		end_work(c, END_LOST);
}

void
call_lose_all(const struct stream *stream)
{
	each(stream, lose_one);
}
