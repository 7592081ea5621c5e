#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "store/responses.h"

#define BUSY_MS 2000
/* Looking what is too much costs a walk over a tenant's rows: not too often. */
#define TRIM_PART 64 /* after this part of the bound */

enum statement {
	PUT,
	GET,
	CONVERSATION,
	DELETE,
	EXPIRE,
	TRIM_ROWS,
	TOTAL,
	TRIM_BYTES,
	STATEMENTS
};

struct responses_store {
	sqlite3 *db;
	sqlite3_stmt *s[STATEMENTS];
	struct response_bounds bounds;
	unsigned puts; /* since the last trim */
	uint64_t bytes;
	bool open; /* a transaction */
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS response ("
    " seq INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL,"
    " agent TEXT NOT NULL, conversation TEXT NOT NULL, status TEXT NOT NULL,"
    " created_s INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " body TEXT NOT NULL, input TEXT NOT NULL, UNIQUE (tenant, id));"
    "CREATE INDEX IF NOT EXISTS response_size ON response"
    " (tenant, seq, bytes);"
    "CREATE INDEX IF NOT EXISTS response_talk ON response"
    " (tenant, conversation, seq) WHERE conversation != '';"
    "PRAGMA user_version = 1;";

#define ROW "r.tenant, r.id, r.agent, r.conversation, r.status, r.body, r.input"

static const char *const sql[STATEMENTS] = {
	/* A row keeps its place in the order. */
	[PUT] = "INSERT INTO response (tenant, id, agent, conversation,"
		" status, body, input, created_s, bytes)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
		" ON CONFLICT (tenant, id) DO UPDATE SET agent = ?3,"
		" conversation = ?4, status = ?5, body = ?6, input = ?7,"
		" created_s = ?8, bytes = ?9",
	[GET] = "SELECT " ROW ", r.created_s FROM response r"
		" WHERE r.tenant = ?1 AND r.id = ?2",
	[CONVERSATION] = "SELECT " ROW ", r.created_s FROM response r"
			 " WHERE r.seq IN (SELECT seq FROM response"
			 "  WHERE tenant = ?1 AND conversation = ?2"
			 "  AND conversation != ''"
			 "  ORDER BY seq DESC LIMIT ?3) ORDER BY r.seq",
	[DELETE] = "DELETE FROM response WHERE tenant = ?1 AND id = ?2",
	[EXPIRE] = "DELETE FROM response WHERE created_s < ?1",
	/* All but the newest, of one tenant; ?2: how many stay */
	[TRIM_ROWS] = "DELETE FROM response WHERE tenant = ?1 AND seq <="
		      " (SELECT seq FROM response WHERE tenant = ?1"
		      "  ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
	[TOTAL] = "SELECT sum(bytes) FROM response WHERE tenant = ?1",
	/* ?2: how many bytes stay; always the newest */
	[TRIM_BYTES] = "DELETE FROM response WHERE seq IN ("
		       " SELECT seq FROM (SELECT seq, row_number() OVER w AS n,"
		       "  sum(bytes) OVER w AS total FROM response"
		       "  WHERE tenant = ?1 WINDOW w AS (ORDER BY seq DESC))"
		       " WHERE total > ?2 AND n > 1)",
};

static int
fail(const struct responses_store *r, const char *what, struct err *err)
{
	return err_set(err, ERR_SYS, "responses: %s: %s", what,
	    sqlite3_errmsg(r->db));
}

static int
set_up(struct responses_store *r, struct err *err)
{
	static const char *const first[] = { "PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = NORMAL", "PRAGMA trusted_schema = OFF",
		schema };

	sqlite3_busy_timeout(r->db, BUSY_MS);
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (sqlite3_exec(r->db, first[i], NULL, NULL, NULL) !=
		    SQLITE_OK)
			return fail(r, "set-up", err);
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(r->db, sql[i], -1,
			SQLITE_PREPARE_PERSISTENT, &r->s[i], NULL) != SQLITE_OK)
			return fail(r, "prepare", err);
	return 0;
}

struct responses_store *
responses_open(const char *path, const struct response_bounds *bounds,
    struct err *err)
{
	struct responses_store *r = xcalloc(1, sizeof *r);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
	    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;

	r->bounds = *bounds;
	if (sqlite3_open_v2(path, &r->db, flags, NULL) != SQLITE_OK)
		fail(r, "open", err);
	else if (set_up(r, err) == 0)
		return r;
	responses_close(r);
	return NULL;
}

void
responses_close(struct responses_store *r)
{
	struct err err;

	if (r == NULL)
		return;
	if (r->open)
		responses_commit(r, &err);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(r->s[i]);
	sqlite3_close(r->db);
	free(r);
}

/* ---- writing ---- */

static void
bind_text(sqlite3_stmt *s, int n, const char *text)
{
	sqlite3_bind_text(s, n, text != NULL ? text : "", -1, SQLITE_STATIC);
}

/* Runs what changes something; the statement is ready for its next use. */
static int
change(struct responses_store *r, enum statement which, struct err *err)
{
	int rc = sqlite3_step(r->s[which]), bad = 0;

	if (rc != SQLITE_DONE)
		bad = fail(r, "write", err);
	sqlite3_reset(r->s[which]);
	sqlite3_clear_bindings(r->s[which]);
	return bad;
}

static int
cut(struct responses_store *r, enum statement which, const char *tenant,
    uint64_t stay, struct err *err)
{
	bind_text(r->s[which], 1, tenant);
	sqlite3_bind_int64(r->s[which], 2, (int64_t)stay);
	return change(r, which, err);
}

static uint64_t
total(struct responses_store *r, const char *tenant)
{
	sqlite3_stmt *s = r->s[TOTAL];
	int64_t n = 0;

	bind_text(s, 1, tenant);
	if (sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return n > 0 ? (uint64_t)n : 0;
}

static int
trim(struct responses_store *r, const char *tenant, struct err *err)
{
	if (++r->puts < r->bounds.rows / TRIM_PART &&
	    r->bytes < r->bounds.bytes / TRIM_PART)
		return 0;
	r->puts = 0;
	r->bytes = 0;
	if (cut(r, TRIM_ROWS, tenant, r->bounds.rows, err) < 0)
		return -1;
	return total(r, tenant) > r->bounds.bytes
	    ? cut(r, TRIM_BYTES, tenant, r->bounds.bytes, err)
	    : 0;
}

static size_t
length(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

int
responses_put(struct responses_store *r, const struct response_row *row,
    struct err *err)
{
	const char *texts[] = { row->tenant, row->id, row->agent,
		row->conversation, row->status, row->body, row->input };
	size_t bytes = length(row->body) + length(row->input);

	if (!r->open) {
		if (sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
			return fail(r, "begin", err);
		r->open = true;
	}
	for (int i = 0; i < 7; i++)
		bind_text(r->s[PUT], i + 1, texts[i]);
	sqlite3_bind_int64(r->s[PUT], 8, row->created_s);
	sqlite3_bind_int64(r->s[PUT], 9, (int64_t)bytes);
	if (change(r, PUT, err) < 0)
		return -1;
	r->bytes += bytes;
	return trim(r, row->tenant, err);
}

int
responses_commit(struct responses_store *r, struct err *err)
{
	if (!r->open)
		return 0;
	r->open = false;
	if (sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	fail(r, "commit", err);
	sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

int
responses_delete(struct responses_store *r, const char *tenant, const char *id,
    struct err *err)
{
	bind_text(r->s[DELETE], 1, tenant);
	bind_text(r->s[DELETE], 2, id);
	return change(r, DELETE, err) < 0 ? -1 : sqlite3_changes(r->db) > 0;
}

int
responses_expire(struct responses_store *r, int64_t now_s, struct err *err)
{
	sqlite3_bind_int64(r->s[EXPIRE], 1, now_s - r->bounds.age_s);
	return change(r, EXPIRE, err);
}

/* ---- reading ---- */

/* How many rows fn was called with. */
static int
each(struct responses_store *r, enum statement which, response_fn *fn,
    void *arg, struct err *err)
{
	sqlite3_stmt *s = r->s[which];
	const char *t[7];
	int n = 0, rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < 7; i++)
			t[i] = (const char *)sqlite3_column_text(s, i);
		fn(arg,
		    &(struct response_row){ .tenant = t[0],
			.id = t[1],
			.agent = t[2],
			.conversation = t[3],
			.status = t[4],
			.body = t[5],
			.input = t[6],
			.created_s = sqlite3_column_int64(s, 7) });
		n++;
	}
	if (rc != SQLITE_DONE)
		n = fail(r, "read", err);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return n;
}

static int
by_two(struct responses_store *r, enum statement which, const char *tenant,
    const char *key, response_fn *fn, void *arg, struct err *err)
{
	bind_text(r->s[which], 1, tenant);
	bind_text(r->s[which], 2, key);
	return each(r, which, fn, arg, err);
}

int
responses_get(struct responses_store *r, const char *tenant, const char *id,
    response_fn *fn, void *arg, struct err *err)
{
	return by_two(r, GET, tenant, id, fn, arg, err);
}

int
responses_conversation(struct responses_store *r, const char *tenant,
    const char *conversation, unsigned limit, response_fn *fn, void *arg,
    struct err *err)
{
	sqlite3_bind_int64(r->s[CONVERSATION], 3, limit);
	return by_two(r, CONVERSATION, tenant, conversation, fn, arg, err);
}
