#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/services_int.h"
#include "store/db.h"
#include "store/history.h"
#include "store/memory.h"
#include "store/state.h"
#include "store/tasks.h"
#include "wire/loop.h"

#define SWEEP_MS 60000

static void
sweep(void *arg, int what)
{
	struct services *s = arg;
	struct err err;

	(void)what;
	if (state_expire(s->state, clock_unix(), &err) < 0)
		log_err(LOG_WARN, &err, "state not swept", NULL);
	watch_arm(s->sweep, SWEEP_MS);
}

struct services *
services_new(const struct services_conf *conf, struct err *err)
{
	struct services *s = xcalloc(1, sizeof *s);

	s->conf = *conf;
	TAILQ_INIT(&s->boxes);
	if ((s->db = service_open(conf->path, err)) == NULL ||
	    (s->sums = service_sums(s->db, err)) == NULL ||
	    (s->tasks = tasks_open(s->db, err)) == NULL ||
	    (s->state = state_open(s->db, err)) == NULL ||
	    (s->history = history_open(s->db, err)) == NULL ||
	    (s->memory = memory_open(s->db, err)) == NULL) {
		services_free(s);
		return NULL;
	}
	s->sweep = watch_timer(conf->loop, sweep, s);
	watch_arm(s->sweep, SWEEP_MS);
	return s;
}

void
services_free(struct services *s)
{
	if (s == NULL)
		return;
	box_forget(s, NULL);
	watch_free(s->sweep);
	memory_close(s->memory);
	history_close(s->history);
	state_close(s->state);
	tasks_close(s->tasks);
	db_finalize(s->sums);
	db_close(s->db);
	free(s);
}

struct tasks_store *
services_tasks(struct services *s)
{
	return s->tasks;
}

void
services_forget(struct services *s, void *arg)
{
	box_forget(s, arg);
}

void
services_unlock(struct services *s, int tenant, const char *owner)
{
	struct err err;

	/* Few agents ever lock: most runs end without asking. */
	if (clock_unix() > s->locked_until)
		return;
	if (state_unlock(s->state, services_tenant(s, tenant), owner, &err) < 0)
		log_err(LOG_WARN, &err, "locks not released", NULL);
}
