#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "store/a2a_tasks.h"
#include "store/db.h"

enum { PUT, GET, LIST, COUNT, UNDONE, EXPIRE, TRIM, STATEMENTS };

struct a2a_tasks {
	struct db *db;
	struct db_set *set;
	struct a2a_bounds bounds;
};

/* As service.c's: never change one that has been released. */
static const char *const migrations[] = {
	"CREATE TABLE IF NOT EXISTS task ("
	" tenant TEXT NOT NULL, agent TEXT NOT NULL, id TEXT NOT NULL,"
	" context TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,"
	" push TEXT NOT NULL, updated_ms INTEGER NOT NULL,"
	" PRIMARY KEY (tenant, agent, id));"
	"CREATE INDEX IF NOT EXISTS task_age ON task (tenant, updated_ms);",
};

#define FILTER                                                                 \
	" FROM task WHERE tenant = ?1 AND agent = ?2"                          \
	" AND (?3 = '' OR context = ?3) AND (?4 = '' OR state = ?4)"           \
	" AND updated_ms > ?5"
#define ROW "tenant, agent, id, context, state, body, push, updated_ms"

static const char *const sql[STATEMENTS] = {
	[PUT] = "INSERT OR REPLACE INTO task (" ROW
		") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[GET] = "SELECT " ROW
		" FROM task WHERE tenant = ?1 AND agent = ?2 AND id = ?3",
	[LIST] = "SELECT " ROW FILTER
		 " ORDER BY updated_ms DESC, id DESC LIMIT ?6 OFFSET ?7",
	[COUNT] = "SELECT count(*)" FILTER,
	[UNDONE] =
	    "SELECT " ROW " FROM task WHERE state IN ('submitted', 'working')",
	[EXPIRE] = "DELETE FROM task WHERE updated_ms < ?1",
	/* All but the newest that fit, of one tenant. */
	[TRIM] = "DELETE FROM task WHERE tenant = ?1 AND (agent, id) IN ("
		 " SELECT agent, id FROM (SELECT agent, id,"
		 "  row_number() OVER w AS n,"
		 "  sum(length(body) + length(push)) OVER w AS bytes"
		 "  FROM task WHERE tenant = ?1"
		 "  WINDOW w AS (ORDER BY updated_ms DESC, agent, id))"
		 " WHERE n > ?2 OR (bytes > ?3 AND n > 1))",
};

struct a2a_tasks *
a2a_tasks_open(const char *path, const struct a2a_bounds *bounds,
    struct err *err)
{
	struct a2a_tasks *t = xcalloc(1, sizeof *t);

	t->bounds = *bounds;
	t->db = db_open(path, "tasks", migrations,
	    (int)(sizeof migrations / sizeof *migrations), err);
	if (t->db != NULL)
		t->set = db_prepare(t->db, sql, STATEMENTS, err);
	if (t->set != NULL)
		return t;
	a2a_tasks_close(t);
	return NULL;
}

void
a2a_tasks_close(struct a2a_tasks *t)
{
	if (t == NULL)
		return;
	db_finalize(t->set);
	db_close(t->db);
	free(t);
}

int
a2a_tasks_put(struct a2a_tasks *t, const struct a2a_row *r, struct err *err)
{
	if (db_run(t->set, PUT, err, "ttttttti", r->tenant, r->agent, r->id,
		r->context, r->state, r->body, r->push, r->updated_ms) < 0 ||
	    db_run(t->set, TRIM, err, "tii", r->tenant, (int64_t)t->bounds.rows,
		(int64_t)t->bounds.bytes) < 0)
		return -1;
	return db_run(t->set, EXPIRE, err, "i",
	    r->updated_ms - t->bounds.age_ms);
}

/* fn for each row from this one on; how many there were. */
static int
rows(struct a2a_tasks *t, int which, int r, a2a_fn *fn, void *arg,
    struct err *err)
{
	int n = 0;

	for (; r > 0; r = db_next(t->set, which, err), n++)
		fn(arg,
		    &(struct a2a_row){ .tenant = db_text(t->set, which, 0),
			.agent = db_text(t->set, which, 1),
			.id = db_text(t->set, which, 2),
			.context = db_text(t->set, which, 3),
			.state = db_text(t->set, which, 4),
			.body = db_text(t->set, which, 5),
			.push = db_text(t->set, which, 6),
			.updated_ms = db_int(t->set, which, 7) });
	return r < 0 ? -1 : n;
}

int
a2a_tasks_get(struct a2a_tasks *t, const char *tenant, const char *agent,
    const char *id, a2a_fn *fn, void *arg, struct err *err)
{
	return rows(t, GET, db_run(t->set, GET, err, "ttt", tenant, agent, id),
	    fn, arg, err);
}

#define FILTER_KINDS "tttti"

static int64_t
after(const struct a2a_filter *f)
{
	return f->after_ms > 0 ? f->after_ms : INT64_MIN;
}

int
a2a_tasks_list(struct a2a_tasks *t, const struct a2a_filter *f, unsigned offset,
    unsigned limit, a2a_fn *fn, void *arg, struct err *err)
{
	int r = db_run(t->set, LIST, err, FILTER_KINDS "ii", f->tenant,
	    f->agent, f->context, f->state, after(f), (int64_t)limit,
	    (int64_t)offset);

	return rows(t, LIST, r, fn, arg, err);
}

int64_t
a2a_tasks_count(struct a2a_tasks *t, const struct a2a_filter *f,
    struct err *err)
{
	int64_t n;

	if (db_run(t->set, COUNT, err, FILTER_KINDS, f->tenant, f->agent,
		f->context, f->state, after(f)) < 0)
		return -1;
	n = db_int(t->set, COUNT, 0);
	db_done(t->set, COUNT);
	return n;
}

int
a2a_tasks_unfinished(struct a2a_tasks *t, a2a_fn *fn, void *arg,
    struct err *err)
{
	return rows(t, UNDONE, db_run(t->set, UNDONE, err, ""), fn, arg, err);
}
