#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "model/post.h"
#include "model/redact.h"
#include "model/serve.h"
#include "model/stub.h"
#include "wire/loop.h"
#include "wire/model.h"

#define BODIES_MOST (256u << 20) /* of all calls, while they come in */
#define PUSH_S 15
#define BUCKETS 256

struct call {
	struct serve *of;
	uint32_t number, credit;
	struct model_ask ask;
	struct endpoint *to; /* held; NULL: a push */
	struct str body;
	struct redact secrets;
	bool running, waiting; /* has a place at its endpoint; wants one */
	struct post *post;
	struct stub *stub;
	struct watch *timer; /* of a stub */
	struct str said;
	enum stub_word word;
	TAILQ_ENTRY(call) next, line;
};

struct serve {
	struct serve_conf conf;
	struct model_conn *conn;
	TAILQ_HEAD(calls, call) bucket[BUCKETS];
	TAILQ_HEAD(, call) line; /* those that wait, oldest first */
	unsigned n;
	size_t bodies;
};

/* ---- the end of a call ---- */

static struct call *
find(struct serve *s, uint32_t number)
{
	struct call *c;

	TAILQ_FOREACH(c, &s->bucket[number % BUCKETS], next)
		if (c->number == number)
			return c;
	return NULL;
}

static void start_waiting(void *);

static void
call_free(struct call *c)
{
	struct serve *s = c->of;

	if (c->post != NULL)
		post_cancel(c->post);
	stub_free(c->stub);
	str_free(&c->said);
	watch_free(c->timer);
	if (c->waiting)
		TAILQ_REMOVE(&s->line, c, line);
	if (c->running) {
		c->to->active--;
		loop_unpost(s->conf.loop, s);
		loop_post(s->conf.loop, start_waiting, s);
	}
	endpoint_drop(c->to);
	s->bodies -= c->body.len;
	str_free(&c->body);
	redact_free(&c->secrets);
	TAILQ_REMOVE(&s->bucket[c->number % BUCKETS], c, next);
	s->n--;
	free(c);
}

static void
say_done(struct serve *s, uint32_t number, const struct redact *secrets,
    const struct err *err)
{
	auto_free char *text =
	    redact_text(secrets, err != NULL ? err->text : "");

	model_conn_send(s->conn, MODEL_DONE, number,
	    err != NULL ? 1 + (uint32_t)err->code : 0, text, strlen(text) + 1);
}

static void
call_done(struct call *c, const struct err *err)
{
	say_done(c->of, c->number, &c->secrets, err);
	call_free(c);
}

/* ---- what is answered ---- */

static void
send_head(struct call *c, unsigned status, unsigned retry_after)
{
	const struct model_head h = { retry_after };

	model_conn_send(c->of->conn, MODEL_HEAD, c->number, status, &h,
	    sizeof h);
}

static void
send_bytes(struct call *c, const char *bytes, size_t left)
{
	while (left > 0) {
		size_t n = left < MODEL_PIECE ? left : MODEL_PIECE;

		model_conn_send(c->of->conn, MODEL_BYTES, c->number, 0, bytes,
		    n);
		bytes += n;
		left -= n;
	}
}

static void
on_head(void *arg, unsigned status, unsigned retry_after)
{
	send_head(arg, status, retry_after);
}

/* What redact holds counts when it comes out: there is credit for it, always. */
static bool
on_bytes(void *arg, const void *bytes, size_t n)
{
	struct call *c = arg;
	auto_str struct str out = { 0 };

	if (c->credit < n + c->secrets.held.len)
		return false;
	redact_feed(&c->secrets, bytes, n, &out);
	c->credit -= (uint32_t)out.len;
	send_bytes(c, out.at, out.len);
	return true;
}

static void
on_done(void *arg, const struct err *err)
{
	struct call *c = arg;
	auto_str struct str out = { 0 };

	c->post = NULL;
	redact_end(&c->secrets, &out);
	send_bytes(c, out.at, out.len);
	call_done(c, err);
}

static const struct post_ops post_ops = { on_head, on_bytes, on_done };

/* ---- the scripted one ---- */

/* What it has said and there is room for; true: all of it. */
static bool
stub_pour(struct call *c)
{
	size_t n = c->said.len < c->credit ? c->said.len : c->credit;

	send_bytes(c, c->said.at, n);
	c->credit -= (uint32_t)n;
	str_drop(&c->said, n);
	return c->said.len == 0;
}

static void
stub_step(void *arg, int what)
{
	struct call *c = arg;
	struct err err;
	unsigned wait = 0;

	(void)what;
	while (stub_pour(c)) {
		if (c->word == STUB_END) {
			call_done(c, NULL);
			return;
		}
		if (c->word == STUB_CUT) {
			err_set(&err, ERR_PROTO,
			    "the connection ended in the middle");
			call_done(c, &err);
			return;
		}
		if (wait > 0) {
			watch_arm(c->timer, wait);
			return;
		}
		c->word = stub_next(c->stub, &c->said, &wait);
	}
}

static void
start_stub(struct call *c)
{
	c->stub = stub_new(str_text(&c->body), c->body.len);
	c->timer = watch_timer(c->of->conf.loop, stub_step, c);
	send_head(c, stub_status(c->stub), 0);
	stub_step(c, 0);
}

/* ---- the beginning of a call ---- */

struct headers {
	char *at[40];
	size_t n;
};

static void
header(struct headers *h, const char *name, const char *value)
{
	if (value == NULL || *value == '\0' ||
	    h->n + 1 >= sizeof h->at / sizeof *h->at)
		return;
	h->at[h->n] = xmalloc(strlen(name) + strlen(value) + 1);
	stpcpy(stpcpy(h->at[h->n], name), value);
	h->n++;
}

static void
headers_free(struct headers *h)
{
	while (h->n > 0) {
		char *text = h->at[--h->n];

		explicit_bzero(text, strlen(text));
		free(text);
	}
}

static char *
url_of(const struct call *c)
{
	static const char *const tail[MODEL_OPS] = {
		[MODEL_CHAT] = "chat/completions",
		[MODEL_TRACES] = "v1/traces",
	};
	size_t n;

	if (c->ask.op == MODEL_PUSH)
		return xstrdup(c->ask.url);
	n = strlen(c->to->url);
	while (n > 0 && c->to->url[n - 1] == '/')
		n--;
	return xasprintf("%.*s/%s", (int)n, c->to->url, tail[c->ask.op]);
}

static void
fill_headers(const struct call *c, struct headers *h)
{
	header(h, "traceparent: ", c->ask.traceparent);
	if (c->ask.op == MODEL_PUSH) {
		header(h, "X-A2A-Notification-Token: ", c->ask.token);
		header(h, "Authorization: ", c->ask.auth);
		return;
	}
	header(h, "Authorization: Bearer ", c->to->key);
	for (size_t i = 0; i < c->to->nheader; i++)
		header(h, "", c->to->header[i]);
}

static int
start_post(struct call *c, struct err *err)
{
	struct headers h = { 0 };
	bool push = c->ask.op == MODEL_PUSH;
	auto_free char *url = url_of(c);
	struct post_want w = {
		.url = url,
		.proxy = push ? NULL : c->to->proxy,
		.nbody = c->body.len,
		.timeout_s = push ? PUSH_S : c->to->timeout,
		.stall_s = push ? 0 : c->to->stall,
		.public_only = push && !c->of->conf.table->push_anywhere,
		.ops = &post_ops,
		.arg = c,
	};

	fill_headers(c, &h);
	w.header = (const char *const *)h.at;
	c->of->bodies -= c->body.len;
	w.body = str_take(&c->body);
	c->post = post_start(c->of->conf.poster, &w, err);
	headers_free(&h);
	return c->post != NULL ? 0 : -1;
}

static void
start(struct call *c)
{
	struct err err;

	if (c->to != NULL) {
		c->running = true;
		c->to->active++;
	}
	if (c->to != NULL && strcmp(c->to->url, "stub:") == 0)
		start_stub(c);
	else if (start_post(c, &err) < 0)
		call_done(c, &err);
}

void
serve_kick(struct serve *s)
{
	struct call *c, *after;

	for (c = TAILQ_FIRST(&s->line); c != NULL; c = after) {
		after = TAILQ_NEXT(c, line);
		if (c->to->active >= c->to->most)
			continue;
		TAILQ_REMOVE(&s->line, c, line);
		c->waiting = false;
		start(c);
	}
}

static void
start_waiting(void *arg)
{
	serve_kick(arg);
}

/* Its body is there. */
static void
complete(struct call *c)
{
	struct serve *s = c->of;

	if (c->to != NULL && c->to->active >= c->to->most) {
		c->waiting = true;
		TAILQ_INSERT_TAIL(&s->line, c, line);
		return;
	}
	start(c);
}

/* ---- what the front says ---- */

/* Text with its NUL inside its array, in which nothing could end a header. */
static bool
plain(const char *text, size_t room)
{
	size_t n = strnlen(text, room);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return n < room;
}

static int
check(const struct model_ask *q, struct err *err)
{
	if (q->op == 0 || q->op >= MODEL_OPS || q->body > MODEL_BODY_MAX ||
	    !plain(q->name, sizeof q->name) || !plain(q->url, sizeof q->url) ||
	    !plain(q->token, sizeof q->token) ||
	    !plain(q->auth, sizeof q->auth) ||
	    !plain(q->traceparent, sizeof q->traceparent))
		return err_set(err, ERR_PROTO, "an ask that makes no sense");
	return 0;
}

static int
find_endpoint(struct call *c, struct err *err)
{
	struct endpoints *t = c->of->conf.table;

	if (c->ask.op == MODEL_CHAT)
		c->to = endpoints_find(t, c->ask.name);
	else if (c->ask.op != MODEL_PUSH && t->traces != NULL)
		endpoint_hold(c->to = t->traces);
	if (c->to == NULL && c->ask.op != MODEL_PUSH)
		return err_set(err, ERR_MISSING, "there is no [model %s]",
		    c->ask.name);
	return 0;
}

static void
learn_secrets(struct call *c)
{
	if (c->to == NULL)
		return;
	if (c->to->key != NULL)
		redact_add(&c->secrets, c->to->key, strlen(c->to->key));
	for (size_t i = 0; i < c->to->nheader; i++) {
		const char *value = strchr(c->to->header[i], ':');

		if (value == NULL)
			continue;
		value += 1 + strspn(value + 1, " ");
		redact_add(&c->secrets, value, strlen(value));
	}
}

static int
refuse(struct serve *s, uint32_t number, enum err_code code, const char *why)
{
	static const struct redact nothing;
	struct err err;

	err_set(&err, code, "%s", why);
	say_done(s, number, &nothing, &err);
	return 0;
}

static int
on_ask(struct serve *s, const struct model_frame *f, const uint8_t *at,
    size_t n, struct err *err)
{
	struct model_ask q;
	struct err why;
	struct call *c;

	if (n != sizeof q || f->call == 0 || find(s, f->call) != NULL)
		return err_set(err, ERR_PROTO, "an ask of %zu bytes", n);
	memcpy(&q, at, sizeof q);
	if (check(&q, err) < 0)
		return -1;
	/* What was refused may still send its body: on_body ignores it. */
	if (s->n >= MODEL_CALLS || s->bodies + q.body > BODIES_MOST)
		return refuse(s, f->call, ERR_LIMIT, "too much at once");
	c = xcalloc(1, sizeof *c);
	c->of = s;
	c->number = f->call;
	c->credit = MODEL_WINDOW;
	c->ask = q;
	TAILQ_INSERT_TAIL(&s->bucket[c->number % BUCKETS], c, next);
	s->n++;
	if (find_endpoint(c, &why) < 0) {
		call_done(c, &why);
		return 0;
	}
	learn_secrets(c);
	if (q.body == 0)
		complete(c);
	return 0;
}

static int
on_body(struct serve *s, const struct model_frame *f, const uint8_t *at,
    size_t n, struct err *err)
{
	struct call *c = find(s, f->call);

	if (c == NULL)
		return 0; /* refused, or over already */
	if (c->post != NULL || c->stub != NULL || c->waiting ||
	    n > c->ask.body - c->body.len)
		return err_set(err, ERR_PROTO, "more body than was told");
	str_add(&c->body, at, n);
	s->bodies += n;
	if (c->body.len == c->ask.body)
		complete(c);
	return 0;
}

static int
on_credit(struct serve *s, const struct model_frame *f, struct err *err)
{
	struct call *c = find(s, f->call);

	if (c == NULL)
		return 0;
	if (f->value > MODEL_WINDOW || c->credit > MODEL_WINDOW - f->value)
		return err_set(err, ERR_PROTO, "credit beyond the window");
	c->credit += f->value;
	if (c->post != NULL)
		post_room(c->post);
	else if (c->stub != NULL && c->said.len > 0)
		watch_arm(c->timer, 0);
	return 0;
}

static int
on_frame(void *arg, const struct model_frame *f, const uint8_t *at, size_t n,
    struct err *err)
{
	struct serve *s = arg;
	struct call *c;

	switch (f->type) {
	case MODEL_ASK:
		return on_ask(s, f, at, n, err);
	case MODEL_BODY:
		return on_body(s, f, at, n, err);
	case MODEL_CREDIT:
		return on_credit(s, f, err);
	case MODEL_CANCEL:
		c = find(s, f->call);
		if (c != NULL) {
			call_free(c);
			return refuse(s, f->call, ERR_BUSY, "canceled");
		}
		return 0;
	default:
		return err_set(err, ERR_PROTO, "a frame of type %u", f->type);
	}
}

static void
on_gone(void *arg, const struct err *why)
{
	struct serve *s = arg;

	log_err(why->code == ERR_MISSING ? LOG_DEBUG : LOG_WARN, why,
	    "a front has left", NULL);
	s->conf.gone(s->conf.arg, s);
}

static const struct model_conn_ops conn_ops = { on_frame, on_gone };

struct serve *
serve_new(const struct serve_conf *conf, int fd)
{
	struct serve *s = xcalloc(1, sizeof *s);

	s->conf = *conf;
	for (size_t i = 0; i < BUCKETS; i++)
		TAILQ_INIT(&s->bucket[i]);
	TAILQ_INIT(&s->line);
	s->conn = model_conn_new(conf->loop, fd, &conn_ops, s);
	return s;
}

void
serve_free(struct serve *s)
{
	struct call *c;

	for (size_t i = 0; i < BUCKETS; i++)
		while ((c = TAILQ_FIRST(&s->bucket[i])) != NULL)
			call_free(c);
	loop_unpost(s->conf.loop, s);
	model_conn_free(s->conn);
	free(s);
}
