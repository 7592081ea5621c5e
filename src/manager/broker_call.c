#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "manager/broker_call.h"
#include "wire/link.h"
#include "wire/loop.h"

#define QUEUE_MAX 512 /* messages that the socket did not take yet */
#define ASKS_MAX 4096 /* questions without an answer */
#define RECV_TURNS 64 /* messages a round */
#define BUCKETS 256

/* clang-format off */
static const struct op {
	enum broker_type type;
	size_t	 reply;		/* exact size of the reply's body */
	unsigned nfd;		/* exact number of its descriptors */
	int64_t	 deadline;	/* ms */
} ops[] = {
	{ BROKER_LISTENERS,	sizeof(struct broker_hello),	5, 10000 },
	{ BROKER_LIVE,		sizeof(struct broker_live),	0, 10000 },
	{ BROKER_BUILD,		sizeof(struct broker_built),	2, 30000 },
	{ BROKER_ATTACH,	sizeof(struct broker_built),	2, 10000 },
	{ BROKER_JOIN,		0,				0, 10000 },
	{ BROKER_STOP,		0,				0, 10000 },
	{ BROKER_FREEZE,	0,				0, 10000 },
	{ BROKER_USAGE,		sizeof(struct broker_usage),	0, 10000 },
	{ BROKER_IMPORT,	0,				2, 10000 },
	{ BROKER_EXPORT,	0,				2, 10000 },
	{ BROKER_IMAGES,	0,				1, 10000 },
	{ BROKER_IMAGE_RM,	0,				0, 30000 },
	{ BROKER_MODEL,		0,				1, 10000 },
};
/* clang-format on */

struct broker_ask {
	TAILQ_ENTRY(broker_ask) next;
	struct broker_call *of;
	const struct op *op;
	uint32_t number;
	broker_fn *fn;
	void *arg;
	struct watch *late;
	struct err why; /* posted: how it failed before it was sent */
};

struct queued {
	STAILQ_ENTRY(queued) next;
	uint16_t type;
	uint32_t call;
	int fd; /* -1: none; ours */
	size_t len;
	uint8_t body[];
};

struct broker_call {
	struct loop *loop;
	int fd;
	struct watch *in, *out;
	TAILQ_HEAD(asks, broker_ask) bucket[BUCKETS];
	STAILQ_HEAD(, queued) queue;
	unsigned nqueue, nask;
	uint32_t last;
	bool gone;
	struct err why;
	void (*exited)(void *, const struct broker_exited *);
	void (*drain)(void *);
	void (*reload)(void *, int fd);
	void (*left)(void *, const struct err *);
	void *exited_arg, *drain_arg, *reload_arg, *left_arg;
};

static void
ask_free(struct broker_ask *a)
{
	TAILQ_REMOVE(&a->of->bucket[a->number % BUCKETS], a, next);
	a->of->nask--;
	loop_unpost(a->of->loop, a);
	watch_free(a->late);
	free(a);
}

static void
answer(struct broker_ask *a, struct link_msg *reply, const struct err *err)
{
	broker_fn *fn = a->fn;
	void *arg = a->arg;

	ask_free(a);
	fn(arg, reply, err);
}

void
broker_forget(struct broker_ask *a)
{
	if (a != NULL)
		ask_free(a);
}

static void
fail_posted(void *arg)
{
	struct broker_ask *a = arg;
	struct err why = a->why;

	answer(a, NULL, &why);
}

static void
fail_soon(struct broker_ask *a, const struct err *why)
{
	a->why = *why;
	loop_unpost(a->of->loop, a);
	loop_post(a->of->loop, fail_posted, a);
}

/* ---- the end of the link ---- */

static void
tell_left(void *arg)
{
	struct broker_call *b = arg;

	if (b->left != NULL)
		b->left(b->left_arg, &b->why);
}

static void
end_link(struct broker_call *b, const struct err *why)
{
	struct broker_ask *a;

	if (b->gone)
		return;
	b->gone = true;
	b->why = *why;
	watch_stop(b->in);
	watch_stop(b->out);
	for (size_t i = 0; i < BUCKETS; i++)
		TAILQ_FOREACH(a, &b->bucket[i], next)
			fail_soon(a, why);
	loop_post(b->loop, tell_left, b);
}

/* ---- sending ---- */

static void
queued_free(struct queued *q)
{
	if (q->fd >= 0)
		close(q->fd);
	free(q);
}

/* 1: sent; 0: not now; -1: the link is broken. */
static int
send_one(struct broker_call *b, const struct queued *q, struct err *err)
{
	struct link_msg m;

	m.type = q->type;
	m.call = q->call;
	m.len = q->len;
	m.nfd = q->fd >= 0;
	m.fd[0] = q->fd;
	memcpy(m.body, q->body, q->len);
	if (link_send(b->fd, &m, err) == 0)
		return 1;
	return err->code == ERR_SYS && err->sys == EAGAIN ? 0 : -1;
}

static void
flush(struct broker_call *b)
{
	struct queued *q;
	struct err why;

	while ((q = STAILQ_FIRST(&b->queue)) != NULL) {
		int r = send_one(b, q, &why);

		if (r == 0) {
			watch_go(b->out);
			return;
		}
		if (r < 0) {
			end_link(b, &why);
			return;
		}
		STAILQ_REMOVE_HEAD(&b->queue, next);
		b->nqueue--;
		queued_free(q);
	}
	watch_stop(b->out);
}

static void
writable(void *arg, int what)
{
	(void)what;
	flush(arg);
}

static int
enqueue(struct broker_call *b, const struct broker_ask *a, const void *body,
    size_t len, int fd, struct err *err)
{
	struct queued *q;

	if (b->gone) {
		*err = b->why;
		return -1;
	}
	if (b->nqueue >= QUEUE_MAX || b->nask > ASKS_MAX)
		return err_set(err, ERR_BUSY, "the broker has too much to do");
	q = xcalloc(1, sizeof *q + len);
	q->type = (uint16_t)a->op->type;
	q->call = a->number;
	q->len = len;
	q->fd = -1;
	if (fd >= 0 && (q->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		free(q);
		return err_sys(err, "dup");
	}
	if (len > 0)
		memcpy(q->body, body, len);
	STAILQ_INSERT_TAIL(&b->queue, q, next);
	if (b->nqueue++ == 0)
		flush(b);
	return 0;
}

/* ---- asking ---- */

static void
ask_late(void *arg, int what)
{
	struct broker_ask *a = arg;
	struct err why;

	(void)what;
	err_set(&why, ERR_TIMEOUT, "the broker did not answer in time");
	answer(a, NULL, &why);
}

static const struct op *
op_of(enum broker_type type)
{
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (ops[i].type == type)
			return &ops[i];
	abort();
}

static struct broker_ask *
ask_find(struct broker_call *b, uint32_t number)
{
	struct broker_ask *a;

	TAILQ_FOREACH(a, &b->bucket[number % BUCKETS], next)
		if (a->number == number)
			return a;
	return NULL;
}

static struct broker_ask *
ask(struct broker_call *b, enum broker_type type, const void *body, size_t len,
    int fd, broker_fn *fn, void *arg)
{
	struct broker_ask *a = xcalloc(1, sizeof *a);
	struct err why;

	do /* 0 is the broker's own word */
		a->number = ++b->last;
	while (a->number == 0 || ask_find(b, a->number) != NULL);
	a->of = b;
	a->op = op_of(type);
	a->fn = fn;
	a->arg = arg;
	a->late = watch_timer(b->loop, ask_late, a);
	TAILQ_INSERT_TAIL(&b->bucket[a->number % BUCKETS], a, next);
	b->nask++;
	if (enqueue(b, a, body, len, fd, &why) < 0)
		fail_soon(a, &why);
	else
		watch_arm(a->late, a->op->deadline);
	return a;
}

/* ---- what comes ---- */

static int
on_reply(struct broker_call *b, struct link_msg *m, struct err *err)
{
	struct broker_ask *a = ask_find(b, m->call);
	struct err why;

	if (a == NULL)
		return 0; /* too late: nobody waits */
	if (m->type == BROKER_ERR && m->len == sizeof why) {
		memcpy(&why, m->body, sizeof why);
		why.text[sizeof why.text - 1] = '\0';
		answer(a, NULL, &why);
		return 0;
	}
	if (m->type != BROKER_OK || m->len != a->op->reply ||
	    m->nfd != a->op->nfd)
		return err_set(err, ERR_PROTO,
		    "the broker's reply to %d: type %u, %zu bytes, %u "
		    "descriptors",
		    (int)a->op->type, m->type, m->len, m->nfd);
	answer(a, m, NULL);
	return 0;
}

static int
on_message(struct broker_call *b, struct link_msg *m, struct err *err)
{
	struct broker_exited e;

	if (m->call != 0)
		return on_reply(b, m, err);
	if (m->type == BROKER_EXITED && m->len == sizeof e) {
		memcpy(&e, m->body, sizeof e);
		if (b->exited != NULL)
			b->exited(b->exited_arg, &e);
		return 0;
	}
	if (m->type == BROKER_DRAIN && m->len == 0) {
		if (b->drain != NULL)
			b->drain(b->drain_arg);
		return 0;
	}
	if (m->type == BROKER_RELOAD && m->len == 0 && m->nfd == 1) {
		if (b->reload != NULL)
			b->reload(b->reload_arg, m->fd[0]);
		return 0;
	}
	return err_set(err, ERR_PROTO, "the broker said %u", m->type);
}

static void
readable(void *arg, int what)
{
	static struct link_msg
	    m; /* one thread; callbacks never come back here */
	struct broker_call *b = arg;
	struct err why;

	(void)what;
	for (int i = 0; i < RECV_TURNS && !b->gone; i++) {
		int r = link_recv(b->fd, &m, &why);

		if (r < 0 && why.code == ERR_SYS &&
		    (why.sys == EAGAIN || why.sys == EINTR))
			return;
		if (r == 0)
			r = err_set(&why, ERR_MISSING, "the broker has left");
		if (r > 0) {
			r = on_message(b, &m, &why);
			link_msg_drop(&m);
		}
		if (r < 0)
			end_link(b, &why);
	}
}

struct broker_call *
broker_call_new(struct loop *loop, int fd)
{
	struct broker_call *b = xcalloc(1, sizeof *b);

	b->loop = loop;
	b->fd = fd;
	for (size_t i = 0; i < BUCKETS; i++)
		TAILQ_INIT(&b->bucket[i]);
	STAILQ_INIT(&b->queue);
	b->in = watch_fd(loop, fd, WATCH_READ, readable, b);
	b->out = watch_fd(loop, fd, WATCH_WRITE, writable, b);
	watch_stop(b->out);
	return b;
}

void
broker_call_free(struct broker_call *b)
{
	struct broker_ask *a;
	struct queued *q;

	if (b == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while ((a = TAILQ_FIRST(&b->bucket[i])) != NULL)
			ask_free(a);
	while ((q = STAILQ_FIRST(&b->queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&b->queue, next);
		queued_free(q);
	}
	loop_unpost(b->loop, b);
	watch_free(b->in);
	watch_free(b->out);
	close(b->fd);
	free(b);
}

void
broker_call_on_exited(struct broker_call *b,
    void (*fn)(void *, const struct broker_exited *), void *arg)
{
	b->exited = fn;
	b->exited_arg = arg;
}

void
broker_call_on_drain(struct broker_call *b, void (*fn)(void *), void *arg)
{
	b->drain = fn;
	b->drain_arg = arg;
}

void
broker_call_on_reload(struct broker_call *b, void (*fn)(void *, int), void *arg)
{
	b->reload = fn;
	b->reload_arg = arg;
}

void
broker_call_on_gone(struct broker_call *b,
    void (*fn)(void *, const struct err *), void *arg)
{
	b->left = fn;
	b->left_arg = arg;
}

/* ---- the questions ---- */

static struct broker_ask *
ask_id(struct broker_call *b, enum broker_type type, const uint8_t *id,
    broker_fn *fn, void *arg)
{
	struct broker_id q;

	memcpy(q.id, id, sizeof q.id);
	return ask(b, type, &q, sizeof q, -1, fn, arg);
}

static struct broker_ask *
ask_name(struct broker_call *b, enum broker_type type, const char *name,
    broker_fn *fn, void *arg)
{
	struct broker_name q = { 0 };

	/* Too long a name is cut, and so is unknown; callers check lengths. */
	strncpy(q.name, name, sizeof q.name - 1);
	return ask(b, type, &q, sizeof q, -1, fn, arg);
}

struct broker_ask *
broker_listeners(struct broker_call *b, broker_fn *fn, void *arg)
{
	return ask(b, BROKER_LISTENERS, NULL, 0, -1, fn, arg);
}

struct broker_ask *
broker_model(struct broker_call *b, broker_fn *fn, void *arg)
{
	return ask(b, BROKER_MODEL, NULL, 0, -1, fn, arg);
}

struct broker_ask *
broker_live(struct broker_call *b, uint32_t from, broker_fn *fn, void *arg)
{
	struct broker_page q = { .from = from };

	return ask(b, BROKER_LIVE, &q, sizeof q, -1, fn, arg);
}

struct broker_ask *
broker_build(struct broker_call *b, const struct broker_build *q, broker_fn *fn,
    void *arg)
{
	return ask(b, BROKER_BUILD, q, sizeof *q, -1, fn, arg);
}

struct broker_ask *
broker_attach(struct broker_call *b, const uint8_t *id, broker_fn *fn,
    void *arg)
{
	return ask_id(b, BROKER_ATTACH, id, fn, arg);
}

struct broker_ask *
broker_join(struct broker_call *b, const uint8_t *id, broker_fn *fn, void *arg)
{
	return ask_id(b, BROKER_JOIN, id, fn, arg);
}

struct broker_ask *
broker_stop(struct broker_call *b, const uint8_t *id, broker_fn *fn, void *arg)
{
	return ask_id(b, BROKER_STOP, id, fn, arg);
}

struct broker_ask *
broker_freeze(struct broker_call *b, const uint8_t *id, bool on, broker_fn *fn,
    void *arg)
{
	struct broker_freeze q = { .on = on };

	memcpy(q.id, id, sizeof q.id);
	return ask(b, BROKER_FREEZE, &q, sizeof q, -1, fn, arg);
}

struct broker_ask *
broker_usage(struct broker_call *b, const uint8_t *id, broker_fn *fn, void *arg)
{
	return ask_id(b, BROKER_USAGE, id, fn, arg);
}

struct broker_ask *
broker_import(struct broker_call *b, const char *name, broker_fn *fn, void *arg)
{
	return ask_name(b, BROKER_IMPORT, name, fn, arg);
}

struct broker_ask *
broker_export(struct broker_call *b, const char *name, broker_fn *fn, void *arg)
{
	return ask_name(b, BROKER_EXPORT, name, fn, arg);
}

struct broker_ask *
broker_images(struct broker_call *b, broker_fn *fn, void *arg)
{
	return ask(b, BROKER_IMAGES, NULL, 0, -1, fn, arg);
}

struct broker_ask *
broker_image_rm(struct broker_call *b, const char *name, broker_fn *fn,
    void *arg)
{
	return ask_name(b, BROKER_IMAGE_RM, name, fn, arg);
}
