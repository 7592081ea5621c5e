/*
 * evilagent: process 1 of a sandbox after its guest has taken it over.
 *
 * The real first stage, then an agent that says Hello as it should, answers
 * each call with Done, and misbehaves when a call's arguments hold "evil NAME".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "isolator/stage.h"

#define FRAME 262144

static int stream;
static uint8_t frame[FRAME + 4];

/* ---- bytes ---- */

static int
wait_for(short what)
{
	struct pollfd p = { stream, what, 0 };

	return poll(&p, 1, -1);
}

/* -1: the front has hung up. */
static int
put(const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n > 0) {
		ssize_t w = write(stream, at, n);

		if (w < 0 && errno == EAGAIN) {
			wait_for(POLLOUT);
			continue;
		}
		if (w < 0)
			return -1;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

static int
get(void *bytes, size_t n)
{
	uint8_t *at = bytes;

	while (n > 0) {
		ssize_t r = read(stream, at, n);

		if (r < 0 && errno == EAGAIN) {
			wait_for(POLLIN);
			continue;
		}
		if (r <= 0)
			return -1;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

static size_t
varint(uint8_t *to, uint32_t n)
{
	size_t used = 0;

	for (; n > 127; n >>= 7)
		to[used++] = (uint8_t)(n | 128);
	to[used++] = (uint8_t)n;
	return used;
}

static uint32_t
varint_at(const uint8_t *at)
{
	uint32_t n = 0;

	for (int shift = 0; shift < 35; shift += 7, at++) {
		n |= (uint32_t)(*at & 127) << shift;
		if (*at < 128)
			break;
	}
	return n;
}

static int
put_frame(const void *bytes, size_t n)
{
	uint8_t head[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16),
		(uint8_t)(n >> 8), (uint8_t)n };

	return put(head, 4) < 0 ? -1 : put(bytes, n);
}

/* Event { call, FIELD { body } } */
static int
event(uint32_t call, unsigned field, const void *body, size_t n)
{
	static uint8_t e[FRAME + 64];
	size_t at = 0;

	if (call != 0) {
		e[at++] = 0x08;
		at += varint(e + at, call);
	}
	e[at++] = (uint8_t)(field << 3 | 2);
	at += varint(e + at, (uint32_t)n);
	memcpy(e + at, body, n);
	return put_frame(e, at + n);
}

static int
hello(uint32_t generation)
{
	static const char tool[] = "\x1a\x13\x0a\x11run_shell_command";
	uint8_t body[64];
	size_t at = 0;

	body[at++] = 0x08;
	at += varint(body + at, generation);
	memcpy(body + at, "\x10\x01", 2);
	at += 2;
	memcpy(body + at, tool, sizeof tool - 1);
	return event(0, 2, body, at + sizeof tool - 1);
}

/* has_exit, exit 0 */
static int
done(uint32_t call)
{
	return event(call, 4, "\x18\x01", 2);
}

/* ---- evil ---- */

static int
huge(uint32_t call)
{
	(void)call;
	put("\xff\xff\xff\xff", 4);
	for (int i = 0; i < 4096 && put(frame, 65536) == 0; i++)
		;
	return 0;
}

static int
zero(uint32_t call)
{
	(void)call;
	return put("\0\0\0\0", 4);
}

/* A frame that never ends, a byte at a time. */
static int
drip(uint32_t call)
{
	(void)call;
	put("\0\3\0\0", 4);
	while (put("x", 1) == 0)
		usleep(20000);
	return 0;
}

static int
nested(uint32_t call)
{
	(void)call;
	memset(frame, 0x7b, FRAME); /* groups, opened only */
	return put_frame(frame, FRAME);
}

static int
fields(uint32_t call)
{
	(void)call;
	for (size_t i = 0; i < FRAME; i += 2)
		memcpy(frame + i, "\x7a\0", 2);
	return put_frame(frame, FRAME);
}

static int
credit(uint32_t call)
{
	static uint8_t body[FRAME - 64];

	memcpy(body, "\x08\x01\x12", 3);
	varint(body + 3, FRAME - 64 - 6);
	while (event(call, 3, body, sizeof body) == 0)
		;
	return 0;
}

/* All well-formed, of calls that are none, for as long as it may. */
static int
flood(uint32_t call)
{
	while (event(call + 77, 3, "\x08\x01\x12\x01x", 5) == 0 &&
	    event(call + 78, 4, "", 0) == 0 && event(0, 7, "", 0) == 0)
		;
	return 0;
}

static int
entries(uint32_t call)
{
	static uint8_t body[4096];

	memcpy(body, "\x0a", 1);
	varint(body + 1, 4096 - 3);
	for (int i = 0; i < 100000; i++)
		if (event(call, 6, body, sizeof body) < 0)
			return 0;
	return done(call);
}

static int
twice(uint32_t call)
{
	for (int i = 0; i < 1000; i++)
		if (done(call) < 0 || done(call + (uint32_t)i) < 0)
			return 0;
	return 0;
}

static int
again(uint32_t call)
{
	(void)call;
	return hello(1);
}

static int
noise(uint32_t call)
{
	uint32_t x = call * 2654435761u + 1;

	for (int i = 0; i < 2000; i++) {
		size_t n = 1 + x % 300;

		for (size_t k = 0; k < n; k++) {
			x = x * 1664525 + 1013904223;
			frame[k] = (uint8_t)(x >> 24);
		}
		if (put_frame(frame, n) < 0)
			return 0;
	}
	return 0;
}

/* Descriptors with each byte of an honest answer. */
static int
rights(uint32_t call)
{
	uint8_t answer[] = { 0, 0, 0, 6, 8, (uint8_t)call, 0x22, 2, 0x18, 1 };
	int fd[3] = { open("/", O_PATH | O_DIRECTORY),
		open("/proc", O_RDONLY | O_DIRECTORY), memfd_create("x", 0) };
	union {
		char buf[CMSG_SPACE(sizeof(int) * 240)];
		struct cmsghdr align;
	} space = { .buf = { 0 } };

	if (call > 127 || fd[2] < 0)
		return -1;
	for (size_t i = 0; i < sizeof answer; i++) {
		struct iovec iov = { answer + i, 1 };
		struct msghdr mh = { .msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = space.buf,
			.msg_controllen = sizeof space.buf };
		struct cmsghdr *c = CMSG_FIRSTHDR(&mh);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * 240);
		for (int k = 0; k < 240; k++)
			memcpy(CMSG_DATA(c) + sizeof(int) * k, &fd[k % 3],
			    sizeof(int));
		if (sendmsg(stream, &mh, MSG_NOSIGNAL) < 0)
			return -1;
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(uint32_t call);
} evil[] = { { "huge", huge }, { "zero", zero }, { "drip", drip },
	{ "nested", nested }, { "fields", fields }, { "credit", credit },
	{ "flood", flood }, { "entries", entries }, { "twice", twice },
	{ "again", again }, { "noise", noise }, { "rights", rights } };

/* ---- requests ---- */

static int
answer(uint32_t call, size_t n)
{
	const uint8_t *at = memmem(frame, n, "evil ", 5);
	char name[16] = "";

	if (at == NULL)
		return done(call);
	for (size_t i = 0; i < sizeof name - 1 && at[5 + i] >= 'a'; i++)
		name[i] = (char)at[5 + i];
	for (size_t i = 0; i < sizeof evil / sizeof *evil; i++)
		if (strcmp(evil[i].name, name) == 0)
			return evil[i].run(call);
	return -1;
}

/* Request { call = 1; setup = 2 { generation = 1 }; run = 3 } */
static int
request(size_t n)
{
	uint32_t call = 0;
	size_t at = 0;

	if (frame[0] == 0x08) {
		call = varint_at(frame + 1);
		for (at = 1; frame[at] > 127; at++)
			;
		at++;
	}
	if (frame[at] == (2 << 3 | 2)) {
		for (at++; frame[at] > 127; at++)
			;
		at++;
		return hello(frame[at] == 0x08 ? varint_at(frame + at + 1) : 0);
	}
	return frame[at] == (3 << 3 | 2) ? answer(call, n) : 0;
}

int
main(void)
{
	struct stage_result r;
	struct err err;
	uint8_t head[4];

	if (isolate_stage(STAGE_CONTROL, &r, &err) < 0)
		_exit(STAGE_EXIT);
	signal(SIGPIPE, SIG_IGN);
	stream = r.stream;
	while (get(head, 4) == 0) {
		size_t n =
		    (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];

		if (n > FRAME || get(frame, n) < 0)
			break;
		frame[n] = 0;
		request(n);
	}
	for (;;) /* what holds the stream open, and answers nothing */
		pause();
}
