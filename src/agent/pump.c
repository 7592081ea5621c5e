#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/pump.h"
#include "agent/world.h"
#include "base/own.h"
#include "base/str.h"
#include "wire/loop.h"

#define CHUNK (64 * 1024)

static char buf[CHUNK]; /* one read at a time in one process */

/* ---- what nobody wants any more ---- */

struct sink {
	int fd;
	struct watch *watch;
};

static void
swallow(void *arg, int what)
{
	struct sink *s = arg;
	ssize_t n = read(s->fd, buf, sizeof buf);

	(void)what;
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	watch_free(s->watch);
	close(s->fd);
	free(s);
}

static void
sink_new(struct loop *loop, int fd)
{
	struct sink *s = xcalloc(1, sizeof *s);

	s->fd = fd;
	s->watch = watch_fd(loop, fd, WATCH_READ, swallow, s);
}

/* ---- what somebody wants ---- */

static void
stop(struct pump *p, bool eof)
{
	int fd = take_fd(&p->fd);

	watch_free(p->watch);
	p->watch = NULL;
	if (eof)
		close(fd);
	else
		sink_new(p->loop, fd);
	p->over(p->arg);
}

static size_t
how_much(const struct pump *p)
{
	size_t n = call_room(p->call, p->stream);

	if (n > sizeof buf)
		n = sizeof buf;
	if (p->bounded && n > p->left)
		n = p->left;
	return n;
}

/* One read.  false: nothing more for now, or the end. */
static bool
take(struct pump *p)
{
	size_t most = how_much(p);
	ssize_t n;
	int waiting;

	/* Nothing in it and yet readable is its end, which costs no credit. */
	if (most == 0 && ioctl(p->fd, FIONREAD, &waiting) == 0 && waiting == 0)
		most = 1;
	if (most == 0) {
		watch_stop(p->watch);
		p->paused = true;
		return false;
	}
	n = read(p->fd, buf, most);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) { /* EIO: the last user of a terminal has left */
		stop(p, true);
		return false;
	}
	call_output(p->call, p->stream, buf, (size_t)n);
	if (!p->bounded)
		return (size_t)n < most;
	p->left -= (size_t)n;
	if (p->left == 0)
		stop(p, false);
	return false;
}

/*
 * What a short command prints and the end of its pipe are usually there
 * together: a second look saves a round of the loop, and a wake-up of the
 * front.
 */
static void
readable(void *arg, int what)
{
	(void)what;
	if (take(arg))
		take(arg);
}

void
pump_start(struct pump *p, struct call *call, int fd, int stream,
    void (*over)(void *), void *arg)
{
	*p = (struct pump){ .loop = call_world(call)->loop,
		.call = call,
		.fd = fd,
		.stream = stream,
		.over = over,
		.arg = arg };
	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	p->watch = watch_fd(p->loop, fd, WATCH_READ, readable, p);
}

void
pump_room(struct pump *p)
{
	if (p->fd < 0 || !p->paused || how_much(p) == 0)
		return;
	p->paused = false;
	watch_go(p->watch);
}

void
pump_finish(struct pump *p)
{
	int n = 0;

	if (p->fd < 0)
		return;
	if (ioctl(p->fd, FIONREAD, &n) < 0)
		n = 0;
	p->bounded = true;
	p->left = n > 0 ? (size_t)n : 0;
	if (p->left == 0)
		stop(p, false);
}

void
pump_drop(struct pump *p)
{
	if (p->fd >= 0)
		stop(p, false);
}
