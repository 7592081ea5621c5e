#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include "base/log.h"
#include "base/str.h"
#include "wire/loop.h"

struct post {
	void (*act)(void *);
	void *arg;
	TAILQ_ENTRY(post) next;
};

struct loop {
	struct event_base *base;
	TAILQ_HEAD(, post) posts;
	bool stopping;
};

struct watch {
	struct event *event;
	watch_fn *fn;
	void *arg;
};

static void
from_libevent(int severity, const char *msg)
{
	log_say(severity >= EVENT_LOG_ERR ? LOG_ERROR : LOG_DEBUG, msg, NULL);
}

static void
die(const char *what)
{
	log_say(LOG_ERROR, "event loop failed", "step", what, NULL);
	abort();
}

struct loop *
loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof *l);

	event_set_log_callback(from_libevent);
	l->base = event_base_new();
	if (l->base == NULL)
		die("new");
	TAILQ_INIT(&l->posts);
	return l;
}

void
loop_free(struct loop *l)
{
	struct post *p;

	while ((p = TAILQ_FIRST(&l->posts)) != NULL) {
		TAILQ_REMOVE(&l->posts, p, next);
		free(p);
	}
	event_base_free(l->base);
	free(l);
}

struct event_base *
loop_base(struct loop *l)
{
	return l->base;
}

void
loop_post(struct loop *l, void (*act)(void *), void *arg)
{
	struct post *p = xcalloc(1, sizeof *p);

	p->act = act;
	p->arg = arg;
	TAILQ_INSERT_TAIL(&l->posts, p, next);
}

void
loop_unpost(struct loop *l, void *arg)
{
	struct post *p, *after;

	for (p = TAILQ_FIRST(&l->posts); p != NULL; p = after) {
		after = TAILQ_NEXT(p, next);
		if (p->arg != arg)
			continue;
		TAILQ_REMOVE(&l->posts, p, next);
		free(p);
	}
}

static void
drain(struct loop *l)
{
	struct post *p;

	while ((p = TAILQ_FIRST(&l->posts)) != NULL) {
		void (*act)(void *) = p->act;
		void *arg = p->arg;

		TAILQ_REMOVE(&l->posts, p, next);
		free(p);
		act(arg);
	}
}

void
loop_turn(struct loop *l)
{
	drain(l);
	if (event_base_loop(l->base, EVLOOP_ONCE) < 0)
		die("run");
	drain(l);
}

void
loop_run(struct loop *l)
{
	drain(l);
	while (!l->stopping)
		loop_turn(l);
	l->stopping = false;
}

void
loop_stop(struct loop *l)
{
	l->stopping = true;
}

static void
fired(evutil_socket_t fd, short what, void *arg)
{
	struct watch *w = arg;
	int got = 0;

	if (what & EV_SIGNAL)
		got = (int)fd;
	else
		got = (what & EV_READ ? WATCH_READ : 0) |
		    (what & EV_WRITE ? WATCH_WRITE : 0);
	w->fn(w->arg, got);
}

static struct watch *
watch_new(struct loop *l, int fd, short what, watch_fn *fn, void *arg)
{
	struct watch *w = xcalloc(1, sizeof *w);

	w->fn = fn;
	w->arg = arg;
	w->event = event_new(l->base, fd, what, fired, w);
	if (w->event == NULL)
		die("event");
	return w;
}

struct watch *
watch_fd(struct loop *l, int fd, int what, watch_fn *fn, void *arg)
{
	short bits = (short)((what & WATCH_READ ? EV_READ : 0) |
	    (what & WATCH_WRITE ? EV_WRITE : 0));
	struct watch *w = watch_new(l, fd, bits | EV_PERSIST, fn, arg);

	if (event_add(w->event, NULL) < 0)
		die("add");
	return w;
}

struct watch *
watch_signal(struct loop *l, int sig, watch_fn *fn, void *arg)
{
	struct watch *w = watch_new(l, sig, EV_SIGNAL | EV_PERSIST, fn, arg);

	if (event_add(w->event, NULL) < 0)
		die("signal");
	return w;
}

struct watch *
watch_timer(struct loop *l, watch_fn *fn, void *arg)
{
	return watch_new(l, -1, 0, fn, arg);
}

void
watch_arm(struct watch *w, int64_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000 };

	if (event_add(w->event, &tv) < 0)
		die("arm");
}

void
watch_stop(struct watch *w)
{
	event_del(w->event);
}

void
watch_go(struct watch *w)
{
	if (event_add(w->event, NULL) < 0)
		die("go");
}

void
watch_free(struct watch *w)
{
	if (w == NULL)
		return;
	event_free(w->event);
	free(w);
}
