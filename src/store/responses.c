#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "store/db.h"
#include "store/responses.h"

/* Looking what is too much costs a walk over a tenant's rows: not too often. */
#define TRIM_PART 64 /* after this part of the bound */

enum {
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
	struct db *db;
	struct db_set *set;
	struct response_bounds bounds;
	unsigned puts; /* since the last trim */
	uint64_t bytes;
	bool open; /* a transaction */
};

/* As service.c's: never change one that has been released. */
static const char *const migrations[] = {
	"CREATE TABLE IF NOT EXISTS response ("
	" seq INTEGER PRIMARY KEY, tenant TEXT NOT NULL, id TEXT NOT NULL,"
	" agent TEXT NOT NULL, conversation TEXT NOT NULL,"
	" status TEXT NOT NULL, created_s INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, body TEXT NOT NULL, input TEXT NOT NULL,"
	" UNIQUE (tenant, id));"
	"CREATE INDEX IF NOT EXISTS response_size ON response"
	" (tenant, seq, bytes);"
	"CREATE INDEX IF NOT EXISTS response_talk ON response"
	" (tenant, conversation, seq) WHERE conversation != '';",
};

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

struct responses_store *
responses_open(const char *path, const struct response_bounds *bounds,
    struct err *err)
{
	struct responses_store *r = xcalloc(1, sizeof *r);

	r->bounds = *bounds;
	r->db = db_open(path, "responses", migrations,
	    (int)(sizeof migrations / sizeof *migrations), err);
	if (r->db != NULL)
		r->set = db_prepare(r->db, sql, STATEMENTS, err);
	if (r->set != NULL)
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
	db_finalize(r->set);
	db_close(r->db);
	free(r);
}

/* ---- writing ---- */

static int
total(struct responses_store *r, const char *tenant, uint64_t *bytes,
    struct err *err)
{
	if (db_run(r->set, TOTAL, err, "t", tenant) < 0)
		return -1;
	*bytes = (uint64_t)db_int(r->set, TOTAL, 0);
	db_done(r->set, TOTAL);
	return 0;
}

static int
trim(struct responses_store *r, const char *tenant, struct err *err)
{
	uint64_t bytes;

	if (++r->puts < r->bounds.rows / TRIM_PART &&
	    r->bytes < r->bounds.bytes / TRIM_PART)
		return 0;
	r->puts = 0;
	r->bytes = 0;
	if (db_run(r->set, TRIM_ROWS, err, "ti", tenant,
		(int64_t)r->bounds.rows) < 0 ||
	    total(r, tenant, &bytes, err) < 0)
		return -1;
	return bytes > r->bounds.bytes ? db_run(r->set, TRIM_BYTES, err, "ti",
					     tenant, (int64_t)r->bounds.bytes)
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
	size_t bytes = length(row->body) + length(row->input);

	if (!r->open) {
		if (db_begin(r->set, err) < 0)
			return -1;
		r->open = true;
	}
	if (db_run(r->set, PUT, err, "tttttttii", row->tenant, row->id,
		row->agent, row->conversation, row->status, row->body,
		row->input, row->created_s, (int64_t)bytes) < 0)
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
	return db_commit(r->set, err);
}

int
responses_delete(struct responses_store *r, const char *tenant, const char *id,
    struct err *err)
{
	if (db_run(r->set, DELETE, err, "tt", tenant, id) < 0)
		return -1;
	return db_changes(r->set) > 0;
}

int
responses_expire(struct responses_store *r, int64_t now_s, struct err *err)
{
	return db_run(r->set, EXPIRE, err, "i", now_s - r->bounds.age_s);
}

/* ---- reading ---- */

/* fn for each row from this one on; how many there were. */
static int
each(struct responses_store *r, int which, int more, response_fn *fn, void *arg,
    struct err *err)
{
	int n = 0;

	for (; more > 0; more = db_next(r->set, which, err), n++)
		fn(arg,
		    &(struct response_row){
			.tenant = db_text(r->set, which, 0),
			.id = db_text(r->set, which, 1),
			.agent = db_text(r->set, which, 2),
			.conversation = db_text(r->set, which, 3),
			.status = db_text(r->set, which, 4),
			.body = db_text(r->set, which, 5),
			.input = db_text(r->set, which, 6),
			.created_s = db_int(r->set, which, 7),
		    });
	return more < 0 ? -1 : n;
}

int
responses_get(struct responses_store *r, const char *tenant, const char *id,
    response_fn *fn, void *arg, struct err *err)
{
	return each(r, GET, db_run(r->set, GET, err, "tt", tenant, id), fn, arg,
	    err);
}

int
responses_conversation(struct responses_store *r, const char *tenant,
    const char *conversation, unsigned limit, response_fn *fn, void *arg,
    struct err *err)
{
	return each(r, CONVERSATION,
	    db_run(r->set, CONVERSATION, err, "tti", tenant, conversation,
		(int64_t)limit),
	    fn, arg, err);
}
