/*
 * hutch-model's insides: the scripted model given any request, secrets taken
 * out of any stream, and a front that says any frames.  Besides not breaking:
 * no secret comes through, however the stream is cut, and what a call is told
 * ends once.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "model/endpoint.h"
#include "model/post.h"
#include "model/redact.h"
#include "model/serve.h"
#include "model/stub.h"
#include "wire/frame.h"
#include "wire/loop.h"
#include "wire/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define PIECES_MOST 2000 /* an answer may be endless */

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
stub(const uint8_t *b, size_t n)
{
	struct stub *s = stub_new(b, n);
	enum stub_word word = STUB_MORE;

	must(stub_status(s) >= 200 && stub_status(s) < 600);
	must(stub_type(s) != NULL);
	for (int i = 0; i < PIECES_MOST && word == STUB_MORE; i++) {
		auto_str struct str out = { 0 };
		unsigned wait;

		word = stub_next(s, &out, &wait);
	}
	stub_free(s);
}

static void
redact(const uint8_t *b, size_t n)
{
	static const char secret[] = "abababac";
	struct redact r = { 0 };
	auto_str struct str once = { 0 }, cut = { 0 };
	size_t at = n > 0 ? b[0] % n : 0;

	redact_add(&r, secret, strlen(secret));
	redact_add(&r, "babababababab", 13);
	redact_feed(&r, b, n, &once);
	redact_end(&r, &once);
	redact_feed(&r, b, at, &cut);
	redact_feed(&r, b + at, n - at, &cut);
	redact_end(&r, &cut);
	must(once.len == cut.len &&
	    (once.len == 0 || memcmp(once.at, cut.at, once.len) == 0));
	must(once.len == 0 ||
	    memmem(once.at, once.len, secret, strlen(secret)) == NULL);
	redact_free(&r);
}

/* ---- frames ---- */

static struct {
	struct loop *loop;
	struct poster *poster;
	struct endpoints table;
	struct serve *serve;
} m;

static void
gone(void *arg, struct serve *s)
{
	(void)arg;
	must(s == m.serve);
	serve_free(s);
	m.serve = NULL;
}

static void
set_up(void)
{
	struct err err;

	log_level(LOG_ERROR);
	m.loop = loop_new();
	m.poster = poster_new(m.loop);
	must(endpoints_read(&m.table,
		 "model s\nurl stub:\nkey abababac\nmost 2\ntimeout 1\n"
		 "stall 1\n",
		 &err) == 0);
}

/*
 * Frames for a peer that means well, mostly: type, call and what else there is
 * in two bytes, then a payload; an ask is made whole.
 */
static void
frames(int fd, const uint8_t *b, size_t n)
{
	while (n >= 3) {
		struct model_frame f = { b[0] % (MODEL_TYPES + 1), b[0] / 16,
			b[1] };
		size_t len = b[2] < n - 3 ? b[2] : n - 3;
		struct model_ask q = { .op = b[1] % 6u,
			.body = b[2],
			.name = "s" };
		const void *at = f.type == MODEL_ASK ? (const void *)&q : b + 3;
		size_t size = f.type == MODEL_ASK ? sizeof q : len;
		uint8_t head[FRAME_HEAD];
		struct iovec v[] = { { head, sizeof head }, { &f, sizeof f },
			{ (void *)(uintptr_t)at, size } };
		struct msghdr msg = { .msg_iov = v, .msg_iovlen = 3 };

		if (q.op == MODEL_PUSH && f.type == MODEL_ASK)
			strcpy(q.url, "http://127.0.0.1:1/");
		frame_head(head, sizeof f + size);
		if (sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
		b += 3 + len;
		n -= 3 + len;
	}
	(void)!send(fd, b, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
serve(const uint8_t *b, size_t n)
{
	const struct serve_conf conf = { .gone = gone };
	struct serve_conf c = conf;
	static uint8_t sink[65536];
	int fd[2];

	if (m.loop == NULL)
		set_up();
	c.loop = m.loop;
	c.poster = m.poster;
	c.table = &m.table;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		 fd) == 0);
	m.serve = serve_new(&c, fd[0]);
	frames(fd[1], b, n);
	shutdown(fd[1], SHUT_WR);
	for (int i = 0; i < 64 && m.serve != NULL; i++) {
		loop_turn(m.loop);
		while (read(fd[1], sink, sizeof sink) > 0)
			;
	}
	if (m.serve != NULL) {
		serve_free(m.serve);
		m.serve = NULL;
	}
	close(fd[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *b, size_t n)
{
	if (n < 1)
		return 0;
	switch (b[0] % 3) {
	case 0:
		stub(b + 1, n - 1);
		break;
	case 1:
		redact(b + 1, n - 1);
		break;
	default:
		serve(b + 1, n - 1);
		break;
	}
	return 0;
}
