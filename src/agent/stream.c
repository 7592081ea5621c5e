#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/stream.h"
#include "base/err.h"
#include "base/str.h"
#include "wire/frame.h"
#include "wire/loop.h"

#define HIGH (1024 * 1024) /* waiting bytes: producers pause */
#define LOW (256 * 1024)   /* ... and go on */
#define CHUNK (64 * 1024)

struct stream {
	struct loop *loop;
	struct stream_owner owner;
	int fd;
	struct watch *readable, *writable;
	struct frame_reader in;
	struct str out;
	size_t sent;    /* of out */
	bool posted;    /* a write is due after this round */
	bool over;      /* gone has been, or is being, said */
	bool was_full;  /* somebody waits for room */
	struct err why; /* of over */
	bool failed;
};

static void
tell_gone(void *arg)
{
	struct stream *s = arg;

	s->owner.gone(s->owner.arg, s->failed ? &s->why : NULL);
}

static void
end(struct stream *s, const struct err *why)
{
	if (s->over)
		return;
	s->over = true;
	s->failed = why != NULL;
	if (why != NULL)
		s->why = *why;
	watch_stop(s->readable);
	watch_stop(s->writable);
	loop_post(s->loop, tell_gone, s);
}

static size_t
waiting(const struct stream *s)
{
	return s->out.len - s->sent;
}

static void
write_out(struct stream *s)
{
	struct err err;

	while (waiting(s) > 0 && !s->over) {
		ssize_t n = send(s->fd, s->out.at + s->sent, waiting(s),
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			err_sys(&err, "write to the front");
			end(s, &err);
			return;
		}
		s->sent += (size_t)n;
	}
	if (waiting(s) == 0) {
		str_cut(&s->out, 0);
		s->sent = 0;
	} else if (s->sent > LOW) {
		str_drop(&s->out, s->sent);
		s->sent = 0;
	}
}

static void
room_again(struct stream *s)
{
	if (!s->was_full || waiting(s) > LOW || s->over)
		return;
	s->was_full = false;
	s->owner.room(s->owner.arg);
}

static void
flush_posted(void *arg)
{
	struct stream *s = arg;

	s->posted = false;
	if (s->over)
		return;
	write_out(s);
	if (waiting(s) > 0)
		watch_go(s->writable);
	room_again(s);
}

static void
writable(void *arg, int what)
{
	struct stream *s = arg;

	(void)what;
	write_out(s);
	if (waiting(s) == 0 && !s->over)
		watch_stop(s->writable);
	room_again(s);
}

static int
hand_out(struct stream *s, const uint8_t *at, size_t n, struct err *err)
{
	Guest__Request *r = guest__request__unpack(NULL, n, at);
	int result;

	if (r == NULL)
		return err_set(err, ERR_PROTO, "not a request");
	result = s->owner.request(s->owner.arg, r, err);
	guest__request__free_unpacked(r, NULL);
	return result;
}

static void
readable(void *arg, int what)
{
	static char buf[CHUNK];
	struct stream *s = arg;
	struct err err;
	const uint8_t *at;
	ssize_t n = recv(s->fd, buf, sizeof buf, MSG_DONTWAIT);
	size_t len;
	int r;

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		err_sys(&err, "read from the front");
	if (n <= 0) {
		end(s, n < 0 ? &err : NULL);
		return;
	}
	frame_feed(&s->in, buf, (size_t)n);
	while (!s->over && (r = frame_next(&s->in, &at, &len, &err)) != 0)
		if (r < 0 || hand_out(s, at, len, &err) < 0)
			end(s, &err);
}

struct stream *
stream_new(struct loop *loop, int fd, const struct stream_owner *owner)
{
	struct stream *s = xcalloc(1, sizeof *s);

	s->loop = loop;
	s->owner = *owner;
	s->fd = fd;
	s->readable = watch_fd(loop, fd, WATCH_READ, readable, s);
	s->writable = watch_fd(loop, fd, WATCH_WRITE, writable, s);
	watch_stop(s->writable);
	return s;
}

void
stream_free(struct stream *s)
{
	if (s == NULL)
		return;
	loop_unpost(s->loop, s);
	watch_free(s->readable);
	watch_free(s->writable);
	close(s->fd);
	frame_reader_free(&s->in);
	str_free(&s->out);
	free(s);
}

struct packer {
	ProtobufCBuffer base;
	struct str *out;
};

static void
add_packed(ProtobufCBuffer *base, size_t n, const uint8_t *bytes)
{
	str_add(((struct packer *)base)->out, bytes, n);
}

static void
add_head(struct stream *s, size_t n)
{
	uint8_t head[FRAME_HEAD];

	frame_head(head, n);
	str_add(&s->out, head, sizeof head);
}

static void
added(struct stream *s)
{
	if (waiting(s) > HIGH)
		s->was_full = true;
	if (!s->posted) {
		s->posted = true;
		loop_post(s->loop, flush_posted, s);
	}
}

void
stream_send(struct stream *s, const Guest__Event *e)
{
	struct packer p = { { add_packed }, &s->out };

	if (s->over)
		return;
	add_head(s, guest__event__get_packed_size(e));
	guest__event__pack_to_buffer(e, &p.base);
	added(s);
}

void
stream_put(struct stream *s, const void *event, size_t n)
{
	if (s->over)
		return;
	add_head(s, n);
	str_add(&s->out, event, n);
	added(s);
}

bool
stream_full(const struct stream *s)
{
	return s->was_full;
}

void
stream_flush(struct stream *s)
{
	while (waiting(s) > 0 && !s->over) {
		struct pollfd p = { .fd = s->fd, .events = POLLOUT };

		write_out(s);
		if (waiting(s) > 0 && poll(&p, 1, 1000) <= 0)
			return;
	}
}
