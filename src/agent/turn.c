#include <stdbool.h>
#include <stdlib.h>
#include "agent/turn.h"
#include "base/str.h"
#include "wire/loop.h"

struct turn {
	struct watch *timer;
	turn_fn *fn;
	void *arg;
	bool due;
};

static void
take_turn(void *arg, int what)
{
	struct turn *t = arg;

	(void)what;
	t->due = false;
	if (t->fn(t->arg) == TURN_AGAIN)
		turn_go(t);
}

struct turn *
turn_new(struct loop *loop, turn_fn *fn, void *arg)
{
	struct turn *t = xcalloc(1, sizeof *t);

	t->fn = fn;
	t->arg = arg;
	t->timer = watch_timer(loop, take_turn, t);
	turn_go(t);
	return t;
}

void
turn_go(struct turn *t)
{
	if (t->due)
		return;
	t->due = true;
	watch_arm(t->timer, 0);
}

void
turn_free(struct turn *t)
{
	if (t == NULL)
		return;
	watch_free(t->timer);
	free(t);
}
