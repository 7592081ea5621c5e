/*
 * guest_fixture: one guest with a fake agent at its other end.
 *
 * Included by the tests of guest, once each.
 */
#ifndef TESTS_UNIT_GUEST_FIXTURE_H
#define TESTS_UNIT_GUEST_FIXTURE_H

#include <string.h>
#include <sys/socket.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "tests/lib/drive.h"
#include "tests/lib/fakeagent.h"

/* What a test sees of one call. */
struct seen {
	struct guest_call *call;
	struct str out[4];
	struct err err;
	unsigned entries, rooms;
	bool done, failed, running, keep; /* keep: don't say it is used */
	int exit;
};

static struct {
	struct loop *loop;
	struct guest *guest;
	struct fakeagent *agent;
	bool hello, gone;
	struct err why;
} t;

static void
on_hello(void *arg)
{
	(void)arg;
	t.hello = true;
}

static void
on_gone(void *arg, const struct err *why)
{
	(void)arg;
	t.gone = true;
	t.why = *why;
}

static void
on_output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct seen *s = arg;

	assert_false(s->done);
	str_add(&s->out[stream], bytes, n);
	if (!s->keep)
		guest_took(s->call, n);
}

static void
on_entry(void *arg, const struct guest_entry *e)
{
	struct seen *s = arg;

	s->entries++;
	str_add(&s->out[0], e->path, e->path_len);
}

static void
on_room(void *arg)
{
	((struct seen *)arg)->rooms++;
}

static void
on_done(void *arg, const struct guest_done *d)
{
	struct seen *s = arg;

	assert_false(s->done);
	s->done = true;
	s->failed = d->err != NULL;
	s->running = d->running;
	s->exit = d->has_exit ? d->exit : -2000;
	if (d->err != NULL)
		s->err = *d->err;
}

static const struct guest_sink sink = { on_output, on_entry, on_room, on_done };

static void
begin_with(const struct faketool *tools, bool silent, unsigned hello_ms)
{
	static const char *const env[] = { "A=1", "B=two", NULL };
	int fd[2];

	memset(&t, 0, sizeof t);
	t.loop = loop_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	t.agent = fakeagent_new(&(struct fakeagent_conf){ .loop = t.loop,
	    .fd = fd[1],
	    .tool = tools,
	    .silent = silent });
	t.guest = guest_new(&(struct guest_conf){ .loop = t.loop,
	    .fd = fd[0],
	    .generation = 7,
	    .env = env,
	    .cwd = "/workspace",
	    .hello_ms = hello_ms,
	    .owner = { on_hello, on_gone, NULL } });
}

static void
begin(const struct faketool *tools)
{
	begin_with(tools, false, 5000);
	assert_true(drive_flag(t.loop, &t.hello));
}

static void
end(void)
{
	guest_free(t.guest);
	if (t.agent != NULL)
		fakeagent_free(t.agent);
	drive_for(t.loop, 1); /* posted ends */
	loop_free(t.loop);
}

static void
seen_free(struct seen *s)
{
	for (size_t i = 0; i < 4; i++)
		str_free(&s->out[i]);
}

static int
call(struct seen *s, const char *tool, const char *name, const void *text,
    size_t n, uint32_t answer_ms)
{
	struct guest_arg arg[] = {
		{ .name = name, .type = ARG_TEXT, .text = text, .len = n },
		{ .name = NULL },
	};
	struct guest_request q = { .tool = tool,
		.arg = arg,
		.answer_ms = answer_ms,
		.sink = &sink,
		.sink_arg = s };

	s->call = guest_call(t.guest, &q, &s->err);
	return s->call != NULL ? 0 : -1;
}

static void
shell(struct seen *s, const char *command)
{
	assert_int_equal(call(s, "run_shell_command", "command", command,
			     strlen(command), 0),
	    0);
}

static void
run_nothing(struct fakecall *c)
{
	(void)c;
}

/* Sends as much as it may, whenever it may. */
static void
pour(struct fakecall *c)
{
	static uint8_t bytes[60000];

	while (c->credit > 0)
		fakecall_output(c, 1, bytes,
		    c->credit < sizeof bytes ? c->credit : sizeof bytes);
}

static const struct faketool pouring[] = {
	{ .name = "pour", .run = pour, .credit = pour },
	{ .name = "idle", .run = run_nothing },
	{ .name = NULL },
};

#endif
