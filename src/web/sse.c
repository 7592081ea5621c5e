#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/feed.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "web/http.h"
#include "web/sse.h"
#include "wire/loop.h"

/* So much is handed to the kernel's queue ahead of what the client took ... */
#define AHEAD 65536
/* ... in chunks of at most this, but for one event that is longer. */
#define CHUNK 32768

struct sse {
	struct sse_ask ask;
	struct http_req *req;
	struct feed_reader *reader; /* NULL: the whole is waited for */
	struct run_wait wait;
	struct watch *timer; /* NULL: no comments */
	int64_t wrote_at;
	bool posted;
};

static void
closed(struct http_req *q)
{
	struct sse *s = http_req_data(q);
	struct run *run = s->ask.run;

	loop_unpost(s->ask.loop, s);
	watch_free(s->timer);
	feed_leave(s->reader);
	run_unwait(run, &s->wait);
	if (s->ask.gone != NULL)
		s->ask.gone(s->ask.arg, run);
	run_drop(run);
	free(s);
}

static struct sse *
take(struct http_req *q, const struct sse_ask *ask)
{
	struct sse *s = xcalloc(1, sizeof *s);

	s->ask = *ask;
	s->req = q;
	run_hold(ask->run);
	http_req_set_data(q, s);
	http_req_on_closed(q, closed);
	return s;
}

/* ---- a stream ---- */

static void
flush(void *arg)
{
	struct sse *s = arg;
	const char *at;
	size_t n;

	s->posted = false;
	while (http_reply_backlog(s->req) < AHEAD) {
		if ((n = feed_next(s->reader, &at, CHUNK)) == 0)
			break;
		http_reply_write(s->req, at, n);
		s->wrote_at = clock_ms();
	}
	if (!feed_over(s->reader))
		return;
	watch_free(s->timer);
	s->timer = NULL;
	http_reply_end(s->req);
}

static void
more(void *arg)
{
	struct sse *s = arg;

	if (s->posted)
		return;
	s->posted = true;
	loop_post(s->ask.loop, flush, s);
}

static void
drained(struct http_req *q)
{
	more(http_req_data(q));
}

/* Moved on by what is written without being armed anew each time. */
static void
quiet(void *arg, int what)
{
	struct sse *s = arg;
	static const char note[] = ": keep-alive\n\n";
	int64_t span = (int64_t)s->ask.keep_alive_s * 1000;
	int64_t left = clock_left(s->wrote_at + span);

	(void)what;
	if (left == 0) {
		if (http_reply_backlog(s->req) == 0)
			http_reply_write(s->req, note, sizeof note - 1);
		s->wrote_at = clock_ms();
		left = span;
	}
	watch_arm(s->timer, left);
}

/* Has it gone?  Only what is written tells. */
static void
half_closed(struct http_req *q)
{
	http_reply_write(q, ":\n\n", 3);
}

int
sse_stream(struct http_req *q, const struct sse_ask *ask, struct err *err)
{
	struct feed *feed = run_feed(ask->run);
	struct feed_reader_ops ops = { more, NULL };
	struct sse *s;

	if (feed == NULL)
		return err_set(err, ERR_MISSING, "this run has no stream");
	s = take(q, ask);
	ops.arg = s;
	if ((s->reader = feed_read(feed, ask->after, &ops)) == NULL) {
		s->ask.gone = NULL;
		http_req_on_closed(q, NULL);
		closed(q);
		http_req_set_data(q, NULL);
		return err_set(err, ERR_MISSING,
		    "these events are no longer kept");
	}
	http_reply_start(q, 200, "text/event-stream; charset=utf-8", -1);
	http_reply_on_drained(q, drained);
	http_req_on_half_closed(q, half_closed);
	s->wrote_at = clock_ms();
	if (ask->keep_alive_s > 0) {
		s->timer = watch_timer(ask->loop, quiet, s);
		watch_arm(s->timer, (int64_t)ask->keep_alive_s * 1000);
	}
	more(s);
	return 0;
}

int64_t
sse_last_id(const struct http_req *q)
{
	const char *text = http_req_header(q, "last-event-id");
	char *end;
	long long id;

	if (text == NULL || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	id = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' ? id : -1;
}

/* ---- the whole ---- */

static void
whole(void *arg)
{
	struct sse *s = arg;
	const struct reply *reply = run_reply(s->ask.run);
	auto_str struct str json = { 0 };

	reply->kind->whole(reply, &json);
	http_reply(s->req,
	    s->ask.status != NULL ? s->ask.status(s->ask.run) : 200,
	    "application/json", str_text(&json), json.len);
}

/* Not from within the run: closing may drop it. */
static void
over(void *arg, struct run *run)
{
	struct sse *s = arg;

	(void)run;
	loop_post(s->ask.loop, whole, s);
}

void
sse_whole(struct http_req *q, const struct sse_ask *ask)
{
	struct sse *s = take(q, ask);

	s->wait = (struct run_wait){ .over = over, .arg = s };
	if (run_over(ask->run))
		over(s, ask->run);
	else
		run_wait(ask->run, &s->wait);
}
