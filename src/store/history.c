#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "store/db.h"
#include "store/history.h"

enum { PUT, LIST, TRIM, CLEAR, STATEMENTS };

#define THIS "tenant = ?1 AND agent = ?2 AND user = ?3 AND session = ?4"
#define KEY(k) (k)->tenant, (k)->agent, (k)->user, (k)->session

static const char *const sql[STATEMENTS] = {
	[PUT] = "INSERT INTO message (tenant, agent, user, session, body, "
		"said_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[LIST] = "SELECT body FROM (SELECT seq, body FROM message WHERE " THIS
		 " ORDER BY seq DESC LIMIT ?5) ORDER BY seq",
	[TRIM] = "DELETE FROM message WHERE " THIS " AND seq <= "
		 "(SELECT seq FROM message WHERE " THIS
		 " ORDER BY seq DESC LIMIT 1 OFFSET ?5)",
	[CLEAR] = "DELETE FROM message WHERE " THIS,
};

struct history_store {
	struct db_set *set;
};

struct history_store *
history_open(struct db *db, struct err *err)
{
	struct history_store *h = xcalloc(1, sizeof *h);

	if ((h->set = db_prepare(db, sql, STATEMENTS, err)) != NULL)
		return h;
	free(h);
	return NULL;
}

void
history_close(struct history_store *h)
{
	if (h == NULL)
		return;
	db_finalize(h->set);
	free(h);
}

int
history_append(struct history_store *h, const struct service_key *k,
    const char *const *bodies, size_t n, unsigned most, double now,
    struct err *err)
{
	if (db_begin(h->set, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (db_run(h->set, PUT, err, "tttttd", KEY(k), bodies[i], now) <
		    0)
			goto undo;
	if (db_run(h->set, TRIM, err, "tttti", KEY(k), (int64_t)most) < 0)
		goto undo;
	return db_commit(h->set, err);
undo:
	db_rollback(h->set);
	return -1;
}

int
history_list(struct history_store *h, const struct service_key *k,
    unsigned limit, void (*fn)(void *, const char *), void *arg,
    struct err *err)
{
	int r = db_run(h->set, LIST, err, "tttti", KEY(k), (int64_t)limit);

	while (r > 0) {
		fn(arg, db_text(h->set, LIST, 0));
		r = db_next(h->set, LIST, err);
	}
	return r;
}

int64_t
history_clear(struct history_store *h, const struct service_key *k,
    struct err *err)
{
	if (db_run(h->set, CLEAR, err, "tttt", KEY(k)) < 0)
		return -1;
	return db_changes(h->set);
}
