#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/model_client.h"
#include "manager/broker_call.h"
#include "wire/link.h"
#include "wire/loop.h"
#include "wire/model.h"

#define AGAIN_MS 100
#define PATIENCE_MS 10000 /* for a stream, when there is none */

struct model_call {
	struct model_client *of;
	uint32_t number;
	struct model_ask ask;
	struct str body; /* until it is sent */
	bool sent;
	int64_t since; /* it waits for a stream */
	size_t room;   /* what may come before more is credited */
	size_t owed;   /* credit that is not worth a frame yet */
	const struct model_call_ops *ops;
	void *arg;
	TAILQ_ENTRY(model_call) next;
};
TAILQ_HEAD(calls, model_call);

struct model_client {
	struct loop *loop;
	struct broker_call *broker;
	struct broker_ask *asking;
	struct watch *again;
	struct model_conn *conn;
	struct calls calls;
	unsigned n;
	uint32_t last;
};

static void
call_free(struct model_call *c)
{
	TAILQ_REMOVE(&c->of->calls, c, next);
	c->of->n--;
	str_free(&c->body);
	free(c);
}

static void
call_end(struct model_call *c, const struct err *err)
{
	const struct model_call_ops *ops = c->ops;
	void *arg = c->arg;

	call_free(c);
	ops->done(arg, err);
}

/* ---- sending ---- */

static void
send_call(struct model_call *c)
{
	struct model_conn *conn = c->of->conn;

	c->sent = true;
	model_conn_send(conn, MODEL_ASK, c->number, 0, &c->ask, sizeof c->ask);
	for (size_t at = 0; at < c->body.len; at += MODEL_PIECE) {
		size_t left = c->body.len - at;

		model_conn_send(conn, MODEL_BODY, c->number, 0, c->body.at + at,
		    left < MODEL_PIECE ? left : MODEL_PIECE);
	}
	str_free(&c->body);
}

void
model_call_took(struct model_call *c, size_t n)
{
	c->owed += n;
	if (!c->sent || c->of->conn == NULL || c->owed < MODEL_WINDOW / 8)
		return;
	c->room += c->owed;
	model_conn_send(c->of->conn, MODEL_CREDIT, c->number, (uint32_t)c->owed,
	    NULL, 0);
	c->owed = 0;
}

void
model_call_cancel(struct model_call *c)
{
	if (c->sent && c->of->conn != NULL)
		model_conn_send(c->of->conn, MODEL_CANCEL, c->number, 0, NULL,
		    0);
	call_free(c);
}

/* ---- what comes ---- */

static struct model_call *
find(struct model_client *m, uint32_t number)
{
	struct model_call *c;

	TAILQ_FOREACH(c, &m->calls, next)
		if (c->number == number && c->sent)
			return c;
	return NULL;
}

static int
on_done(struct model_call *c, uint32_t value, const uint8_t *at, size_t n,
    struct err *err)
{
	struct err why;

	if (value > ERR_CODES || n == 0 || at[n - 1] != '\0')
		return err_set(err, ERR_PROTO, "hutch-model: an odd end");
	if (value > 0) {
		err_set(&why, (enum err_code)(value - 1), "%s",
		    (const char *)at);
		why.sys = 0;
	}
	call_end(c, value > 0 ? &why : NULL);
	return 0;
}

static int
on_frame(void *arg, const struct model_frame *f, const uint8_t *at, size_t n,
    struct err *err)
{
	struct model_client *m = arg;
	struct model_call *c = find(m, f->call);
	struct model_head head;

	if (c == NULL) /* canceled meanwhile */
		return 0;
	switch (f->type) {
	case MODEL_HEAD:
		if (n != sizeof head)
			return err_set(err, ERR_PROTO, "hutch-model: a head");
		memcpy(&head, at, sizeof head);
		c->ops->head(c->arg, f->value, head.retry_after);
		return 0;
	case MODEL_BYTES:
		if (n > c->room)
			return err_set(err, ERR_PROTO,
			    "hutch-model: more than its credit");
		c->room -= n;
		if (n > 0)
			c->ops->bytes(c->arg, at, n);
		return 0;
	case MODEL_DONE:
		return on_done(c, f->value, at, n, err);
	default:
		return err_set(err, ERR_PROTO, "hutch-model: frame %u",
		    f->type);
	}
}

/* ---- the stream ---- */

static void seek(struct model_client *);

static void
fail_calls(struct model_client *m, bool sent, const struct err *why)
{
	struct model_call *c;
	bool some = true;

	while (some) { /* a callback may begin or cancel others */
		some = false;
		TAILQ_FOREACH(c, &m->calls, next)
			if (c->sent == sent &&
			    (sent || clock_ms() - c->since >= PATIENCE_MS)) {
				some = true;
				break;
			}
		if (some)
			call_end(c, why);
	}
}

static bool
some_wait(const struct model_client *m)
{
	const struct model_call *c;

	TAILQ_FOREACH(c, &m->calls, next)
		if (!c->sent)
			return true;
	return false;
}

static void
on_gone(void *arg, const struct err *err)
{
	struct model_client *m = arg;
	struct err why;

	log_err(LOG_WARN, err, "hutch-model is gone", NULL);
	model_conn_free(m->conn);
	m->conn = NULL;
	err_set(&why, ERR_BUSY, "the process that speaks to models has ended");
	fail_calls(m, true, &why);
	if (some_wait(m))
		seek(m);
}

static const struct model_conn_ops conn_ops = { on_frame, on_gone };

void
model_client_attach(struct model_client *m, int fd)
{
	struct model_call *c;

	model_conn_free(m->conn);
	m->conn = model_conn_new(m->loop, fd, &conn_ops, m);
	TAILQ_FOREACH(c, &m->calls, next)
		if (!c->sent)
			send_call(c);
}

static void
given(void *arg, struct link_msg *msg, const struct err *err)
{
	struct model_client *m = arg;

	m->asking = NULL;
	if (msg != NULL) {
		model_client_attach(m, take_fd(&msg->fd[0]));
		return;
	}
	fail_calls(m, false, err);
	if (some_wait(m))
		watch_arm(m->again, AGAIN_MS);
}

static void
seek(struct model_client *m)
{
	if (m->asking == NULL && m->broker != NULL)
		m->asking = broker_model(m->broker, given, m);
}

static void
seek_again(void *arg, int what)
{
	(void)what;
	seek(arg);
}

struct model_client *
model_client_new(struct loop *loop, struct broker_call *broker)
{
	struct model_client *m = xcalloc(1, sizeof *m);

	m->loop = loop;
	m->broker = broker;
	m->again = watch_timer(loop, seek_again, m);
	TAILQ_INIT(&m->calls);
	return m;
}

void
model_client_free(struct model_client *m)
{
	struct model_call *c;

	if (m == NULL)
		return;
	broker_forget(m->asking);
	watch_free(m->again);
	while ((c = TAILQ_FIRST(&m->calls)) != NULL)
		call_free(c);
	model_conn_free(m->conn);
	free(m);
}

/* ---- asking ---- */

/*
 * A client's words may be in it.  What could end a header would end the stream,
 * which is everybody's; and the text may be a secret, so errors don't show it.
 */
static int
put(char *to, size_t room, const char *what, const char *text, struct err *err)
{
	if (text == NULL)
		return 0;
	if (strlen(text) >= room)
		return err_set(err, ERR_LIMIT, "%s: longer than %zu bytes",
		    what, room - 1);
	for (const char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return err_set(err, ERR_INVALID,
			    "%s: a control character", what);
	strcpy(to, text);
	return 0;
}

static int
fill(struct model_ask *q, const struct model_want *w, struct err *err)
{
	q->op = w->op;
	q->body = (uint32_t)w->nbody;
	if (put(q->name, sizeof q->name, "model", w->name, err) < 0 ||
	    put(q->traceparent, sizeof q->traceparent, "traceparent",
		w->traceparent, err) < 0 ||
	    put(q->url, sizeof q->url, "url", w->url, err) < 0 ||
	    put(q->token, sizeof q->token, "token", w->token, err) < 0 ||
	    put(q->auth, sizeof q->auth, "credentials", w->auth, err) < 0)
		return -1;
	return 0;
}

struct model_call *
model_call_start(struct model_client *m, const struct model_want *w,
    struct err *err)
{
	struct model_ask q = { 0 };
	struct model_call *c;

	if (w->nbody > MODEL_BODY_MAX) {
		err_set(err, ERR_LIMIT, "a request of %zu bytes to a model",
		    w->nbody);
		return NULL;
	}
	/* A full queue would end the stream, with the calls of all. */
	if (m->n >= MODEL_CALLS ||
	    (m->conn != NULL &&
		model_conn_queued(m->conn) + w->nbody > MODEL_QUEUE_MAX / 2)) {
		err_set(err, ERR_LIMIT, "%u calls of models go on", m->n);
		return NULL;
	}
	if (fill(&q, w, err) < 0)
		return NULL;
	c = xcalloc(1, sizeof *c);
	c->of = m;
	c->ask = q;
	c->ops = w->ops;
	c->arg = w->arg;
	c->room = MODEL_WINDOW;
	c->since = clock_ms();
	do
		c->number = ++m->last;
	while (c->number == 0);
	str_add(&c->body, w->body, w->nbody);
	TAILQ_INSERT_TAIL(&m->calls, c, next);
	m->n++;
	if (m->conn != NULL)
		send_call(c);
	else
		seek(m);
	return c;
}
