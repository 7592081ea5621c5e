#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/deployment.h"
#include "engine/feed.h"
#include "engine/invalid.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "web/answer.h"
#include "web/app.h"
#include "web/http.h"
#include "wire/loop.h"

#define PIECE (64 * 1024)
#define ALIVE_MS 15000 /* a comment, so that nobody takes us for dead */

struct answer {
	struct http_req *q; /* NULL: the client has left */
	struct app *app;
	struct deployment *d;
	struct run *run;
	struct feed_reader *reader;
	struct watch *alive;
	bool posted, waits; /* for room in the connection */
	bool whole;         /* it is told at the end, by ended() */
	bool over, left;    /* the run has ended; the request has */
};

/* ---- the body ---- */

static bool
is_json(const char *type)
{
	const char *slash, *end;
	size_t n;

	if (type == NULL)
		return true; /* curl's users forget it */
	n = strcspn(type, "; \t");
	if (n == 16 && strncasecmp(type, "application/json", n) == 0)
		return true;
	slash = memchr(type, '/', n);
	end = type + n;
	return slash != NULL && n > 5 && strncasecmp(end - 5, "+json", 5) == 0;
}

static void
refuse(struct http_req *q, struct invalid *wrong)
{
	struct str out = { 0 };

	invalid_take(wrong, &out);
	app_reply_json(q, 422, &out);
}

static void
refuse_syntax(struct http_req *q, const struct jtext_where *where,
    const struct err *err)
{
	struct invalid wrong = { 0 };
	auto_str struct str ctx = { 0 };
	json_t *none = json_object();

	str_puts(&ctx, "{\"error\":");
	jtext_quote_text(&ctx, err->text);
	str_putc(&ctx, '}');
	invalid_add(&wrong, &(struct place){ NULL, NULL, where->at },
	    "json_invalid", "JSON decode error", none, str_text(&ctx));
	json_decref(none);
	refuse(q, &wrong);
}

json_t *
answer_body(struct http_req *q)
{
	const char *type = http_req_header(q, "content-type");
	struct invalid wrong = { 0 };
	struct jtext_where where = { 0 };
	const uint8_t *body;
	struct err err;
	json_t *v;
	size_t n;

	body = http_req_body(q, &n);
	if (n >= 3 && memcmp(body, "\xef\xbb\xbf", 3) == 0) {
		body += 3;
		n -= 3;
	}
	if (n == 0) {
		invalid_add(&wrong, NULL, "missing", "Field required", NULL,
		    NULL);
		refuse(q, &wrong);
		return NULL;
	}
	if (is_json(type)) {
		v = jtext_read(body, n, &where, &err);
		if (v == NULL)
			refuse_syntax(q, &where, &err);
		return v;
	}
	v = json_stringn((const char *)body, n);
	invalid_add(&wrong, NULL, "dict_type",
	    "Input should be a valid dictionary", v, NULL);
	json_decref(v);
	refuse(q, &wrong);
	return NULL;
}

/* ---- the stream ---- */

static void pump(void *);

static void
drained(struct http_req *q)
{
	struct answer *a = http_req_data(q);

	a->waits = false;
	pump(a);
}

static void
pump(void *arg)
{
	struct answer *a = arg;
	const char *at;
	size_t n;

	a->posted = false;
	if (a->q == NULL || a->waits)
		return;
	while ((n = feed_next(a->reader, &at, PIECE)) > 0) {
		http_reply_write(a->q, at, n);
		watch_arm(a->alive, ALIVE_MS);
		if (http_reply_backlog(a->q) >= APP_OUT_HIGH) {
			a->waits = true;
			return;
		}
	}
	if (feed_over(a->reader))
		http_reply_end(a->q);
}

/* From within the run: what else it says now goes with it. */
static void
more(void *arg)
{
	struct answer *a = arg;

	if (a->posted)
		return;
	a->posted = true;
	loop_post(a->app->loop, pump, a);
}

static void
alive(void *arg, int what)
{
	static const char comment[] = ": alive\n\n";
	struct answer *a = arg;

	(void)what;
	if (a->q == NULL)
		return;
	if (!a->waits)
		http_reply_write(a->q, comment, sizeof comment - 1);
	watch_arm(a->alive, ALIVE_MS);
}

static void
stream(struct answer *a)
{
	const struct feed_reader_ops ops = { more, a };

	a->alive = watch_timer(a->app->loop, alive, a);
	a->reader = feed_read(run_feed(a->run), -1, &ops);
	http_reply_start(a->q, 200, "text/event-stream; charset=utf-8", -1);
	http_reply_on_drained(a->q, drained);
	watch_arm(a->alive, ALIVE_MS);
	more(a);
}

/* ---- the whole ---- */

static void
say_whole(struct answer *a)
{
	const struct reply *r = run_reply(a->run);
	struct str out = { 0 };

	r->kind->whole(r, &out);
	app_reply_json(a->q, 200, &out);
}

static void
ended(void *arg, struct run *run)
{
	struct answer *a = arg;

	(void)run;
	a->over = true;
	if (a->left)
		free(a);
	else if (a->q != NULL && a->run != NULL)
		say_whole(a);
}

/* ---- the request ---- */

static void
closed(struct http_req *q)
{
	struct answer *a = http_req_data(q);

	a->q = NULL;
	loop_unpost(a->app->loop, a);
	feed_leave(a->reader);
	watch_free(a->alive);
	deployment_left(a->d, a->run);
	run_drop(a->run);
	a->left = true;
	if (a->over || !a->whole)
		free(a);
}

int
answer_run(struct http_req *q, struct deployment *d, struct run_ask *ask,
    struct err *err)
{
	struct answer *a = xcalloc(1, sizeof *a);

	a->q = q;
	a->app = app_of(q);
	a->d = d;
	ask->tenant = app_tenant(q);
	a->whole = !ask->stream;
	if (a->whole) {
		ask->ended = ended;
		ask->arg = a;
	}
	a->run = deployment_run(d, ask, err);
	if (a->run == NULL) {
		free(a);
		return -1;
	}
	http_req_set_data(q, a);
	http_req_on_closed(q, closed);
	if (ask->stream)
		stream(a);
	else if (a->over)
		say_whole(a);
	return 0;
}
