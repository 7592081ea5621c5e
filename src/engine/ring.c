#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include "base/clock.h"
#include "base/str.h"
#include "engine/ring.h"

#define LINE_MAX_LEN 8192 /* a longer one goes on in the next */

struct ring_reader {
	TAILQ_ENTRY(ring_reader) next;
	struct ring *ring; /* NULL: it has gone */
	ring_fn *fn;
	void *arg;
};

struct ring {
	struct str kept;
	size_t most;
	TAILQ_HEAD(, ring_reader) readers;
};

struct ring_writer {
	struct ring *ring;
	char *name;
	struct str part;
};

struct ring *
ring_new(size_t most)
{
	struct ring *r = xcalloc(1, sizeof *r);

	r->most = most;
	TAILQ_INIT(&r->readers);
	return r;
}

void
ring_free(struct ring *r)
{
	struct ring_reader *at;

	if (r == NULL)
		return;
	while ((at = TAILQ_FIRST(&r->readers)) != NULL) {
		TAILQ_REMOVE(&r->readers, at, next);
		at->ring = NULL;
		at->fn(at->arg, NULL, 0);
	}
	str_free(&r->kept);
	free(r);
}

/* Half of it at once, so that it is not moved for each line. */
static void
forget_oldest(struct ring *r)
{
	size_t from = r->kept.len - r->most / 2;
	const char *end = memchr(r->kept.at + from, '\n', r->kept.len - from);

	if (end != NULL)
		str_drop(&r->kept, (size_t)(end + 1 - r->kept.at));
}

static void
add_line(struct ring *r, const char *name, const char *text, size_t n)
{
	struct ring_reader *at, *after;
	double now = clock_unix();
	time_t seconds = (time_t)now;
	size_t from = r->kept.len;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	str_printf(&r->kept, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s ",
	    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
	    tm.tm_sec, (int)((now - (double)seconds) * 1000), name);
	str_add(&r->kept, text, n);
	str_putc(&r->kept, '\n');
	for (at = TAILQ_FIRST(&r->readers); at != NULL; at = after) {
		after = TAILQ_NEXT(at, next);
		at->fn(at->arg, r->kept.at + from, r->kept.len - from);
	}
	if (r->kept.len > r->most)
		forget_oldest(r);
}

/* ---- writers ---- */

struct ring_writer *
ring_open(struct ring *r, const char *name)
{
	struct ring_writer *w = xcalloc(1, sizeof *w);

	w->ring = r;
	w->name = xstrdup(name);
	return w;
}

void
ring_bytes(struct ring_writer *w, const void *bytes, size_t n)
{
	const char *at = bytes, *end = at + n, *nl;

	while (at < end) {
		nl = memchr(at, '\n', (size_t)(end - at));
		n = (size_t)((nl != NULL ? nl : end) - at);
		if (n > LINE_MAX_LEN - w->part.len) {
			n = LINE_MAX_LEN - w->part.len;
			nl = NULL;
		}
		str_add(&w->part, at, n);
		at += n;
		if (nl == NULL && w->part.len < LINE_MAX_LEN)
			continue;
		add_line(w->ring, w->name, str_text(&w->part), w->part.len);
		str_cut(&w->part, 0);
		at += nl != NULL;
	}
}

void
ring_close(struct ring_writer *w)
{
	if (w == NULL)
		return;
	if (w->part.len > 0)
		add_line(w->ring, w->name, str_text(&w->part), w->part.len);
	str_free(&w->part);
	free(w->name);
	free(w);
}

void
ring_say(struct ring *r, const char *name, const char *fmt, ...)
{
	auto_str struct str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < text.len; i++)
		if (text.at[i] == '\n')
			text.at[i] = ' ';
	add_line(r, name, str_text(&text), text.len);
}

/* ---- readers ---- */

void
ring_read(const struct ring *r, struct str *out)
{
	str_add(out, str_text(&r->kept), r->kept.len);
}

struct ring_reader *
ring_follow(struct ring *r, ring_fn *fn, void *arg)
{
	struct ring_reader *at = xcalloc(1, sizeof *at);

	at->ring = r;
	at->fn = fn;
	at->arg = arg;
	TAILQ_INSERT_TAIL(&r->readers, at, next);
	return at;
}

void
ring_unfollow(struct ring_reader *at)
{
	if (at == NULL)
		return;
	if (at->ring != NULL)
		TAILQ_REMOVE(&at->ring->readers, at, next);
	free(at);
}
