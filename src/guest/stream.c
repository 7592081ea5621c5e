#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/own.h"
#include "base/utf8.h"
#include "guest/event.h"
#include "guest/inner.h"
#include "guest/request.h"
#include "wire/loop.h"

#define READ_SIZE (64 * 1024)
#define READ_TURNS 4 /* reads a round, so that no guest starves others */

/* One process has one thread: one space and one buffer do for all guests. */
static struct event_space *space;
static uint8_t buffer[READ_SIZE];

/* ---- the end of the stream ---- */

static void
announce(void *arg)
{
	struct guest *g = arg;

	g->owner.gone(g->owner.arg, &g->why);
}

static void
break_stream(struct guest *g, const struct err *why)
{
	if (g->broken)
		return;
	g->broken = true;
	g->ready = false;
	g->why = *why;
	watch_stop(g->in);
	watch_stop(g->out);
	watch_stop(g->hello);
	loop_post(g->loop, announce, g);
}

static void
destroy(struct guest *g)
{
	watch_free(g->in);
	watch_free(g->out);
	watch_free(g->hello);
	close(g->fd);
	frame_reader_free(&g->reader);
	str_free(&g->queue);
	registry_free(&g->tools);
	free(g);
}

void
guest_free(struct guest *g)
{
	struct err why;

	err_set(&why, ERR_BUSY, "the sandbox was stopped");
	guest_end(g, &why);
}

void
guest_end(struct guest *g, const struct err *why)
{
	if (g == NULL)
		return;
	calls_end(g, why);
	loop_unpost(g->loop, g);
	g->broken = true;
	g->freed = true;
	if (g->busy == 0)
		destroy(g);
}

static void
leave(struct guest *g)
{
	if (--g->busy == 0 && g->freed)
		destroy(g);
}

/* ---- sending ---- */

size_t
guest_unsent(const struct guest *g)
{
	return g->queue.len - g->sent;
}

static void
flush(struct guest *g)
{
	struct err why;
	ssize_t n = 0;

	while (!g->broken && guest_unsent(g) > 0) {
		n = send(g->fd, g->queue.at + g->sent, guest_unsent(g),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			break;
		g->sent += (size_t)n;
	}
	if (n < 0 && errno == EINTR)
		n = 0;
	if (n < 0 && errno != EAGAIN) {
		err_sys(&why, "send");
		break_stream(g, &why);
		return;
	}
	if (guest_unsent(g) == 0 || g->sent > QUEUE_HIGH) {
		str_drop(&g->queue, g->sent);
		g->sent = 0;
	}
	if (g->queue.room > QUEUE_STUCK && guest_unsent(g) == 0)
		str_free(&g->queue);
}

void
guest_push(struct guest *g)
{
	if (g->broken)
		return;
	flush(g);
	if (!g->broken && guest_unsent(g) > 0)
		watch_go(g->out);
}

static void
writable(void *arg, int what)
{
	struct guest *g = arg;

	(void)what;
	g->busy++;
	flush(g);
	if (!g->broken && guest_unsent(g) == 0)
		watch_stop(g->out);
	calls_room(g);
	leave(g);
}

/* ---- receiving ---- */

static int
on_hello(struct guest *g, struct guest_call *c, const Guest__Event *e,
    struct err *err)
{
	(void)c;
	if (g->ready)
		return err_set(err, ERR_PROTO, "a second Hello");
	if (e->hello->generation != g->generation)
		return 0; /* of the stream before ours */
	registry_copy(&g->tools, e->hello);
	watch_stop(g->hello);
	g->ready = true;
	g->owner.hello(g->owner.arg);
	return 0;
}

static int
on_output(struct guest *g, struct guest_call *c, const Guest__Event *e,
    struct err *err)
{
	const ProtobufCBinaryData *d = &e->output->data;

	(void)g;
	if (d->len > c->credit)
		return err_set(err, ERR_PROTO,
		    "%zu bytes of Output, "
		    "%u allowed",
		    d->len, c->credit);
	c->credit -= (uint32_t)d->len;
	if (c->sink == NULL)
		guest_took(c, d->len);
	else if (d->len > 0)
		c->sink->output(c->arg, (int)e->output->stream, d->data,
		    d->len);
	return 0;
}

static int
on_credit(struct guest *g, struct guest_call *c, const Guest__Event *e,
    struct err *err)
{
	(void)g;
	if (c->room + e->credit->bytes > EVENT_CREDIT)
		return err_set(err, ERR_PROTO, "Credit beyond %u bytes",
		    EVENT_CREDIT);
	c->room += e->credit->bytes;
	if (c->sink != NULL && c->sink->room != NULL && guest_room(c) > 0)
		c->sink->room(c->arg);
	return 0;
}

static int
on_entry(struct guest *g, struct guest_call *c, const Guest__Event *e,
    struct err *err)
{
	const Guest__Entry *n = e->entry;
	struct guest_entry entry = {
		.path = n->path.data,
		.name = n->name.data,
		.path_len = n->path.len,
		.name_len = n->name.len,
		.type = (enum entry_type)n->type,
		.size = n->size,
		.mtime_ms = n->mtime_ms,
	};

	(void)g;
	(void)err;
	if (++c->entries > ENTRIES_MAX) {
		struct err why;

		err_set(&why, ERR_LIMIT, "more than %d entries", ENTRIES_MAX);
		guest_cancel(c);
		call_abandon(c, &why, false);
	} else if (c->sink != NULL && c->sink->entry != NULL) {
		c->sink->entry(c->arg, &entry);
	}
	return 0;
}

/* The agent's reason: people read it, so it is made text. */
static void
done_reason(const Guest__Done *d, struct err *why)
{
	auto_str struct str text = { 0 };
	size_t n = strnlen(d->text, sizeof why->text * 4);

	utf8_clean(&text, d->text, n);
	if (text.len >= sizeof why->text)
		str_cut(&text, utf8_span(text.at, sizeof why->text - 1));
	err_set(why, (enum err_code)(d->code - 1), "%s", str_text(&text));
}

static int
on_done(struct guest *g, struct guest_call *c, const Guest__Event *e,
    struct err *err)
{
	const Guest__Done *d = e->done;
	struct err why = { 0 };
	struct guest_done done = {
		.err = d->code != 0 ? &why : NULL,
		.has_exit = d->has_exit,
		.running = d->running,
		.flag = d->flag,
		.exit = d->exit,
		.cut_out = d->cut_out,
		.cut_err = d->cut_err,
	};

	(void)g;
	(void)err;
	if (d->code != 0)
		done_reason(d, &why);
	call_unlink(c);
	call_tell(c, &done);
	call_free(c);
	return 0;
}

static int
on_pong(struct guest *g, struct guest_call *c, const Guest__Event *e,
    struct err *err)
{
	(void)g;
	(void)c;
	(void)e;
	(void)err;
	return 0;
}

/* clang-format off */
static const struct {
	Guest__Event__KindCase kind;
	bool of_call;
	int (*on)(struct guest *, struct guest_call *, const Guest__Event *,
	    struct err *);
} rows[] = {
	{ GUEST__EVENT__KIND_HELLO,	false,	on_hello },
	{ GUEST__EVENT__KIND_OUTPUT,	true,	on_output },
	{ GUEST__EVENT__KIND_DONE,	true,	on_done },
	{ GUEST__EVENT__KIND_CREDIT,	true,	on_credit },
	{ GUEST__EVENT__KIND_ENTRY,	true,	on_entry },
	{ GUEST__EVENT__KIND_PONG,	false,	on_pong },
};
/* clang-format on */

static int
on_event(struct guest *g, const Guest__Event *e, struct err *err)
{
	struct guest_call *c = NULL;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].kind != e->kind_case)
			continue;
		if (!rows[i].of_call)
			return rows[i].on(g, NULL, e, err);
		if (!g->ready)
			return err_set(err, ERR_PROTO, "an Event before Hello");
		c = call_find(g, e->call);
		/* A call that nobody waits for any more: not an offence. */
		return c == NULL ? 0 : rows[i].on(g, c, e, err);
	}
	return err_set(err, ERR_PROTO, "Event of kind %d", (int)e->kind_case);
}

static int
take_frames(struct guest *g, struct err *err)
{
	const uint8_t *at;
	size_t n;
	int r;

	while (!g->broken && (r = frame_next(&g->reader, &at, &n, err)) != 0) {
		const Guest__Event *e;

		if (r < 0 || (e = event_decode(space, at, n, err)) == NULL ||
		    on_event(g, e, err) < 0)
			return -1;
	}
	return 0;
}

static int
pull(struct guest *g, struct err *err)
{
	for (int turn = 0; turn < READ_TURNS && !g->broken; turn++) {
		ssize_t n = recv(g->fd, buffer, sizeof buffer, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0)
			return err_sys(err, "receive");
		if (n == 0)
			return err_set(err, ERR_MISSING, "it ended");
		frame_feed(&g->reader, buffer, (size_t)n);
		if (take_frames(g, err) < 0)
			return -1;
		if ((size_t)n < sizeof buffer)
			return 0;
	}
	return 0;
}

static void
readable(void *arg, int what)
{
	struct guest *g = arg;
	struct err why;

	(void)what;
	g->busy++;
	if (pull(g, &why) < 0)
		break_stream(g, &why);
	leave(g);
}

static void
no_hello(void *arg, int what)
{
	struct err why;

	(void)what;
	err_set(&why, ERR_TIMEOUT, "no Hello in time");
	break_stream(arg, &why);
}

/* ---- what callers do ---- */

struct guest *
guest_new(const struct guest_conf *conf)
{
	struct guest *g = xcalloc(1, sizeof *g);
	struct err why;

	if (space == NULL)
		space = event_space_new();
	g->loop = conf->loop;
	g->owner = conf->owner;
	g->fd = conf->fd;
	g->generation = conf->generation;
	g->early = conf->early;
	for (size_t i = 0; i < BUCKETS; i++)
		TAILQ_INIT(&g->bucket[i]);
	g->in = watch_fd(g->loop, g->fd, WATCH_READ, readable, g);
	g->out = watch_fd(g->loop, g->fd, WATCH_WRITE, writable, g);
	g->hello = watch_timer(g->loop, no_hello, g);
	watch_stop(g->out);
	watch_arm(g->hello, conf->hello_ms);
	if (request_setup(&g->queue, conf, &why) < 0)
		break_stream(g, &why);
	else
		guest_push(g);
	return g;
}

bool
guest_ready(const struct guest *g)
{
	return g != NULL && g->ready;
}

const struct guest_tool *
guest_tool(const struct guest *g, size_t index)
{
	return index < g->tools.n ? &g->tools.tool[index] : NULL;
}
