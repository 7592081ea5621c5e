#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "web/http_int.h"
#include "wire/loop.h"

enum {
	ACCEPTS = 64,      /* in one go; others want their turn */
	BACKOFF_MS = 1000, /* out of descriptors or memory */
	CROWDED_MS = 100,  /* even those who are told 503 are too many */
	GONE_MS = 60000,
	IDLE_ENOUGH_MS = 1000 /* idle for so long, it may lose its place */
};

struct http_listener {
	struct http_listener *next;
	struct http_server *server;
	int fd;
	struct watch *watch, *pause;
};

static void
set_option(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof value);
}

/* A peer that answers nothing for a minute, be it keep-alives or data,
 * has left. */
static void
tune(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, GONE_MS);
}

static void
pause_accept(struct http_listener *l, int64_t ms)
{
	watch_stop(l->watch);
	watch_arm(l->pause, ms);
}

static void
go_on(void *arg, int what)
{
	struct http_listener *l = arg;

	(void)what;
	watch_go(l->watch);
}

/* A new connection is worth more than one that has idled for a while. */
static void
make_room(struct http_server *s)
{
	struct http_conn *c = TAILQ_FIRST(&s->idle);

	if (c != NULL && c->phase_at + IDLE_ENOUGH_MS <= clock_ms()) {
		s->nconn--;
		s->nexcess++;
		c->excess = true;
		conn_die(c);
	}
}

static void
admit(struct http_server *s, int fd)
{
	struct http_conn *c;
	bool excess;

	if (s->nconn >= s->conf.limits.connections)
		make_room(s);
	excess = s->nconn >= s->conf.limits.connections;
	if (!s->conf.local)
		tune(fd);
	excess ? s->nexcess++ : s->nconn++;
	excess ? s->stats.refused++ : s->stats.accepted++;
	c = conn_new(s, fd, excess);
	TAILQ_INSERT_TAIL(&s->conns, c, next);
}

/* The next one may do better; anything else would be told for ever. */
static bool
only_this_one(int error)
{
	return error == ECONNABORTED || error == EINTR || error == EPROTO;
}

static void
accept_some(void *arg, int what)
{
	struct http_listener *l = arg;
	struct http_server *s = l->server;

	(void)what;
	for (int i = 0; i < ACCEPTS; i++) {
		int fd;

		if (s->nexcess >= REFUSE_MAX) {
			pause_accept(l, CROWDED_MS);
			return;
		}
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			admit(s, fd);
		else if (errno == EAGAIN)
			return;
		else if (!only_this_one(errno)) {
			log_say(LOG_WARN, "no more connections", "why",
			    strerrorname_np(errno), NULL);
			pause_accept(l, BACKOFF_MS);
			return;
		}
	}
}

struct http_server *
http_server_new(const struct http_server_conf *conf)
{
	struct http_server *s = xcalloc(1, sizeof *s);

	/* A peer that left is told by the write, not by a signal. */
	signal(SIGPIPE, SIG_IGN);
	s->conf = *conf;
	TAILQ_INIT(&s->conns);
	TAILQ_INIT(&s->idle);
	return s;
}

void
http_server_listen(struct http_server *s, int fd)
{
	struct http_listener *l = xcalloc(1, sizeof *l);

	l->server = s;
	l->fd = fd;
	l->watch = watch_fd(s->conf.loop, fd, WATCH_READ, accept_some, l);
	l->pause = watch_timer(s->conf.loop, go_on, l);
	l->next = s->listeners;
	s->listeners = l;
}

static void
stop_listening(struct http_server *s)
{
	struct http_listener *l;

	while ((l = s->listeners) != NULL) {
		s->listeners = l->next;
		watch_free(l->watch);
		watch_free(l->pause);
		close(l->fd);
		free(l);
	}
}

void
http_server_drain(struct http_server *s)
{
	struct http_conn *c;

	s->draining = true;
	stop_listening(s);
	while ((c = TAILQ_FIRST(&s->idle)) != NULL)
		conn_die(c);
}

unsigned
http_server_busy(const struct http_server *s)
{
	return s->nbusy;
}

void
http_server_stats(const struct http_server *s, struct http_stats *out)
{
	*out = s->stats;
	out->connections = s->nconn;
}

void
http_server_free(struct http_server *s)
{
	struct http_conn *c;

	stop_listening(s);
	while ((c = TAILQ_FIRST(&s->conns)) != NULL) {
		if (c->req != NULL && !c->dead)
			sock_reset(c->sock);
		conn_free(c);
	}
	free(s);
}

void
server_forget(struct http_conn *c)
{
	struct http_server *s = c->server;

	TAILQ_REMOVE(&s->conns, c, next);
	if (c->excess)
		s->nexcess--;
	else
		s->nconn--;
}

/* "date: ...\r\n", made once a second. */
const char *
server_date(struct http_server *s)
{
	time_t now = time(NULL);
	struct tm tm;

	if (now == (time_t)s->date_at)
		return s->date;
	s->date_at = now;
	gmtime_r(&now, &tm);
	strftime(s->date, sizeof s->date, "date: %a, %d %b %Y %T GMT\r\n", &tm);
	return s->date;
}
