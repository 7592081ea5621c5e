#include <stdlib.h>
#include <sys/queue.h>
#include "base/str.h"
#include "engine/engine.h"
#include "wire/loop.h"

struct engine {
	struct engine_conf conf;
	void (*drained)(void *);
	void *drained_arg;
};

struct engine *
engine_new(const struct engine_conf *conf)
{
	struct engine *e = xcalloc(1, sizeof *e);

	e->conf = *conf;
	return e;
}

static void
drained(void *arg)
{
	struct engine *e = arg;

	e->drained(e->drained_arg);
}

void
engine_drain(struct engine *e, int64_t end, void (*fn)(void *), void *arg)
{
	(void)end;
	e->drained = fn;
	e->drained_arg = arg;
	loop_post(e->conf.loop, drained, e);
}

void
engine_free(struct engine *e)
{
	if (e == NULL)
		return;
	loop_unpost(e->conf.loop, e);
	free(e);
}

struct deployment *
engine_find(struct engine *e, const char *name)
{
	(void)e;
	(void)name;
	return NULL;
}

struct deployment *
engine_next(struct engine *e, struct deployment *d)
{
	(void)e;
	(void)d;
	return NULL;
}
