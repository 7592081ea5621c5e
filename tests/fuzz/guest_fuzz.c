/*
 * A guest's stream, byte for byte what a hostile agent may write.
 *
 * The first byte says whether a good Hello comes before the rest.  Two calls
 * run meanwhile, one that uses its output and one that doesn't.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "guest/schema.h"
#include "wire/frame.h"
#include "wire/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define WINDOW (256 * 1024)

struct one {
	struct guest_call *call;
	size_t got;
	unsigned done;
	bool uses;
};

static struct {
	struct guest *guest;
	struct one one[2];
	bool gone;
} t;

static void
must(bool so)
{
	if (!so)
		abort();
}

static void
output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct one *o = arg;
	static volatile uint8_t sum;

	must(o->done == 0 && stream >= 1 && stream <= 3 && n > 0);
	for (size_t i = 0; i < n; i++)
		sum = (uint8_t)(sum ^ bytes[i]); /* read it all */
	o->got += n;
	if (o->uses)
		guest_took(o->call, n);
	else
		must(o->got <= WINDOW);
}

static void
entry(void *arg, const struct guest_entry *e)
{
	struct one *o = arg;

	must(o->done == 0 && e->type <= ENTRY_OTHER);
	must(e->path_len <= 4096 && e->name_len <= 4096);
}

static void
room(void *arg)
{
	struct one *o = arg;
	static const uint8_t zeros[1024];
	size_t n = guest_room(o->call);

	guest_input(o->call, zeros, n < sizeof zeros ? n : sizeof zeros);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct one *o = arg;

	must(++o->done == 1);
	must(d->err == NULL ||
	    memchr(d->err->text, '\0', sizeof d->err->text) != NULL);
}

static const struct guest_sink sink = { output, entry, room, done };

static void
hello(void *arg)
{
	const struct guest_tool *tool;
	size_t n = 0;

	(void)arg;
	for (; (tool = guest_tool(t.guest, n)) != NULL; n++)
		must(tool->name[0] != '\0');
	must(n <= 128);
	json_decref(schema_tools(t.guest));
	for (int i = 0; i < 2; i++) {
		struct guest_request q = { .tool = "any",
			.sink = &sink,
			.sink_arg = &t.one[i] };
		struct err err;

		t.one[i].uses = i == 0;
		t.one[i].call = guest_call(t.guest, &q, &err);
		must(t.one[i].call != NULL);
	}
}

static void
gone(void *arg, const struct err *why)
{
	(void)arg;
	must(why->text[0] != '\0');
	t.gone = true;
}

static void
send_hello(int fd)
{
	/* generation 7, version 1, a tool "a" */
	static const uint8_t frame[] = { 0, 0, 0, 11, 0x12, 9, 0x08, 7, 0x10, 1,
		0x1a, 3, 0x0a, 1, 'a' };

	must(write(fd, frame, sizeof frame) == (ssize_t)sizeof frame);
}

/* The other end keeps reading, so that nothing backs up but our mistakes. */
static void
drink(int fd)
{
	static uint8_t buf[65536];

	while (recv(fd, buf, sizeof buf, MSG_DONTWAIT) > 0)
		;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct loop *loop = loop_new();
	size_t at = 1;
	int fd[2];

	memset(&t, 0, sizeof t);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0);
	t.guest = guest_new(&(struct guest_conf){ .loop = loop,
	    .fd = fd[0],
	    .generation = 7,
	    .cwd = "/",
	    .hello_ms = 10000,
	    .owner = { hello, gone, NULL } });
	if (n > 0 && bytes[0] & 1)
		send_hello(fd[1]);
	while (!t.gone) {
		ssize_t w = at < n ? send(fd[1], bytes + at, n - at,
					 MSG_NOSIGNAL | MSG_DONTWAIT)
				   : 0;

		at += w > 0 ? (size_t)w : 0;
		if (at >= n)
			shutdown(fd[1], SHUT_WR); /* the guest sees an end */
		loop_turn(loop);
		drink(fd[1]);
	}
	guest_free(t.guest);
	loop_turn(loop); /* the ends of its calls */
	for (int i = 0; i < 2; i++)
		must(t.one[i].call == NULL || t.one[i].done == 1);
	close(fd[1]);
	loop_free(loop);
	return 0;
}
