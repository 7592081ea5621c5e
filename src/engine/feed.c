#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/str.h"
#include "engine/feed.h"

#define BLOCK 1000 /* what is asked for first when a feed was idle */

struct feed_reader {
	TAILQ_ENTRY(feed_reader) link;
	struct feed *feed;
	struct feed_reader_ops ops;
	uint64_t at;  /* the next byte to read, since the feed's first */
	bool waiting; /* told that there is nothing; wants to be told of more */
};

/*
 * The bytes of [base, base + held.len - start) stand in held from start on.
 * What was dropped in front stays there until it is worth a memmove.
 */
struct feed {
	struct feed_conf conf;
	struct str held;
	size_t start;
	uint64_t base;
	int64_t dropped; /* the greatest number that is no longer held */
	int64_t last;    /* the greatest that was put */
	TAILQ_HEAD(, feed_reader) readers;
	unsigned nreader;
	bool read; /* somebody has read it: what nobody reads may go */
	bool finished, closed, high, putting;
};

struct feed *
feed_new(const struct feed_conf *conf)
{
	struct feed *f = xcalloc(1, sizeof *f);

	f->conf = *conf;
	f->dropped = f->last = -1;
	TAILQ_INIT(&f->readers);
	return f;
}

static uint64_t
end_of(const struct feed *f)
{
	return f->base + (f->held.len - f->start);
}

static const char *
bytes_at(const struct feed *f, uint64_t at)
{
	return f->held.at + f->start + (size_t)(at - f->base);
}

static uint64_t
slowest(const struct feed *f)
{
	const struct feed_reader *r;
	uint64_t at = end_of(f);

	if (!f->read && f->conf.keep == 0)
		return f->base;
	TAILQ_FOREACH(r, &f->readers, link)
		if (r->at < at)
			at = r->at;
	return at;
}

/* The number in the event's "id: " line, which comes first or second. */
static int64_t
number_of(const char *event)
{
	const char *nl;

	if (strncmp(event, "event: ", 7) == 0) {
		nl = strchr(event, '\n');
		event = nl != NULL ? nl + 1 : "";
	}
	return strncmp(event, "id: ", 4) == 0 ? strtoll(event + 4, NULL, 10)
					      : -1;
}

/* The byte after the event that begins here. */
static uint64_t
after_event(const struct feed *f, uint64_t at)
{
	size_t n = (size_t)(end_of(f) - at);
	const char *from = bytes_at(f, at);
	const char *end = memmem(from, n, "\n\n", 2);

	return end != NULL ? at + (size_t)(end - from) + 2 : at + n;
}

/* Forget what stands before `to`, the beginning of an event. */
static void
drop(struct feed *f, uint64_t to)
{
	size_t n = (size_t)(to - f->base);

	if (n == 0)
		return;
	if (to == end_of(f))
		f->dropped = f->last;
	else if (f->conf.ids) {
		uint64_t at = f->base;

		while (at < to) {
			f->dropped = number_of(bytes_at(f, at));
			at = after_event(f, at);
		}
	}
	f->start += n;
	f->base = to;
	if (f->start == f->held.len) {
		str_free(&f->held);
		f->start = 0;
	} else if (f->start > f->held.len / 2) {
		str_drop(&f->held, f->start);
		f->start = 0;
	}
}

/* All that is to be kept; more only for a reader that has yet to read it. */
static void
trim(struct feed *f)
{
	uint64_t end = end_of(f), want = f->base, most = slowest(f);

	if (f->conf.keep == 0) {
		drop(f, most);
		return;
	}
	/* In larger steps: each costs a look at what goes. */
	if (end - f->base <= f->conf.keep + f->conf.keep / 4)
		return;
	while (end - want > f->conf.keep && want < most)
		want = after_event(f, want);
	if (want > most)
		want = most;
	drop(f, want);
}

static void
weigh(struct feed *f)
{
	size_t unread = (size_t)(end_of(f) - slowest(f));
	bool high = f->high ? unread > f->conf.high / 2 : unread > f->conf.high;

	if (f->conf.pressure == NULL || f->conf.high == 0 || high == f->high)
		return;
	f->high = high;
	f->conf.pressure(f->conf.arg, high);
}

static void
tell(struct feed *f)
{
	struct feed_reader *r, *next;

	for (r = TAILQ_FIRST(&f->readers); r != NULL; r = next) {
		next = TAILQ_NEXT(r, link);
		if (r->waiting) {
			r->waiting = false;
			r->ops.more(r->ops.arg);
		}
	}
}

static void
let_go(struct feed *f)
{
	if (!f->closed || f->nreader > 0)
		return;
	str_free(&f->held);
	free(f);
}

void
feed_finish(struct feed *f)
{
	if (f->finished)
		return;
	f->finished = true;
	f->conf.pressure = NULL;
	tell(f);
}

void
feed_close(struct feed *f)
{
	if (f == NULL)
		return;
	f->closed = true;
	f->nreader++; /* not below us */
	feed_finish(f);
	f->nreader--;
	let_go(f);
}

/* ---- writing ---- */

struct str *
feed_begin(struct feed *f, const char *name, uint64_t seq)
{
	struct str *s;

	if (f == NULL || f->finished ||
	    (f->read && f->nreader == 0 && f->conf.keep == 0))
		return NULL;
	s = &f->held;
	if (s->at == NULL)
		str_need(s, BLOCK);
	if (name != NULL) {
		str_add(s, "event: ", 7);
		str_puts(s, name);
		str_putc(s, '\n');
	}
	if (f->conf.ids)
		str_printf(s, "id: %llu\n", (unsigned long long)seq);
	str_add(s, "data: ", 6);
	f->last = (int64_t)seq;
	f->putting = true;
	return s;
}

void
feed_end(struct feed *f)
{
	if (f == NULL || !f->putting)
		return;
	f->putting = false;
	str_add(&f->held, "\n\n", 2);
	if (f->conf.keep > 0)
		trim(f);
	weigh(f);
	tell(f);
}

void
feed_put(struct feed *f, const char *name, uint64_t seq, const char *json,
    size_t n)
{
	struct str *s = feed_begin(f, name, seq);

	if (s == NULL)
		return;
	str_add(s, json, n);
	feed_end(f);
}

/* ---- reading ---- */

/* Where the first event after this number begins. */
static uint64_t
find(const struct feed *f, int64_t after)
{
	uint64_t at = f->base, end = end_of(f);

	while (at < end && number_of(bytes_at(f, at)) <= after)
		at = after_event(f, at);
	return at;
}

struct feed_reader *
feed_read(struct feed *f, int64_t after, const struct feed_reader_ops *ops)
{
	struct feed_reader *r;

	/* Without ids it can only be read from the first. */
	if (after < f->dropped || (!f->conf.ids && (f->base > 0 || after >= 0)))
		return NULL;
	r = xcalloc(1, sizeof *r);
	r->feed = f;
	r->ops = *ops;
	r->at = after < 0 ? f->base : find(f, after);
	TAILQ_INSERT_TAIL(&f->readers, r, link);
	f->nreader++;
	f->read = true;
	return r;
}

/* What is left of n bytes when the last event in it is not whole. */
static size_t
whole_events(const char *from, size_t n)
{
	while (n > 0) {
		const char *nl = memrchr(from, '\n', n);

		if (nl == NULL || nl == from)
			return 0;
		if (nl[-1] == '\n')
			return (size_t)(nl - from) + 1;
		n = (size_t)(nl - from);
	}
	return 0;
}

size_t
feed_next(struct feed_reader *r, const char **at, size_t most)
{
	struct feed *f = r->feed;
	size_t n;

	/* What was read last time has been used by now. */
	trim(f);
	weigh(f);
	n = (size_t)(end_of(f) - r->at);
	if (n == 0) {
		r->waiting = true;
		return 0;
	}
	*at = bytes_at(f, r->at);
	if (n > most) {
		n = whole_events(*at, most);
		if (n == 0)
			n = (size_t)(after_event(f, r->at) - r->at);
	}
	r->at += n;
	return n;
}

bool
feed_over(const struct feed_reader *r)
{
	return r->feed->finished && r->at == end_of(r->feed);
}

void
feed_leave(struct feed_reader *r)
{
	struct feed *f;

	if (r == NULL)
		return;
	f = r->feed;
	TAILQ_REMOVE(&f->readers, r, link);
	f->nreader--;
	free(r);
	if (f->closed) {
		let_go(f);
		return;
	}
	trim(f);
	weigh(f);
}

unsigned
feed_readers(const struct feed *f)
{
	return f != NULL ? f->nreader : 0;
}

bool
feed_keeps(const struct feed *f)
{
	return f != NULL && f->conf.keep > 0 && f->conf.ids;
}
