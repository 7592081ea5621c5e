/*
 * A2A: who comes back to a task.
 *
 * First the task as it is, then what happens from now on.  The events of its
 * stream were printed once, for the request that began it: what stands before
 * each is exchanged for this request's.  A client of the other version gets the
 * task's end instead of its pieces.
 */
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/a2a_shape.h"
#include "engine/deployment.h"
#include "engine/feed.h"
#include "engine/reply_a2a.h"
#include "engine/run.h"
#include "web/a2a_int.h"
#include "web/app.h"
#include "web/http.h"
#include "web/sse.h"
#include "wire/loop.h"

#define AHEAD (64u << 10)
#define ALIVE_MS 15000

struct follow {
	struct http_req *q;
	struct loop *loop;
	struct run *run;
	struct feed_reader *reader; /* NULL: of the other version */
	struct run_wait wait;
	struct watch *alive;
	char *id;
	bool modern, posted;
};

static void
closed(struct http_req *q)
{
	struct follow *f = http_req_data(q);

	loop_unpost(f->loop, f);
	watch_free(f->alive);
	feed_leave(f->reader);
	run_unwait(f->run, &f->wait);
	run_drop(f->run);
	free(f->id);
	free(f);
}

/* result in 0.3's shape: it is taken. */
static void
say(struct http_req *q, const char *id, bool modern, json_t *result)
{
	auto_str struct str out = { 0 };

	str_puts(&out, "data: ");
	a2a_answer(&out, id, modern, result);
	str_puts(&out, "\n\n");
	http_reply_write(q, out.at, out.len);
	json_decref(result);
}

/* One event of the feed, with its lines before "data: ". */
static void
pass_on(struct follow *f, struct str *out, const char *at, size_t n)
{
	const char *prefix = a2a_prefix(run_reply(f->run));
	const char *data = memmem(at, n, "data: ", 6), *rest;

	if (data == NULL)
		return;
	rest = data + 6 + strlen(prefix);
	str_add(out, at, (size_t)(data - at) + 6);
	str_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", f->id);
	str_add(out, rest, n - (size_t)(rest - at));
}

static void
flush(void *arg)
{
	struct follow *f = arg;
	const char *at, *end;
	size_t n;

	f->posted = false;
	while (http_reply_backlog(f->q) < AHEAD &&
	    (n = feed_next(f->reader, &at, AHEAD)) > 0) {
		auto_str struct str out = { 0 };

		for (; n > 0 && (end = memmem(at, n, "\n\n", 2)) != NULL;
		     n -= (size_t)(end + 2 - at), at = end + 2)
			pass_on(f, &out, at, (size_t)(end + 2 - at));
		http_reply_write(f->q, str_text(&out), out.len);
	}
	if (feed_over(f->reader))
		http_reply_end(f->q);
}

static void
more(void *arg)
{
	struct follow *f = arg;

	if (!f->posted)
		loop_post(f->loop, flush, f);
	f->posted = true;
}

static void
drained(struct http_req *q)
{
	struct follow *f = http_req_data(q);

	if (f->reader != NULL)
		more(f);
}

/* The other version's: the task again, and that is all. */
static void
finish(void *arg)
{
	struct follow *f = arg;
	json_t *task = a2a_task(run_reply(f->run));

	say(f->q, f->id, f->modern, task);
	http_reply_end(f->q);
}

static void
over(void *arg, struct run *run)
{
	struct follow *f = arg;

	(void)run;
	if (f->reader == NULL)
		loop_post(f->loop, finish, f);
}

static void
alive(void *arg, int what)
{
	struct follow *f = arg;

	(void)what;
	if (http_reply_backlog(f->q) == 0)
		http_reply_write(f->q, ": \n\n", 4);
	watch_arm(f->alive, ALIVE_MS);
}

static struct feed_reader *
reader_of(struct follow *f, int64_t after)
{
	const struct feed_reader_ops ops = { more, f };

	if (f->modern != a2a_is_modern(run_reply(f->run)))
		return NULL;
	return feed_read(run_feed(f->run), after, &ops);
}

/* With Last-Event-ID what was missed comes, in the place of the task. */
static void
follow(struct a2a_call *c, struct a2a_task_ref *ref)
{
	struct follow *f = xcalloc(1, sizeof *f);
	int64_t after = sse_last_id(c->q);

	f->q = c->q;
	f->loop = app_of(c->q)->loop;
	f->run = ref->run;
	f->id = xstrdup(c->rpc.id);
	f->modern = c->modern;
	run_hold(f->run);
	if (after >= 0)
		f->reader = reader_of(f, after);
	http_req_set_data(c->q, f);
	http_req_on_closed(c->q, closed);
	http_reply_start(c->q, 200, "text/event-stream; charset=utf-8", -1);
	http_reply_on_drained(c->q, drained);
	if (f->reader == NULL) {
		say(c->q, f->id, f->modern, json_incref(ref->task));
		f->reader = reader_of(f, a2a_last(run_reply(f->run)));
	}
	f->wait = (struct run_wait){ .over = over, .arg = f };
	run_wait(f->run, &f->wait);
	f->alive = watch_timer(f->loop, alive, f);
	watch_arm(f->alive, ALIVE_MS);
	if (f->reader != NULL)
		more(f);
}

void
a2a_resubscribe(struct a2a_call *c)
{
	struct a2a_task_ref ref;
	const char *state;

	if (a2a_named(c, "id", &ref) < 0)
		return;
	state = json_string_value(
	    json_object_get(json_object_get(ref.task, "status"), "state"));
	if (ref.run != NULL) {
		follow(c, &ref);
	} else if (c->modern && state != NULL && a2a_is_final(state)) {
		a2a_fail(c, A2A_UNSUPPORTED, "The task is in a terminal state");
	} else { /* nothing more will come */
		http_reply_start(c->q, 200, "text/event-stream; charset=utf-8",
		    -1);
		say(c->q, c->rpc.id, c->modern, json_incref(ref.task));
		http_reply_end(c->q);
	}
	a2a_ref_free(&ref);
}
