#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/log.h"
#include "base/str.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/lease.h"
#include "wire/loop.h"

struct lease {
	TAILQ_ENTRY(lease) entry;
	struct leases *of;
	struct watch *timer;
	char id[64];
};

struct leases {
	struct app *app;
	TAILQ_HEAD(, lease) all;
};

struct leases *
leases_new(struct app *app)
{
	struct leases *ls = xcalloc(1, sizeof *ls);

	ls->app = app;
	TAILQ_INIT(&ls->all);
	return ls;
}

static void
drop(struct lease *l)
{
	TAILQ_REMOVE(&l->of->all, l, entry);
	watch_free(l->timer);
	free(l);
}

void
leases_free(struct leases *ls)
{
	struct lease *l;

	while ((l = TAILQ_FIRST(&ls->all)) != NULL)
		drop(l);
	free(ls);
}

static void
run_out(void *arg, int what)
{
	struct lease *l = arg;

	(void)what;
	log_say(LOG_INFO, "nobody came for it", "sandbox", l->id, NULL);
	manager_release(l->of->app->manager, -1, l->id);
	drop(l);
}

void
lease_add(struct leases *ls, const char *id, uint32_t seconds)
{
	struct lease *l = xcalloc(1, sizeof *l);

	l->of = ls;
	strncpy(l->id, id, sizeof l->id - 1);
	l->timer = watch_timer(ls->app->loop, run_out, l);
	watch_arm(l->timer, (int64_t)seconds * 1000);
	TAILQ_INSERT_TAIL(&ls->all, l, entry);
}

void
lease_end(struct leases *ls, const char *id)
{
	struct lease *l = TAILQ_FIRST(&ls->all);

	while (l != NULL && strcmp(l->id, id) != 0)
		l = TAILQ_NEXT(l, entry);
	if (l != NULL)
		drop(l);
}
