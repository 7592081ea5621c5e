#include "store/a2a_tasks.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"

#define BUSY_MS 2000

enum statement { PUT, GET, LIST, COUNT, UNDONE, EXPIRE, TRIM, STATEMENTS };

struct a2a_tasks {
	sqlite3 *db;
	sqlite3_stmt *s[STATEMENTS];
	struct a2a_bounds bounds;
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS task ("
    " tenant TEXT NOT NULL, agent TEXT NOT NULL, id TEXT NOT NULL,"
    " context TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL,"
    " push TEXT NOT NULL, updated_ms INTEGER NOT NULL,"
    " PRIMARY KEY (tenant, agent, id));"
    "CREATE INDEX IF NOT EXISTS task_age ON task (tenant, updated_ms);"
    "PRAGMA user_version = 1;";

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

static int
fail(const struct a2a_tasks *t, const char *what, struct err *err)
{
	return err_set(err, ERR_SYS, "tasks: %s: %s", what,
	    sqlite3_errmsg(t->db));
}

static int
set_up(struct a2a_tasks *t, struct err *err)
{
	static const char *const first[] = { "PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = NORMAL", "PRAGMA trusted_schema = OFF",
		schema };

	sqlite3_busy_timeout(t->db, BUSY_MS);
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (sqlite3_exec(t->db, first[i], NULL, NULL, NULL) !=
		    SQLITE_OK)
			return fail(t, "set-up", err);
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(t->db, sql[i], -1,
			SQLITE_PREPARE_PERSISTENT, &t->s[i], NULL) != SQLITE_OK)
			return fail(t, "prepare", err);
	return 0;
}

struct a2a_tasks *
a2a_tasks_open(const char *path, const struct a2a_bounds *bounds,
    struct err *err)
{
	struct a2a_tasks *t = xcalloc(1, sizeof *t);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
	    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;

	t->bounds = *bounds;
	if (sqlite3_open_v2(path, &t->db, flags, NULL) != SQLITE_OK)
		fail(t, "open", err);
	else if (set_up(t, err) == 0)
		return t;
	a2a_tasks_close(t);
	return NULL;
}

void
a2a_tasks_close(struct a2a_tasks *t)
{
	if (t == NULL)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(t->s[i]);
	sqlite3_close(t->db);
	free(t);
}

static void
bind_text(sqlite3_stmt *s, int n, const char *text)
{
	sqlite3_bind_text(s, n, text != NULL ? text : "", -1, SQLITE_STATIC);
}

/* Runs what changes something; the statement is ready for its next use. */
static int
change(struct a2a_tasks *t, enum statement which, struct err *err)
{
	int rc = sqlite3_step(t->s[which]), bad = 0;

	if (rc != SQLITE_DONE)
		bad = fail(t, "write", err);
	sqlite3_reset(t->s[which]);
	sqlite3_clear_bindings(t->s[which]);
	return bad;
}

int
a2a_tasks_put(struct a2a_tasks *t, const struct a2a_row *r, struct err *err)
{
	sqlite3_stmt *s = t->s[PUT];
	const char *texts[] = { r->tenant, r->agent, r->id, r->context,
		r->state, r->body, r->push };

	for (int i = 0; i < 7; i++)
		bind_text(s, i + 1, texts[i]);
	sqlite3_bind_int64(s, 8, r->updated_ms);
	if (change(t, PUT, err) < 0)
		return -1;
	s = t->s[TRIM];
	bind_text(s, 1, r->tenant);
	sqlite3_bind_int64(s, 2, t->bounds.rows);
	sqlite3_bind_int64(s, 3, (int64_t)t->bounds.bytes);
	if (change(t, TRIM, err) < 0)
		return -1;
	return a2a_tasks_expire(t, r->updated_ms, err);
}

int
a2a_tasks_expire(struct a2a_tasks *t, int64_t now_ms, struct err *err)
{
	sqlite3_bind_int64(t->s[EXPIRE], 1, now_ms - t->bounds.age_ms);
	return change(t, EXPIRE, err);
}

static const char *
column(sqlite3_stmt *s, int n)
{
	const char *text = (const char *)sqlite3_column_text(s, n);

	return text != NULL ? text : "";
}

/* fn for each row; how many there were. */
static int
rows(struct a2a_tasks *t, enum statement which, a2a_fn *fn, void *arg,
    struct err *err)
{
	sqlite3_stmt *s = t->s[which];
	int n = 0, rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct a2a_row r = { column(s, 0), column(s, 1), column(s, 2),
			column(s, 3), column(s, 4), column(s, 5), column(s, 6),
			sqlite3_column_int64(s, 7) };

		fn(arg, &r);
		n++;
	}
	if (rc != SQLITE_DONE)
		n = fail(t, "read", err);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return n;
}

int
a2a_tasks_get(struct a2a_tasks *t, const char *tenant, const char *agent,
    const char *id, a2a_fn *fn, void *arg, struct err *err)
{
	bind_text(t->s[GET], 1, tenant);
	bind_text(t->s[GET], 2, agent);
	bind_text(t->s[GET], 3, id);
	return rows(t, GET, fn, arg, err);
}

static void
bind_filter(sqlite3_stmt *s, const struct a2a_filter *f)
{
	bind_text(s, 1, f->tenant);
	bind_text(s, 2, f->agent);
	bind_text(s, 3, f->context);
	bind_text(s, 4, f->state);
	sqlite3_bind_int64(s, 5, f->after_ms > 0 ? f->after_ms : INT64_MIN);
}

int
a2a_tasks_list(struct a2a_tasks *t, const struct a2a_filter *f, unsigned offset,
    unsigned limit, a2a_fn *fn, void *arg, struct err *err)
{
	bind_filter(t->s[LIST], f);
	sqlite3_bind_int64(t->s[LIST], 6, limit);
	sqlite3_bind_int64(t->s[LIST], 7, offset);
	return rows(t, LIST, fn, arg, err);
}

int64_t
a2a_tasks_count(struct a2a_tasks *t, const struct a2a_filter *f,
    struct err *err)
{
	sqlite3_stmt *s = t->s[COUNT];
	int64_t n = -1;

	bind_filter(s, f);
	if (sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	else
		fail(t, "count", err);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return n;
}

int
a2a_tasks_unfinished(struct a2a_tasks *t, a2a_fn *fn, void *arg,
    struct err *err)
{
	return rows(t, UNDONE, fn, arg, err);
}
