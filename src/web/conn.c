#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "web/http_int.h"
#include "wire/loop.h"

static void settle(struct http_conn *);

/* ---- idle ones: the server may want their place ---- */

static void
idle_enter(struct http_conn *c)
{
	if (c->idling)
		return;
	TAILQ_INSERT_TAIL(&c->server->idle, c, idle);
	c->idling = true;
}

static void
idle_leave(struct http_conn *c)
{
	if (!c->idling)
		return;
	TAILQ_REMOVE(&c->server->idle, c, idle);
	c->idling = false;
}

/* ---- ends ---- */

static void
drop_req(struct http_conn *c)
{
	struct http_req *r = c->req;

	c->req = NULL;
	if (r != NULL)
		req_free(r);
}

void
conn_die(struct http_conn *c)
{
	if (c->dead)
		return;
	c->dead = true;
	idle_leave(c);
	sock_reading(c->sock, false);
	watch_stop(c->timer);
	drop_req(c);
	conn_post(c);
}

void
conn_free(struct http_conn *c)
{
	idle_leave(c);
	drop_req(c);
	server_forget(c);
	loop_unpost(c->server->conf.loop, c);
	watch_free(c->timer);
	sock_free(c->sock);
	parse_free(&c->parse);
	free(c);
}

/*
 * All is said.  Closing now with bytes unread would reset the connection and
 * the peer might lose the reply: say that we are done, and hear it out.
 */
static void
linger(struct http_conn *c)
{
	c->in = IN_LINGER;
	c->phase_at = clock_ms();
	if (c->eof) {
		conn_die(c);
		return;
	}
	if (!c->shut)
		sock_shut(c->sock);
	c->shut = true;
}

static void
begin_next(struct http_conn *c)
{
	parse_reset(&c->parse);
	c->in = IN_HEAD;
	c->out = OUT_NONE;
	c->used = true;
	c->phase_at = clock_ms();
	if (c->server->draining)
		linger(c);
	else
		idle_enter(c);
}

bool
conn_is_near_end(const struct http_conn *c)
{
	int64_t left = parse_left(&c->parse);

	return c->in == IN_DONE ||
	    (left >= 0 && left <= DISCARD_MAX &&
		(left == 0 || !c->parse.expect));
}

/* The reply is ended and the kernel has all of it. */
static void
finish(struct http_conn *c)
{
	drop_req(c);
	if (c->in == IN_LINGER && c->shut)
		return;
	if (!c->keep || !conn_is_near_end(c))
		linger(c);
	else if (c->in == IN_DONE)
		begin_next(c);
}

/* The request can't be read to its end: answer if there is still time to. */
static void
fail(struct http_conn *c, int status, const char *why)
{
	c->in = IN_LINGER;
	c->phase_at = clock_ms();
	c->keep = false;
	c->server->stats.bad++;
	if (c->out == OUT_OPEN)
		c->cut = true;
	else if (c->out == OUT_NONE) {
		drop_req(c);
		reply_conn_error(c, status, why);
	}
}

/* ---- what comes in ---- */

/* Does the request's owner take bytes now? */
static bool
wanted(const struct http_conn *c, const struct http_req *r)
{
	if (r == NULL || c->out == OUT_ENDED)
		return true; /* they are thrown away */
	if (!r->handled)
		return true; /* they are collected */
	if (c->in == IN_BODY && r->row->reply == REPLY_TUNNEL)
		return false; /* not before it is one */
	return r->on_body != NULL && !r->paused;
}

static bool
takes(const struct http_conn *c)
{
	if (c->dead || c->cut || c->in == IN_DONE)
		return false;
	return c->in == IN_HEAD || c->in == IN_LINGER || wanted(c, c->req);
}

static void
got_more(struct http_conn *c, const uint8_t *data, size_t n)
{
	(void)c;
	(void)data;
	(void)n;
}

static void
got_head(struct http_conn *c, const uint8_t *data, size_t n)
{
	(void)data;
	(void)n;
	c->in = IN_BODY;
	c->phase_at = clock_ms();
	c->req = req_new(c);
	req_begin(c->req);
}

static void
got_data(struct http_conn *c, const uint8_t *data, size_t n)
{
	c->phase_at = clock_ms();
	c->parse.expect = false;
	if (c->req != NULL)
		req_piece(c->req, data, n);
}

static void
got_done(struct http_conn *c, const uint8_t *data, size_t n)
{
	(void)data;
	(void)n;
	c->in = IN_DONE;
	c->parse.expect = false;
	if (c->req != NULL)
		req_body_end(c->req);
	else if (c->keep)
		begin_next(c);
}

static void
got_bad(struct http_conn *c, const uint8_t *data, size_t n)
{
	(void)data;
	(void)n;
	fail(c, c->parse.status, c->parse.why);
}

/* True: there may be more to do with what is left. */
static bool
eat_request(struct http_conn *c, const uint8_t *bytes, size_t n, size_t *used)
{
	/* clang-format off */
	static void (*const got[])(struct http_conn *, const uint8_t *,
	    size_t) = {
		[PARSE_MORE] = got_more,
		[PARSE_HEAD] = got_head,
		[PARSE_DATA] = got_data,
		[PARSE_DONE] = got_done,
		[PARSE_BAD]  = got_bad,
	};
	/* clang-format on */
	const uint8_t *data;
	size_t ndata;
	enum parse_event ev;

	if (n > 0 && c->idling) {
		idle_leave(c);
		if (c->used)
			c->phase_at = clock_ms();
	}
	ev = parse_feed(&c->parse, bytes, n, used, &data, &ndata);
	got[ev](c, data, ndata);
	return ev != PARSE_MORE;
}

static bool
eat_tunnel(struct http_conn *c, const uint8_t *bytes, size_t n, size_t *used)
{
	*used = n;
	if (n > 0 && c->req != NULL)
		req_piece(c->req, bytes, n);
	return false;
}

static bool
eat_rest(struct http_conn *c, const uint8_t *bytes, size_t n, size_t *used)
{
	(void)bytes;
	*used = n;
	c->discarded += n;
	if (c->discarded > LINGER_BYTES)
		conn_die(c);
	return false;
}

static size_t
on_input(void *arg, const uint8_t *bytes, size_t n)
{
	/* clang-format off */
	static bool (*const eat[])(struct http_conn *, const uint8_t *, size_t,
	    size_t *) = {
		[IN_HEAD]   = eat_request,
		[IN_BODY]   = eat_request,
		[IN_TUNNEL] = eat_tunnel,
		[IN_LINGER] = eat_rest,
	};
	/* clang-format on */
	struct http_conn *c = arg;
	size_t used = 0, got;
	bool more = true;

	while (more && takes(c)) {
		more = eat[c->in](c, bytes + used, n - used, &got);
		used += got;
	}
	settle(c);
	return used;
}

/* The peer's last byte has been used: what does its end mean here? */
static void
ended(struct http_conn *c)
{
	bool inside =
	    c->in == IN_BODY || (c->in == IN_HEAD && parse_begun(&c->parse));

	if (c->in == IN_TUNNEL && c->out == OUT_OPEN && c->req != NULL) {
		if (!c->told)
			c->req->on_body(c->req, NULL, 0);
		c->told = true;
	} else if (inside)
		fail(c, 400, "the request ended early");
	else if (c->in == IN_HEAD ||
	    (c->out == OUT_ENDED && sock_backlog(c->sock) == 0))
		conn_die(c);
	settle(c);
}

/* All that can be done now, from the loop and never from within on_input. */
static void
step(struct http_conn *c)
{
	settle(c);
	if (!c->dead)
		on_input(c, (const uint8_t *)"", 0);
	if (!c->dead)
		sock_pump(c->sock);
	if (!c->dead && c->eof && takes(c) && sock_waiting(c->sock) == 0)
		ended(c);
}

/*
 * A client that has gone looks like one that has only said all: what is sent
 * to it tells them apart, for the kernel of the first answers with a reset.
 */
static void
ask_back(struct http_conn *c)
{
	c->probe_at = clock_ms();
	if (c->req == NULL || c->in != IN_DONE)
		return;
	if (c->out == OUT_NONE && c->parse.minor > 0)
		reply_interim(c);
	else if (c->out == OUT_OPEN && c->req->half_closed != NULL)
		c->req->half_closed(c->req);
}

static void
on_eof(void *arg)
{
	struct http_conn *c = arg;

	c->eof = true;
	if (sock_gone(c->sock))
		conn_die(c);
	else
		ask_back(c);
	step(c);
}

static void
on_sent(void *arg)
{
	struct http_conn *c = arg;

	if (c->req != NULL)
		req_drained(c->req);
	step(c);
}

static void
on_failed(void *arg, int error)
{
	(void)error;
	conn_die(arg);
}

static void
turn(void *arg)
{
	struct http_conn *c = arg;

	c->posted = false;
	if (c->dead)
		conn_free(c);
	else
		step(c);
}

void
conn_post(struct http_conn *c)
{
	if (c->posted)
		return;
	c->posted = true;
	loop_post(c->server->conf.loop, turn, c);
}

/* ---- deadlines ---- */

#define NEVER INT64_MAX

static int64_t
until_head(struct http_conn *c)
{
	if (c->in != IN_HEAD || (c->used && !parse_begun(&c->parse)))
		return NEVER;
	return c->phase_at + c->server->conf.limits.head_ms;
}

static void
late_head(struct http_conn *c)
{
	if (parse_begun(&c->parse))
		fail(c, 408, "the head took too long");
	else
		conn_die(c);
}

static int64_t
until_idle(struct http_conn *c)
{
	if (c->in != IN_HEAD || !c->used || parse_begun(&c->parse))
		return NEVER;
	return c->phase_at + c->server->conf.limits.idle_ms;
}

static int64_t
until_body(struct http_conn *c)
{
	if (c->in != IN_BODY || !c->taking)
		return NEVER;
	return c->phase_at + c->server->conf.limits.body_ms;
}

static void
late_body(struct http_conn *c)
{
	fail(c, 408, "the body made no progress");
}

static int64_t
until_linger(struct http_conn *c)
{
	return c->shut ? c->phase_at + LINGER_MS : NEVER;
}

static int64_t
until_write(struct http_conn *c)
{
	if (sock_backlog(c->sock) == 0)
		return NEVER;
	return sock_sent_at(c->sock) + c->server->conf.limits.write_ms;
}

static void
late_write(struct http_conn *c)
{
	c->cut = true;
}

/* A peer's reset is only seen by reading; without, look. */
static int64_t
until_probe(struct http_conn *c)
{
	if (c->req == NULL || c->reading)
		return NEVER;
	return c->probe_at + (c->eof ? PROBE_EOF_MS : PROBE_MS);
}

static void
probe(struct http_conn *c)
{
	c->probe_at = clock_ms();
	if (sock_gone(c->sock))
		conn_die(c);
}

/* clang-format off */
static const struct {
	int64_t (*until)(struct http_conn *);
	void (*act)(struct http_conn *);
} deadlines[] = {
	{ until_head,	late_head },
	{ until_idle,	conn_die },
	{ until_body,	late_body },
	{ until_linger,	conn_die },
	{ until_write,	late_write },
	{ until_probe,	probe },
};
/* clang-format on */

#define DEADLINES (sizeof deadlines / sizeof *deadlines)

/* The timer is only ever moved forward to an earlier time: it costs a little
 * to be woken too soon, now and then, and nothing for each request. */
static void
rearm(struct http_conn *c)
{
	int64_t due = NEVER, now;

	for (size_t i = 0; i < DEADLINES; i++) {
		int64_t at = deadlines[i].until(c);

		due = at < due ? at : due;
	}
	if (due == NEVER || (c->armed != 0 && c->armed <= due))
		return;
	now = clock_ms();
	c->armed = due;
	watch_arm(c->timer, due > now ? due - now : 0);
}

static void
on_timer(void *arg, int what)
{
	struct http_conn *c = arg;
	int64_t now = clock_ms();

	(void)what;
	c->armed = 0;
	for (size_t i = 0; i < DEADLINES && !c->dead; i++)
		if (deadlines[i].until(c) <= now)
			deadlines[i].act(c);
	step(c);
}

/* Bring reading, deadlines and phase in line with what has happened. */
static void
settle(struct http_conn *c)
{
	bool taking, reading;

	if (!c->dead && c->cut) {
		sock_reset(c->sock);
		conn_die(c);
	}
	if (!c->dead && c->out == OUT_ENDED && sock_backlog(c->sock) == 0)
		finish(c);
	if (c->dead)
		return;
	taking = takes(c);
	if (taking && !c->taking)
		c->phase_at = clock_ms();
	if (taking)
		reply_continue(c);
	reading = !c->eof &&
	    (taking ||
		(c->in == IN_DONE && sock_waiting(c->sock) < WAITING_MAX));
	if (!reading && c->reading)
		c->probe_at = clock_ms();
	c->taking = taking;
	c->reading = reading;
	sock_reading(c->sock, reading);
	rearm(c);
}

struct http_conn *
conn_new(struct http_server *s, int fd, bool excess)
{
	static const struct sock_calls calls = { .input = on_input,
		.eof = on_eof,
		.sent = on_sent,
		.failed = on_failed };
	struct http_conn *c = xcalloc(1, sizeof *c);

	c->server = s;
	c->excess = excess;
	c->sock = sock_new(s->conf.loop, fd, &calls, c);
	sock_low(c->sock, s->conf.limits.out_high / 2);
	c->timer = watch_timer(s->conf.loop, on_timer, c);
	parse_init(&c->parse);
	c->phase_at = clock_ms();
	c->taking = true;
	if (excess)
		fail(c, 503, "too many connections");
	else
		idle_enter(c);
	settle(c);
	return c;
}
