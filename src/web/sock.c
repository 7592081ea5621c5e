#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/str.h"
#include "web/sock.h"
#include "wire/loop.h"

/* libevent's events and buffers, without its bufferevents: HACKING says why. */
struct sock {
	int fd;
	struct event *readable, *writable;
	struct evbuffer *in, *out;
	const struct sock_calls *calls;
	void *arg;
	size_t low;
	int64_t sent_at;
	bool reading;
	bool flushing; /* a flush is due, or waits for the kernel */
};

/* Read here, and mostly used up before the next read of whatever sock. */
static uint8_t scratch[65536];

static void *
need(void *p)
{
	if (p == NULL)
		abort(); /* as xmalloc does */
	return p;
}

static void
offer(struct sock *s, const uint8_t *bytes, size_t n)
{
	size_t used = s->calls->input(s->arg, bytes, n);

	if (used < n && evbuffer_add(s->in, bytes + used, n - used) < 0)
		abort();
}

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
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct sock *s = arg;
	ssize_t n = read(fd, scratch, sizeof scratch);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		s->calls->failed(s->arg, errno);
	else if (n == 0) {
		sock_reading(s, false);
		s->calls->eof(s->arg);
	} else if (evbuffer_get_length(s->in) == 0)
		offer(s, scratch, (size_t)n);
	else {
		/* Something waits: these come after it. */
		if (evbuffer_add(s->in, scratch, (size_t)n) < 0)
			abort();
		sock_pump(s);
	}
}

static void
wait_for_room(struct sock *s)
{
	s->flushing = true;
	if (event_add(s->writable, NULL) < 0)
		abort();
}

/*
 * What the callback writes is not sent at once but waits for the loop: a
 * source that never ends must not keep the others from their turn.
 */
static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct sock *s = arg;
	int n = evbuffer_write(s->out, fd);

	(void)what;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		s->calls->failed(s->arg, errno);
		return;
	}
	if (n > 0)
		s->sent_at = clock_ms();
	if (evbuffer_get_length(s->out) <= s->low)
		s->calls->sent(s->arg);
	s->flushing = false;
	if (evbuffer_get_length(s->out) > 0)
		wait_for_room(s);
}

struct sock *
sock_new(struct loop *loop, int fd, const struct sock_calls *calls, void *arg)
{
	struct sock *s = xcalloc(1, sizeof *s);
	struct event_base *base = loop_base(loop);

	s->fd = fd;
	s->calls = calls;
	s->arg = arg;
	s->in = need(evbuffer_new());
	s->out = need(evbuffer_new());
	s->readable =
	    need(event_new(base, fd, EV_READ | EV_PERSIST, on_readable, s));
	s->writable = need(event_new(base, fd, EV_WRITE, on_writable, s));
	return s;
}

void
sock_free(struct sock *s)
{
	event_free(s->readable);
	event_free(s->writable);
	evbuffer_free(s->in);
	evbuffer_free(s->out);
	close(s->fd);
	free(s);
}

void
sock_reset(struct sock *s)
{
	struct linger hard = { .l_onoff = 1 };

	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

void
sock_reading(struct sock *s, bool on)
{
	if (on == s->reading)
		return;
	s->reading = on;
	if ((on ? event_add(s->readable, NULL) : event_del(s->readable)) < 0)
		abort();
}

size_t
sock_waiting(const struct sock *s)
{
	return evbuffer_get_length(s->in);
}

/* Sent when the callbacks that run now are done: one call of the kernel. */
void
sock_write(struct sock *s, const void *bytes, size_t n)
{
	if (evbuffer_get_length(s->out) == 0)
		s->sent_at = clock_ms();
	if (evbuffer_add(s->out, bytes, n) < 0)
		abort();
	if (!s->flushing)
		event_active(s->writable, EV_WRITE, 0);
	s->flushing = true;
}

size_t
sock_backlog(const struct sock *s)
{
	return evbuffer_get_length(s->out);
}

void
sock_low(struct sock *s, size_t low)
{
	s->low = low;
}

int64_t
sock_sent_at(const struct sock *s)
{
	return s->sent_at;
}

void
sock_shut(struct sock *s)
{
	shutdown(s->fd, SHUT_WR);
}

bool
sock_gone(const struct sock *s)
{
	struct pollfd p = { .fd = s->fd };

	/* A half-closed peer is POLLRDHUP alone: not gone. */
	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}
