#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "daemon/admin.h"
#include "daemon/broker.h"
#include "daemon/listen.h"
#include "wire/loop.h"

#define GUESTS_MOST 8
#define STAY_MS 10000

struct guest {
	struct admin *of;
	struct peer *peer;
	struct watch *deadline;
	TAILQ_ENTRY(guest) next;
};

struct admin {
	struct broker *broker;
	int listener;
	char *path;
	struct watch *in;
	TAILQ_HEAD(, guest) guests;
	unsigned n;
};

static void
leave(struct guest *g)
{
	struct admin *a = g->of;

	TAILQ_REMOVE(&a->guests, g, next);
	if (a->n-- == GUESTS_MOST)
		watch_go(a->in);
	watch_free(g->deadline);
	peer_free(g->peer);
	free(g);
}

static int
on_message(void *arg, struct peer *p, struct link_msg *m, struct err *err)
{
	struct guest *g = arg;

	return broker_serve(g->of->broker, p, m, err);
}

static void
on_gone(void *arg, struct peer *p)
{
	(void)p;
	leave(arg);
}

static void
too_long(void *arg, int what)
{
	(void)what;
	leave(arg);
}

static void
incoming(void *arg, int what)
{
	struct admin *a = arg;
	int fd = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof who;
	struct guest *g;

	(void)what;
	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 ||
	    who.uid != 0) {
		log_say(LOG_WARN, "admin socket: not root", NULL);
		close(fd);
		return;
	}
	g = xcalloc(1, sizeof *g);
	g->of = a;
	g->peer = peer_new(a->broker->loop, fd, ROLE_ADMIN, "admin", on_message,
	    on_gone, g);
	g->deadline = watch_timer(a->broker->loop, too_long, g);
	watch_arm(g->deadline, STAY_MS);
	TAILQ_INSERT_TAIL(&a->guests, g, next);
	if (++a->n == GUESTS_MOST)
		watch_stop(a->in);
}

char *
admin_path(const char *native)
{
	const char *slash = strrchr(native, '/');

	return xasprintf("%.*s/%s", (int)(slash - native), native,
	    BROKER_ADMIN_SOCKET);
}

struct admin *
admin_open(struct broker *b, struct err *err)
{
	auto_free char *path = admin_path(b->config->socket);
	int fd = listen_unix(path, SOCK_SEQPACKET, 0600, (gid_t)-1, err);
	struct admin *a;

	if (fd < 0)
		return NULL;
	a = xcalloc(1, sizeof *a);
	a->broker = b;
	a->listener = fd;
	a->path = take_ptr(&path);
	TAILQ_INIT(&a->guests);
	a->in = watch_fd(b->loop, fd, WATCH_READ, incoming, a);
	return a;
}

void
admin_free(struct admin *a)
{
	if (a == NULL)
		return;
	while (!TAILQ_EMPTY(&a->guests))
		leave(TAILQ_FIRST(&a->guests));
	watch_free(a->in);
	close(a->listener);
	unlink(a->path);
	free(a->path);
	free(a);
}
