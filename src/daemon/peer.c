#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "daemon/peer.h"
#include "wire/link.h"
#include "wire/loop.h"

#define QUEUE_MOST 4096 /* more than there can be sandboxes to end */

struct waiting {
	TAILQ_ENTRY(waiting) next;
	struct link_msg *msg;
};

struct peer_io {
	struct loop *loop;
	struct watch *in, *out;
	TAILQ_HEAD(, waiting) queue;
	unsigned queued;
	peer_msg_fn *msg;
	peer_gone_fn *gone;
	void *arg;
	bool over;
};

static void
say_gone(void *arg)
{
	struct peer *p = arg;

	p->io->gone(p->io->arg, p);
}

/* Not from inside the callback that noticed it. */
static void
over(struct peer *p)
{
	if (p->io->over)
		return;
	p->io->over = true;
	watch_stop(p->io->in);
	watch_stop(p->io->out);
	loop_post(p->io->loop, say_gone, p);
}

static void
broken(struct peer *p, const struct err *err)
{
	log_err(LOG_ERROR, err, "a process of ours broke the rules", "peer",
	    p->name, NULL);
	over(p);
}

static void
readable(void *arg, int what)
{
	static struct link_msg m; /* 16 KiB; one at a time */
	struct peer *p = arg;
	struct err err;
	int r;

	(void)what;
	r = link_recv(p->fd, &m, &err);
	if (r < 0 && err.code == ERR_SYS &&
	    (err.sys == EAGAIN || err.sys == EINTR))
		return;
	if (r == 0 || (r < 0 && err.code == ERR_SYS)) {
		over(p);
		return;
	}
	if (r > 0) {
		r = p->io->msg(p->io->arg, p, &m, &err);
		link_msg_drop(&m);
	}
	if (r < 0 && err.code == ERR_SYS)
		over(p); /* it died before it had its answer */
	else if (r < 0)
		broken(p, &err);
}

static void
drop(struct peer *p, struct waiting *w)
{
	TAILQ_REMOVE(&p->io->queue, w, next);
	p->io->queued--;
	link_msg_drop(w->msg);
	free(w->msg);
	free(w);
}

static void
writable(void *arg, int what)
{
	struct peer *p = arg;
	struct waiting *w;
	struct err err;

	(void)what;
	while ((w = TAILQ_FIRST(&p->io->queue)) != NULL) {
		if (link_send(p->fd, w->msg, &err) < 0) {
			if (err.sys != EAGAIN && err.sys != EINTR)
				over(p);
			return;
		}
		drop(p, w);
	}
	watch_stop(p->io->out);
	watch_go(p->io->in);
}

static void
enqueue(struct peer *p, struct link_msg *m)
{
	struct waiting *w = xcalloc(1, sizeof *w);

	/* Only the part that is sent: a queue of whole structs is 16 KiB a
	 * message. */
	w->msg = xmalloc(offsetof(struct link_msg, body) + m->len);
	memcpy(w->msg, m, offsetof(struct link_msg, body) + m->len);
	m->nfd = 0;
	TAILQ_INSERT_TAIL(&p->io->queue, w, next);
	p->io->queued++;
	watch_stop(p->io->in);
	watch_go(p->io->out);
}

int
peer_send(struct peer *p, struct link_msg *m, struct err *err)
{
	int r = 0;

	if (p->io->over) {
		link_msg_drop(m);
		return 0;
	}
	if (TAILQ_EMPTY(&p->io->queue))
		r = link_send(p->fd, m, err);
	else
		r = err_set(err, ERR_LIMIT, "queue"), err->sys = EAGAIN;
	if (r < 0 && err->sys == EAGAIN && p->io->loop != NULL &&
	    p->io->queued < QUEUE_MOST) {
		enqueue(p, m);
		return 0;
	}
	link_msg_drop(m);
	return r;
}

struct peer *
peer_new(struct loop *l, int fd, unsigned role, const char *name,
    peer_msg_fn *msg, peer_gone_fn *gone, void *arg)
{
	struct peer *p = xcalloc(1, sizeof *p);

	p->fd = fd;
	p->role = role;
	p->name = name;
	p->io = xcalloc(1, sizeof *p->io);
	TAILQ_INIT(&p->io->queue);
	p->io->loop = l;
	p->io->msg = msg;
	p->io->gone = gone;
	p->io->arg = arg;
	if (l != NULL) {
		p->io->in = watch_fd(l, fd, WATCH_READ, readable, p);
		p->io->out = watch_fd(l, fd, WATCH_WRITE, writable, p);
		watch_stop(p->io->out);
	}
	return p;
}

void
peer_free(struct peer *p)
{
	struct waiting *w;

	if (p == NULL)
		return;
	if (p->io->loop != NULL)
		loop_unpost(p->io->loop, p);
	watch_free(p->io->in);
	watch_free(p->io->out);
	while ((w = TAILQ_FIRST(&p->io->queue)) != NULL)
		drop(p, w);
	close(p->fd);
	free(p->io);
	free(p);
}
