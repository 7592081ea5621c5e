#include <fcntl.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/cell.h"
#include "agent/interp.h"
#include "agent/pump.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "wire/loop.h"

#define ORPHAN_MS 1000
#define WAITING_MAX 1000

struct cell {
	TAILQ_ENTRY(cell) next;
	struct call *call;
	int code; /* a memory file; -1: handed over */
	struct pump out, err;
	bool over;    /* only its output is on its way */
	bool asked;   /* to end, by */
	bool timeout; /* its time, or by the front */
	struct err why;
	bool failed; /* .why says how */
	int exit;    /* of the interpreter, if that is what ended it */
	bool died;
};

static struct {
	const struct world *world;
	struct cell *now; /* in the interpreter */
	TAILQ_HEAD(cells, cell) waiting;
	unsigned nwaiting;
	struct watch *orphan; /* now is alone, and another waits */
	bool lost;            /* it ended between two cells; .why */
	struct err why;
} all = { .waiting = TAILQ_HEAD_INITIALIZER(all.waiting) };

static void start_next(void *);

/* ---- the end of a cell ---- */

static void
finish(void *arg)
{
	struct cell *c = arg;
	struct call_result r = { .err = c->failed ? &c->why : NULL,
		.has_exit = c->died,
		.exit = c->exit };

	if (!c->over || c->out.fd >= 0 || c->err.fd >= 0)
		return;
	loop_unpost(all.world->loop, c);
	call_done(c->call, &r);
	free(c);
}

static void
pump_over(void *arg)
{
	struct cell *c = arg;

	if (c->over) /* not from inside: finish() frees the pump */
		loop_post(all.world->loop, finish, c);
}

static void
wind_up(struct cell *c)
{
	if (all.now == c)
		all.now = NULL;
	watch_stop(all.orphan);
	pump_finish(&c->out);
	pump_finish(&c->err);
	c->over = true;
	finish(c); /* now, so that it leaves with the last output */
	loop_post(all.world->loop, start_next, &all);
}

static void
done(void)
{
	struct cell *c = all.now;

	if (c == NULL)
		return;
	if (c->asked) {
		c->failed = true;
		err_set(&c->why, c->timeout ? ERR_TIMEOUT : ERR_BUSY,
		    "interrupted %s; the interpreter's state is kept",
		    c->timeout ? "after the time it was given" : "on request");
	}
	wind_up(c);
}

static void
died(const char *why, int how)
{
	struct cell *c = all.now;

	if (c == NULL) {
		all.lost = true;
		err_set(&all.why, ERR_BUSY,
		    "%s, after the last cell; its state is lost.  This cell "
		    "was not run, the next one gets a new interpreter",
		    why);
		start_next(&all);
		return;
	}
	c->failed = c->died = true;
	c->exit = how;
	err_set(&c->why, c->asked && c->timeout ? ERR_TIMEOUT : ERR_BUSY,
	    "%s; its state is lost, and the next cell gets a new interpreter",
	    why);
	wind_up(c);
}

/* ---- orphans ---- */

static void
orphan_late(void *arg, int what)
{
	(void)arg;
	(void)what;
	if (all.now != NULL && call_alone(all.now->call))
		interp_interrupt();
}

static void
watch_orphan(void)
{
	if (all.now != NULL && !TAILQ_EMPTY(&all.waiting) &&
	    call_alone(all.now->call))
		watch_arm(all.orphan, ORPHAN_MS);
}

/* ---- what the front says to it ---- */

static void
on_room(void *work)
{
	struct cell *c = work;

	pump_room(&c->out);
	pump_room(&c->err);
}

static void
on_alone(void *work)
{
	on_room(work); /* what is written from now on is dropped */
	watch_orphan();
}

static void
on_end(void *work, enum call_end why)
{
	struct cell *c = work;
	struct err err;

	if (c->over) {
		pump_drop(&c->out);
		pump_drop(&c->err);
		return;
	}
	c->asked = true;
	c->timeout = why == END_TIMEOUT;
	if (c == all.now) {
		interp_interrupt();
		return;
	}
	TAILQ_REMOVE(&all.waiting, c, next);
	all.nwaiting--;
	err_set(&err, c->timeout ? ERR_TIMEOUT : ERR_BUSY,
	    "%s before the cells in front of it were done",
	    c->timeout ? "its time was over" : "cancelled");
	close(take_fd(&c->code));
	call_done(c->call, &(struct call_result){ .err = &err });
	free(c);
}

static const struct call_ops ops = {
	.room = on_room,
	.alone = on_alone,
	.end = on_end,
};

/* ---- the beginning ---- */

static int
begin(struct cell *c, struct err *err)
{
	auto_fd int out_w = -1, err_w = -1, out_r = -1, err_r = -1;
	int fd[2];

	if (all.lost) { /* a cell that counts on the state must not run */
		all.lost = false;
		*err = all.why;
		return -1;
	}
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	out_r = fd[0];
	out_w = fd[1];
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	err_r = fd[0];
	err_w = fd[1];
	if (interp_run(c->code, out_w, err_w, err) < 0)
		return -1;
	pump_start(&c->out, c->call, take_fd(&out_r), STREAM_OUT, pump_over, c);
	pump_start(&c->err, c->call, take_fd(&err_r), STREAM_ERR, pump_over, c);
	call_begun(c->call);
	return 0;
}

static void
start_next(void *arg)
{
	struct cell *c;
	struct err err;

	(void)arg;
	while (all.now == NULL && !interp_ending() &&
	    (c = TAILQ_FIRST(&all.waiting)) != NULL) {
		TAILQ_REMOVE(&all.waiting, c, next);
		all.nwaiting--;
		all.now = c;
		if (begin(c, &err) == 0) {
			close(take_fd(&c->code));
			continue;
		}
		all.now = NULL;
		close(take_fd(&c->code));
		call_done(c->call, &(struct call_result){ .err = &err });
		free(c);
	}
	watch_orphan();
}

void
cell_init(const struct world *world)
{
	static const struct interp_owner owner = { .done = done,
		.ended = died };

	all.world = world;
	all.orphan = watch_timer(world->loop, orphan_late, NULL);
	interp_init(world, &owner);
}

int
cell_add(struct call *call, const char *code, size_t n, struct err *err)
{
	struct cell *c;
	int fd;

	if (all.nwaiting >= WAITING_MAX)
		return err_set(err, ERR_LIMIT, "%d cells are waiting already",
		    WAITING_MAX);
	fd = file_memfd("cell", code, n, err);
	if (fd < 0)
		return -1;
	c = xcalloc(1, sizeof *c);
	c->call = call;
	c->code = fd;
	c->out.fd = c->err.fd = -1;
	TAILQ_INSERT_TAIL(&all.waiting, c, next);
	all.nwaiting++;
	call_work(call, &ops, c);
	if (all.now == NULL)
		start_next(&all);
	else
		watch_orphan();
	return 0;
}
