#include <stddef.h>
#include "base/err.h"
#include "store/db.h"
#include "store/service.h"

/*
 * Each brings the schema from its index to the next.  Never change one that
 * has been released: add one.
 *
 * A state's version is its row's number, which is never given twice: a value
 * that was deleted and saved anew is another version.
 */
/* clang-format off */
#define WHOSE "tenant TEXT NOT NULL, agent TEXT NOT NULL, user TEXT NOT NULL"
#define TALLY(table, size)						       \
	"CREATE TRIGGER " table "_in AFTER INSERT ON " table " BEGIN"	       \
	" INSERT INTO tally VALUES (new.tenant, " size("new") ")"	       \
	" ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes;"  \
	"END;"								       \
	"CREATE TRIGGER " table "_out AFTER DELETE ON " table " BEGIN"	       \
	" UPDATE tally SET bytes = bytes - (" size("old") ")"		       \
	" WHERE tenant = old.tenant;"					       \
	"END;"
#define STATE_SIZE(row) "length(CAST(" row ".value AS BLOB)) + 200"
#define MESSAGE_SIZE(row) "length(CAST(" row ".body AS BLOB)) + 200"
#define MEMORY_SIZE(row) "2 * length(CAST(" row ".text AS BLOB)) + length(CAST(" row ".metadata AS BLOB)) + 300"

static const char *const migrations[] = {
	"CREATE TABLE tally (tenant TEXT PRIMARY KEY, bytes INTEGER NOT NULL)"
	" WITHOUT ROWID;"
	"CREATE TABLE state (version INTEGER PRIMARY KEY AUTOINCREMENT, " WHOSE
	", session TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
	" saved_at REAL NOT NULL, expires_at REAL NOT NULL,"
	" UNIQUE (tenant, agent, user, session, name));"
	"CREATE INDEX state_expiry ON state (expires_at) WHERE expires_at > 0;"
	TALLY("state", STATE_SIZE)
	"CREATE TABLE message (seq INTEGER PRIMARY KEY AUTOINCREMENT, " WHOSE
	", session TEXT NOT NULL, body TEXT NOT NULL, said_at REAL NOT NULL);"
	"CREATE INDEX message_of ON message (tenant, agent, user, session, seq);"
	TALLY("message", MESSAGE_SIZE)
	"CREATE TABLE memory (seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	" id TEXT NOT NULL UNIQUE, " WHOSE ", text TEXT NOT NULL,"
	" metadata TEXT NOT NULL, made_at REAL NOT NULL);"
	"CREATE INDEX memory_of ON memory (tenant, agent, user, seq);"
	TALLY("memory", MEMORY_SIZE)
	"CREATE VIRTUAL TABLE words USING fts5 (scope, text,"
	" tokenize = 'porter unicode61 remove_diacritics 2');"
	"CREATE TABLE task (id TEXT PRIMARY KEY, tenant TEXT NOT NULL,"
	" agent TEXT NOT NULL, queue TEXT NOT NULL, state TEXT NOT NULL,"
	" result TEXT NOT NULL, submitted_at REAL NOT NULL,"
	" started_at REAL NOT NULL, ended_at REAL NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX task_of ON task (tenant, ended_at);"
	"CREATE INDEX task_over ON task (ended_at) WHERE ended_at > 0;",
	"CREATE TABLE lock (" WHOSE ", session TEXT NOT NULL,"
	" name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,"
	" PRIMARY KEY (tenant, agent, user, session, name)) WITHOUT ROWID;"
	"CREATE INDEX lock_of ON lock (owner);",
};
/* clang-format on */

struct db *
service_open(const char *path, struct err *err)
{
	return db_open(path, "services", migrations,
	    (int)(sizeof migrations / sizeof *migrations), err);
}

static const char *const sums[] = {
	"SELECT bytes FROM tally WHERE tenant = ?1",
};

struct db_set *
service_sums(struct db *db, struct err *err)
{
	return db_prepare(db, sums, sizeof sums / sizeof *sums, err);
}

int64_t
service_bytes(struct db_set *set, const char *tenant, struct err *err)
{
	int r = db_run(set, 0, err, "t", tenant);
	int64_t bytes;

	if (r <= 0)
		return r;
	bytes = db_int(set, 0, 0);
	db_done(set, 0);
	return bytes;
}
