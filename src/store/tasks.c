#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "store/db.h"
#include "store/tasks.h"

enum { PUT, GET, COUNT, OLDEST, EXPIRE, ORPHANS, STATEMENTS };

#define COLUMNS                                                                \
	"id, tenant, agent, queue, state, result, submitted_at, started_at, "  \
	"ended_at"

static const char *const sql[STATEMENTS] = {
	[PUT] = "INSERT OR REPLACE INTO task (" COLUMNS ") "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[GET] = "SELECT " COLUMNS " FROM task WHERE id = ?1 AND tenant = ?2",
	[COUNT] = "SELECT count(*) FROM task WHERE tenant = ?1",
	[OLDEST] = "DELETE FROM task WHERE id = (SELECT id FROM task WHERE "
		   "tenant = ?1 AND ended_at > 0 ORDER BY ended_at LIMIT 1)",
	[EXPIRE] = "DELETE FROM task WHERE ended_at > 0 AND ended_at < ?1",
	[ORPHANS] = "UPDATE task SET state = 'error', ended_at = ?1, result = "
		    "'\"the daemon was restarted\"' WHERE ended_at = 0",
};

struct tasks_store {
	struct db_set *set;
};

struct tasks_store *
tasks_open(struct db *db, struct err *err)
{
	struct tasks_store *t = xcalloc(1, sizeof *t);

	t->set = db_prepare(db, sql, STATEMENTS, err);
	if (t->set != NULL &&
	    db_run(t->set, ORPHANS, err, "d", clock_unix()) >= 0)
		return t;
	tasks_close(t);
	return NULL;
}

void
tasks_close(struct tasks_store *t)
{
	if (t == NULL)
		return;
	db_finalize(t->set);
	free(t);
}

int
tasks_put(struct tasks_store *t, const struct task_row *r, struct err *err)
{
	return db_run(t->set, PUT, err, "ttttttddd", r->id, r->tenant, r->agent,
	    r->queue, r->state, r->result, r->submitted_at, r->started_at,
	    r->ended_at);
}

int
tasks_get(struct tasks_store *t, const char *tenant, const char *id,
    void (*fn)(void *, const struct task_row *), void *arg, struct err *err)
{
	int r = db_run(t->set, GET, err, "tt", id, tenant);

	if (r <= 0)
		return r;
	fn(arg,
	    &(struct task_row){
		.id = db_text(t->set, GET, 0),
		.tenant = db_text(t->set, GET, 1),
		.agent = db_text(t->set, GET, 2),
		.queue = db_text(t->set, GET, 3),
		.state = db_text(t->set, GET, 4),
		.result = db_text(t->set, GET, 5),
		.submitted_at = db_real(t->set, GET, 6),
		.started_at = db_real(t->set, GET, 7),
		.ended_at = db_real(t->set, GET, 8),
	    });
	db_done(t->set, GET);
	return 1;
}

int64_t
tasks_count(struct tasks_store *t, const char *tenant, struct err *err)
{
	int r = db_run(t->set, COUNT, err, "t", tenant);
	int64_t n;

	if (r <= 0)
		return r;
	n = db_int(t->set, COUNT, 0);
	db_done(t->set, COUNT);
	return n;
}

int
tasks_drop_oldest(struct tasks_store *t, const char *tenant, struct err *err)
{
	if (db_run(t->set, OLDEST, err, "t", tenant) < 0)
		return -1;
	return db_changes(t->set) > 0;
}

int
tasks_expire(struct tasks_store *t, double before, struct err *err)
{
	return db_run(t->set, EXPIRE, err, "d", before);
}
