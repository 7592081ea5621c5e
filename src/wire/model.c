#include <stdbool.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"
#include "wire/frame.h"
#include "wire/loop.h"
#include "wire/model.h"

#define READ_BYTES 65536
#define READ_TURNS 8         /* a round: others want to be heard, too */
#define SENT_MOST (1u << 20) /* kept before the queue is moved up */

struct model_conn {
	struct loop *loop;
	int fd;
	const struct model_conn_ops *ops;
	void *arg;
	struct watch *in, *out;
	struct frame_reader reader;
	struct str queue;
	size_t sent; /* of queue */
	bool over;
	struct err why;
};

static void
tell_gone(void *arg)
{
	struct model_conn *c = arg;

	c->ops->gone(c->arg, &c->why);
}

static void
end(struct model_conn *c, const struct err *why)
{
	if (c->over)
		return;
	c->over = true;
	c->why = *why;
	watch_stop(c->in);
	watch_stop(c->out);
	loop_post(c->loop, tell_gone, c);
}

static void
flush(struct model_conn *c)
{
	struct err why;

	while (c->sent < c->queue.len) {
		ssize_t n = send(c->fd, c->queue.at + c->sent,
		    c->queue.len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			watch_go(c->out);
			return;
		}
		if (n < 0) {
			err_sys(&why, "send");
			end(c, &why);
			return;
		}
		c->sent += (size_t)n;
		if (c->sent >= SENT_MOST) {
			str_drop(&c->queue, c->sent);
			c->sent = 0;
		}
	}
	str_free(&c->queue);
	c->sent = 0;
	watch_stop(c->out);
}

static void
writable(void *arg, int what)
{
	(void)what;
	flush(arg);
}

static int
one(struct model_conn *c, const uint8_t *at, size_t n, struct err *err)
{
	struct model_frame f;

	if (n < sizeof f || n > sizeof f + MODEL_PIECE)
		return err_set(err, ERR_PROTO, "a frame of %zu bytes", n);
	memcpy(&f, at, sizeof f);
	return c->ops->frame(c->arg, &f, at + sizeof f, n - sizeof f, err);
}

static int
all(struct model_conn *c, struct err *err)
{
	const uint8_t *at;
	size_t n;
	int r;

	while (!c->over && (r = frame_next(&c->reader, &at, &n, err)) != 0)
		if (r < 0 || one(c, at, n, err) < 0)
			return -1;
	return 0;
}

static void
readable(void *arg, int what)
{
	static uint8_t bytes[READ_BYTES]; /* one thread, not entered twice */
	struct model_conn *c = arg;
	struct err why;

	(void)what;
	for (int i = 0; i < READ_TURNS && !c->over; i++) {
		ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			if (n < 0)
				err_sys(&why, "receive");
			else
				err_set(&why, ERR_MISSING, "it has left");
			end(c, &why);
			return;
		}
		frame_feed(&c->reader, bytes, (size_t)n);
		if (all(c, &why) < 0) {
			end(c, &why);
			return;
		}
		if ((size_t)n < sizeof bytes)
			return;
	}
}

struct model_conn *
model_conn_new(struct loop *loop, int fd, const struct model_conn_ops *ops,
    void *arg)
{
	struct model_conn *c = xcalloc(1, sizeof *c);

	c->loop = loop;
	c->fd = fd;
	c->ops = ops;
	c->arg = arg;
	c->in = watch_fd(loop, fd, WATCH_READ, readable, c);
	c->out = watch_fd(loop, fd, WATCH_WRITE, writable, c);
	watch_stop(c->out);
	return c;
}

void
model_conn_free(struct model_conn *c)
{
	if (c == NULL)
		return;
	loop_unpost(c->loop, c);
	watch_free(c->in);
	watch_free(c->out);
	frame_reader_free(&c->reader);
	str_free(&c->queue);
	close(c->fd);
	free(c);
}

void
model_conn_send(struct model_conn *c, enum model_type type, uint32_t call,
    uint32_t value, const void *bytes, size_t n)
{
	const struct model_frame f = { type, call, value };
	uint8_t head[FRAME_HEAD];
	struct err why;
	bool idle = c->queue.len == 0;

	if (c->over || n > MODEL_PIECE)
		return;
	if (c->queue.len - c->sent > MODEL_QUEUE_MAX) {
		err_set(&why, ERR_LIMIT, "it does not read");
		end(c, &why);
		return;
	}
	frame_head(head, sizeof f + n);
	str_add(&c->queue, head, sizeof head);
	str_add(&c->queue, &f, sizeof f);
	if (n > 0)
		str_add(&c->queue, bytes, n);
	if (idle)
		flush(c);
}

size_t
model_conn_queued(const struct model_conn *c)
{
	return c->queue.len - c->sent;
}
