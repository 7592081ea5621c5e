#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "web/sock.h"
#include "wire/loop.h"

struct sock {
	struct bufferevent *bev;
	struct evbuffer *in, *out;
	const struct sock_calls *calls;
	void *arg;
	int64_t sent_at;
};

void
sock_pump(struct sock *s)
{
	size_t n, used;

	while ((n = evbuffer_get_contiguous_space(s->in)) > 0) {
		used = s->calls->input(s->arg,
		    evbuffer_pullup(s->in, (ev_ssize_t)n), n);
		evbuffer_drain(s->in, used);
		if (used < n)
			break;
	}
}

static void
on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	sock_pump(arg);
}

static void
on_written(struct bufferevent *bev, void *arg)
{
	struct sock *s = arg;

	(void)bev;
	s->calls->sent(s->arg);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct sock *s = arg;
	int error = EVUTIL_SOCKET_ERROR();

	(void)bev;
	if (what & BEV_EVENT_EOF)
		s->calls->eof(s->arg);
	else if (what & BEV_EVENT_ERROR)
		s->calls->failed(s->arg, error);
}

static void
moved(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
	struct sock *s = arg;

	(void)out;
	if (info->n_deleted > 0 || info->orig_size == 0)
		s->sent_at = clock_ms();
}

struct sock *
sock_new(struct loop *loop, int fd, const struct sock_calls *calls, void *arg)
{
	struct sock *s = xcalloc(1, sizeof *s);

	s->calls = calls;
	s->arg = arg;
	s->bev =
	    bufferevent_socket_new(loop_base(loop), fd, BEV_OPT_CLOSE_ON_FREE);
	if (s->bev == NULL)
		abort(); /* as xmalloc does */
	s->in = bufferevent_get_input(s->bev);
	s->out = bufferevent_get_output(s->bev);
	evbuffer_add_cb(s->out, moved, s);
	bufferevent_setcb(s->bev, on_read, on_written, on_event, s);
	bufferevent_enable(s->bev, EV_WRITE);
	return s;
}

void
sock_free(struct sock *s)
{
	bufferevent_free(s->bev);
	free(s);
}

void
sock_reset(struct sock *s)
{
	struct linger hard = { .l_onoff = 1 };

	setsockopt(bufferevent_getfd(s->bev), SOL_SOCKET, SO_LINGER, &hard,
	    sizeof hard);
}

void
sock_reading(struct sock *s, bool on)
{
	bool is = bufferevent_get_enabled(s->bev) & EV_READ;

	if (on && !is)
		bufferevent_enable(s->bev, EV_READ);
	else if (!on && is)
		bufferevent_disable(s->bev, EV_READ);
}

size_t
sock_waiting(const struct sock *s)
{
	return evbuffer_get_length(s->in);
}

void
sock_write(struct sock *s, const void *bytes, size_t n)
{
	if (evbuffer_add(s->out, bytes, n) < 0)
		abort();
}

size_t
sock_backlog(const struct sock *s)
{
	return evbuffer_get_length(s->out);
}

void
sock_low(struct sock *s, size_t low)
{
	bufferevent_setwatermark(s->bev, EV_WRITE, low, 0);
}

int64_t
sock_sent_at(const struct sock *s)
{
	return s->sent_at;
}

void
sock_shut(struct sock *s)
{
	shutdown(bufferevent_getfd(s->bev), SHUT_WR);
}

bool
sock_gone(const struct sock *s)
{
	struct pollfd p = { .fd = bufferevent_getfd(s->bev) };

	/* A half-closed peer is POLLRDHUP alone: not gone. */
	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}
