#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "store/db.h"
#include "store/state.h"

enum {
	GET,
	PUT,
	DROP,
	HELD,
	LOCK,
	UNLOCK,
	EXPIRE,
	EXPIRE_LOCKS,
	NO_LOCKS,
	STATEMENTS
};

#define THIS                                                                   \
	"tenant = ?1 AND agent = ?2 AND user = ?3 AND session = ?4 AND "       \
	"name = ?5"
#define KEY(k) (k)->tenant, (k)->agent, (k)->user, (k)->session

static const char *const sql[STATEMENTS] = {
	[GET] = "SELECT value, version FROM state WHERE " THIS
		" AND (expires_at = 0 OR expires_at > ?6)",
	[PUT] = ("INSERT OR REPLACE INTO state (tenant, agent, user, session, "
		 "name, value, saved_at, expires_at) "
		 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"),
	[DROP] = "DELETE FROM state WHERE " THIS,
	[HELD] = "SELECT owner FROM lock WHERE " THIS
		 " AND until > ?6 AND owner <> ?7",
	[LOCK] = "INSERT OR REPLACE INTO lock (tenant, agent, user, session, "
		 "name, owner, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[UNLOCK] = "DELETE FROM lock WHERE owner = ?1 AND tenant = ?2",
	[EXPIRE] =
	    "DELETE FROM state WHERE expires_at > 0 AND expires_at <= ?1",
	[NO_LOCKS] = "DELETE FROM lock",
	[EXPIRE_LOCKS] = "DELETE FROM lock WHERE until <= ?1",
};

struct state_store {
	struct db_set *set;
};

struct state_store *
state_open(struct db *db, struct err *err)
{
	struct state_store *s = xcalloc(1, sizeof *s);

	s->set = db_prepare(db, sql, STATEMENTS, err);
	/* Whoever held one has gone with the process before us. */
	if (s->set != NULL && db_run(s->set, NO_LOCKS, err, "") >= 0)
		return s;
	state_close(s);
	return NULL;
}

void
state_close(struct state_store *s)
{
	if (s == NULL)
		return;
	db_finalize(s->set);
	free(s);
}

int
state_get(struct state_store *s, const struct service_key *k, const char *name,
    double now, void (*fn)(void *, const char *, int64_t), void *arg,
    struct err *err)
{
	int r = db_run(s->set, GET, err, "tttttd", KEY(k), name, now);

	if (r <= 0)
		return r;
	fn(arg, db_text(s->set, GET, 0), db_int(s->set, GET, 1));
	db_done(s->set, GET);
	return 1;
}

static int
free_to_change(struct state_store *s, const struct service_key *k,
    const char *name, const char *owner, double now, struct err *err)
{
	int r = db_run(s->set, HELD, err, "tttttdt", KEY(k), name, now, owner);

	if (r <= 0)
		return r;
	db_done(s->set, HELD);
	return err_set(err, ERR_DENIED, "%.80s is locked by another run", name);
}

static int
is_version(struct state_store *s, const struct service_key *k,
    const struct state_put *p, struct err *err)
{
	int64_t have = 0;
	int r;

	if (p->if_version < 0)
		return 0;
	r = db_run(s->set, GET, err, "tttttd", KEY(k), p->name, p->now);
	if (r < 0)
		return -1;
	if (r > 0) {
		have = db_int(s->set, GET, 1);
		db_done(s->set, GET);
	}
	if (have == p->if_version)
		return 0;
	return err_set(err, ERR_BUSY, "%.80s is of version %lld, not %lld",
	    p->name, (long long)have, (long long)p->if_version);
}

int64_t
state_put(struct state_store *s, const struct service_key *k,
    const struct state_put *p, struct err *err)
{
	if (free_to_change(s, k, p->name, p->owner, p->now, err) < 0 ||
	    is_version(s, k, p, err) < 0 ||
	    db_run(s->set, PUT, err, "ttttttdd", KEY(k), p->name, p->value,
		p->now, p->expires_at) < 0)
		return -1;
	return db_last(s->set);
}

int
state_delete(struct state_store *s, const struct service_key *k,
    const char *name, const char *owner, double now, struct err *err)
{
	if (free_to_change(s, k, name, owner, now, err) < 0 ||
	    db_run(s->set, DROP, err, "ttttt", KEY(k), name) < 0)
		return -1;
	return db_changes(s->set) > 0;
}

int
state_lock(struct state_store *s, const struct service_key *k, const char *name,
    const char *owner, double until, double now, struct err *err)
{
	if (free_to_change(s, k, name, owner, now, err) < 0)
		return -1;
	return db_run(s->set, LOCK, err, "ttttttd", KEY(k), name, owner, until);
}

int
state_unlock(struct state_store *s, const char *tenant, const char *owner,
    struct err *err)
{
	return db_run(s->set, UNLOCK, err, "tt", owner, tenant);
}

int
state_expire(struct state_store *s, double now, struct err *err)
{
	if (db_run(s->set, EXPIRE, err, "d", now) < 0)
		return -1;
	return db_run(s->set, EXPIRE_LOCKS, err, "d", now);
}
