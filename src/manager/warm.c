#include <stddef.h>
#include "base/err.h"
#include "base/own.h"
#include "guest/guest.h"
#include "manager/broker_call.h"
#include "manager/inner.h"

/* Cells run ahead in a pooled sandbox: what they touch is then its own memory,
 * and a user's first cell touches it no more. */
#define REHEARSALS 2

static void rehearse(struct sandbox *);

/* ---- the interpreter that joins, once a life ---- */

/* Whatever the answer: where none came the agent starts an ordinary one. */
static void
on_joined(void *arg, struct link_msg *reply, const struct err *err)
{
	struct sandbox *sb = arg;

	(void)reply;
	(void)err;
	sb->warm_ask = NULL;
	sb->warm = WARM_DONE;
	waits_tell(sb, WAIT_READY, NULL);
	if (sb->rehearsals > 0)
		rehearse(sb);
}

static void
ask(struct sandbox *sb)
{
	if (sb->warm != WARM_NOT)
		return;
	sb->warm = WARM_ASKED;
	sb->warm_ask = broker_join(sb->m->broker, sb->key, on_joined, sb);
}

struct wait *
manager_warm(struct manager *m, struct sandbox *sb, manager_fn *fn, void *arg)
{
	struct wait *w;

	if (sb->warm == WARM_DONE || sb->life.state != LIFE_READY)
		return NULL;
	w = wait_new(m, WAIT_READY, sb, fn, arg);
	ask(sb);
	return w;
}

/* ---- rehearsal ---- */

static void
rehearsed(void *arg, const struct guest_done *d)
{
	struct sandbox *sb = arg;

	sb->rehearsal = NULL;
	if (d->err != NULL)
		sb->rehearsals = 1;
	if (--sb->rehearsals > 0)
		rehearse(sb);
	else
		pool_warm(sb);
}

static void
nothing(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct sandbox *sb = arg;

	(void)stream;
	(void)bytes;
	guest_took(sb->rehearsal, n);
}

static void
rehearse(struct sandbox *sb)
{
	static const struct guest_sink sink = { .output = nothing,
		.done = rehearsed };
	static const char cell[] = "pass";
	const struct guest_arg args[] = { { .name = "code",
					      .type = ARG_TEXT,
					      .text = cell,
					      .len = sizeof cell - 1 },
		{ .name = NULL } };
	const struct guest_request r = { .tool = "run_ipython_cell",
		.arg = args,
		.answer_ms = 20000,
		.work_ms = 20000,
		.cap = 4096,
		.sink = &sink,
		.sink_arg = sb };
	struct err err;

	sb->rehearsal =
	    sb->guest != NULL ? guest_call(sb->guest, &r, &err) : NULL;
	if (sb->rehearsal == NULL) {
		sb->rehearsals = 0;
		pool_warm(sb);
	}
}

void
warm_for_pool(struct sandbox *sb)
{
	sb->rehearsals = REHEARSALS;
	if (sb->warm == WARM_DONE)
		rehearse(sb);
	else
		ask(sb);
}

void
warm_enough(struct sandbox *sb)
{
	if (sb->rehearsal != NULL)
		guest_detach(take_ptr(&sb->rehearsal));
	sb->rehearsals = 0;
}

void
warm_stop(struct sandbox *sb)
{
	broker_forget(take_ptr(&sb->warm_ask));
	warm_enough(sb);
	sb->warm = WARM_NOT;
}
