/* journal: the agents that are offered.  Few, and seldom written. */
#include <stddef.h>
#include "base/err.h"
#include "store/journal.h"
#include "store/journal_int.h"

static sqlite3_stmt *
prepare(struct journal *j, const char *sql, struct err *err)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL) == SQLITE_OK)
		return s;
	journal_fail(j, "agents", err);
	return NULL;
}

static int
finish(struct journal *j, sqlite3_stmt *s, struct err *err)
{
	int r = sqlite3_step(s);

	if (r != SQLITE_DONE)
		journal_fail(j, "agents", err);
	sqlite3_finalize(s);
	return r == SQLITE_DONE ? 0 : -1;
}

int
journal_agent_put(struct journal *j, const struct journal_agent *a,
    struct err *err)
{
	sqlite3_stmt *s = prepare(j,
	    "INSERT INTO agent (name, spec, code, tenant, created_at,"
	    " updated_at, deps) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
	    " ON CONFLICT (name) DO UPDATE SET spec = ?2, code = ?3,"
	    " tenant = ?4, updated_at = ?6, deps = ?7",
	    err);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, a->name, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, a->spec, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, a->code, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, a->tenant, -1, SQLITE_STATIC);
	sqlite3_bind_double(s, 5, a->created_at);
	sqlite3_bind_double(s, 6, a->updated_at);
	sqlite3_bind_text(s, 7, a->deps, -1, SQLITE_STATIC);
	return finish(j, s, err);
}

int
journal_agent_delete(struct journal *j, const char *name, struct err *err)
{
	sqlite3_stmt *s = prepare(j, "DELETE FROM agent WHERE name = ?1", err);

	if (s == NULL)
		return -1;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	return finish(j, s, err);
}

static const char *
text(sqlite3_stmt *s, int column)
{
	const char *at = (const char *)sqlite3_column_text(s, column);

	return at != NULL ? at : "";
}

int
journal_agent_each(struct journal *j,
    void (*fn)(void *, const struct journal_agent *), void *arg,
    struct err *err)
{
	sqlite3_stmt *s = prepare(j,
	    "SELECT name, spec, code, deps, tenant, created_at, updated_at"
	    " FROM agent ORDER BY seq",
	    err);
	int r;

	if (s == NULL)
		return -1;
	while ((r = sqlite3_step(s)) == SQLITE_ROW) {
		const struct journal_agent a = { text(s, 0), text(s, 1),
			text(s, 2), text(s, 3), text(s, 4),
			sqlite3_column_double(s, 5),
			sqlite3_column_double(s, 6) };

		fn(arg, &a);
	}
	sqlite3_finalize(s);
	return r == SQLITE_DONE ? 0 : journal_fail(j, "agents", err);
}
