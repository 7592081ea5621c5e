#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "manager/manager.h"
#include "web/trail.h"
#include "web/work.h"

#define TRAILS 1024      /* sandboxes remembered */
#define TRAIL_BYTES 8192 /* of each */

struct trail_reader {
	struct trail *of;
	trail_fn *fn;
	void *arg;
	TAILQ_ENTRY(trail_reader) next;
};

struct trail {
	char key[40];
	struct str lines;
	TAILQ_HEAD(, trail_reader) readers;
	TAILQ_ENTRY(trail) next;
};

struct trails {
	TAILQ_HEAD(trail_list, trail) all; /* the last written first */
	size_t n;
};

struct trails *
trails_new(void)
{
	struct trails *t = xcalloc(1, sizeof *t);

	TAILQ_INIT(&t->all);
	return t;
}

static void
forget(struct trails *t, struct trail *at)
{
	struct trail_reader *r;

	while ((r = TAILQ_FIRST(&at->readers)) != NULL) {
		TAILQ_REMOVE(&at->readers, r, next);
		r->of = NULL;
	}
	TAILQ_REMOVE(&t->all, at, next);
	t->n--;
	str_free(&at->lines);
	free(at);
}

void
trails_free(struct trails *t)
{
	struct trail *at;

	while ((at = TAILQ_FIRST(&t->all)) != NULL)
		forget(t, at);
	free(t);
}

static struct trail *
find(const struct trails *t, const char *key)
{
	struct trail *at;

	TAILQ_FOREACH(at, &t->all, next)
		if (strcmp(at->key, key) == 0)
			return at;
	return NULL;
}

static struct trail *
need(struct trails *t, const char *key)
{
	struct trail *at = find(t, key);

	if (at == NULL) {
		if (t->n >= TRAILS)
			forget(t, TAILQ_LAST(&t->all, trail_list));
		at = xcalloc(1, sizeof *at);
		snprintf(at->key, sizeof at->key, "%s", key);
		TAILQ_INIT(&at->readers);
		t->n++;
	} else
		TAILQ_REMOVE(&t->all, at, next);
	TAILQ_INSERT_HEAD(&t->all, at, next);
	return at;
}

void
trail_stamp(struct str *out, double now)
{
	time_t s = (time_t)now;
	struct tm tm;
	char b[32];

	gmtime_r(&s, &tm);
	strftime(b, sizeof b, "%Y-%m-%dT%H:%M:%S", &tm);
	str_printf(out, "%s.%03dZ ", b, (int)((now - (double)s) * 1000));
}

void
trail_say(struct trails *t, const char *key, const char *fmt, ...)
{
	auto_str struct str line = { 0 };
	struct trail *at = need(t, key);
	struct trail_reader *r, *after;
	va_list ap;

	trail_stamp(&line, clock_unix());
	va_start(ap, fmt);
	str_vprintf(&line, fmt, ap);
	va_end(ap);
	str_putc(&line, '\n');
	str_add(&at->lines, line.at, line.len);
	if (at->lines.len > TRAIL_BYTES) {
		size_t cut = at->lines.len - TRAIL_BYTES / 2;
		const char *nl =
		    memchr(at->lines.at + cut, '\n', at->lines.len - cut);

		str_drop(&at->lines, (size_t)(nl - at->lines.at) + 1);
	}
	for (r = TAILQ_FIRST(&at->readers); r != NULL; r = after) {
		after = TAILQ_NEXT(r, next);
		r->fn(r->arg, line.at, line.len);
	}
}

void
trail_call(struct trails *t, const struct work_outcome *o, const char *tool,
    int64_t started_ms)
{
	const struct err *err = o->err != NULL ? o->err : o->tool_err;
	auto_str struct str end = { 0 };

	if (o->sandbox == NULL)
		return;
	if (o->running)
		str_puts(&end, "goes on");
	else if (err != NULL)
		str_printf(&end, "failed (%s)", err_name(err->code));
	else if (o->has_exit)
		str_printf(&end, "%s %d", o->exit < 0 ? "signal" : "exit",
		    o->exit < 0 ? -o->exit : o->exit);
	else
		str_puts(&end, "done");
	trail_say(t, sandbox_key(o->sandbox),
	    "%s: %s, %zu bytes out, %zu err, %lld ms", tool, str_text(&end),
	    o->out.len, o->errs.len, (long long)(clock_ms() - started_ms));
}

void
trail_read(const struct trails *t, const char *key, struct str *out)
{
	const struct trail *at = find(t, key);

	if (at != NULL && at->lines.len > 0)
		str_add(out, at->lines.at, at->lines.len);
}

struct trail_reader *
trail_follow(struct trails *t, const char *key, trail_fn *fn, void *arg)
{
	struct trail_reader *r = xcalloc(1, sizeof *r);

	r->of = need(t, key);
	r->fn = fn;
	r->arg = arg;
	TAILQ_INSERT_TAIL(&r->of->readers, r, next);
	return r;
}

void
trail_unfollow(struct trail_reader *r)
{
	if (r->of != NULL)
		TAILQ_REMOVE(&r->of->readers, r, next);
	free(r);
}
