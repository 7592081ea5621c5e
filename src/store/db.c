#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "store/db.h"

#define BUSY_MS 2000 /* a backup, or a curious operator */

struct db {
	sqlite3 *h;
	char *what;
};

struct db_set {
	struct db *db;
	size_t n;
	sqlite3_stmt *s[];
};

static int
fail(const struct db *db, const char *doing, struct err *err)
{
	enum err_code code = ERR_SYS;

	if (sqlite3_errcode(db->h) == SQLITE_FULL ||
	    (sqlite3_errcode(db->h) & 0xff) == SQLITE_CONSTRAINT)
		code = ERR_LIMIT;
	return err_set(err, code, "%s: %s: %s", db->what, doing,
	    sqlite3_errmsg(db->h));
}

static int
run(struct db *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db->h, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(db, "statement", err);
	return 0;
}

static int
version(const struct db *db)
{
	sqlite3_stmt *s;
	int at = -1;

	if (sqlite3_prepare_v2(db->h, "PRAGMA user_version", -1, &s, NULL) !=
	    SQLITE_OK)
		return -1;
	if (sqlite3_step(s) == SQLITE_ROW)
		at = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return at;
}

static int
migrate(struct db *db, const char *const *migrations, int n, struct err *err)
{
	int at = version(db);

	if (at < 0)
		return fail(db, "version", err);
	if (at > n)
		return err_set(err, ERR_DENIED,
		    "%s: its schema is of version %d, written by a later "
		    "hutch; this one knows %d",
		    db->what, at, n);
	for (; at < n; at++) {
		auto_free char *done =
		    xasprintf("PRAGMA user_version = %d", at + 1);

		if (run(db, "BEGIN IMMEDIATE", err) < 0)
			return -1;
		if (run(db, migrations[at], err) < 0 ||
		    run(db, done, err) < 0 || run(db, "COMMIT", err) < 0) {
			sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
			return -1;
		}
	}
	return 0;
}

/* What agents keep is nobody's to read; -wal and -shm have its mode. */
static void
make_private(const char *path)
{
	int fd;

	if (*path == ':')
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		fchmod(fd, 0600);
		close(fd);
	}
}

struct db *
db_open(const char *path, const char *what, const char *const *migrations,
    int n, struct err *err)
{
	struct db *db = xcalloc(1, sizeof *db);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
	    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;

	db->what = xstrdup(what);
	make_private(path);
	if (sqlite3_open_v2(path, &db->h, flags, NULL) != SQLITE_OK)
		fail(db, "open", err);
	else {
		sqlite3_busy_timeout(db->h, BUSY_MS);
		if (run(db, "PRAGMA journal_mode = WAL", err) == 0 &&
		    run(db, "PRAGMA synchronous = NORMAL", err) == 0 &&
		    run(db, "PRAGMA trusted_schema = OFF", err) == 0 &&
		    run(db, "PRAGMA recursive_triggers = ON", err) == 0 &&
		    migrate(db, migrations, n, err) == 0)
			return db;
	}
	db_close(db);
	return NULL;
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	sqlite3_close(db->h);
	free(db->what);
	free(db);
}

struct db_set *
db_prepare(struct db *db, const char *const *sql, size_t n, struct err *err)
{
	struct db_set *set = xcalloc(1, sizeof *set + n * sizeof *set->s);

	set->db = db;
	for (set->n = 0; set->n < n; set->n++)
		if (sqlite3_prepare_v3(db->h, sql[set->n], -1,
			SQLITE_PREPARE_PERSISTENT, &set->s[set->n],
			NULL) != SQLITE_OK) {
			fail(db, sql[set->n], err);
			db_finalize(set);
			return NULL;
		}
	return set;
}

void
db_finalize(struct db_set *set)
{
	if (set == NULL)
		return;
	for (size_t i = 0; i < set->n; i++)
		sqlite3_finalize(set->s[i]);
	free(set);
}

void
db_done(struct db_set *set, int which)
{
	sqlite3_reset(set->s[which]);
	sqlite3_clear_bindings(set->s[which]);
}

int
db_next(struct db_set *set, int which, struct err *err)
{
	int r = sqlite3_step(set->s[which]);

	if (r == SQLITE_ROW)
		return 1;
	if (r != SQLITE_DONE)
		fail(set->db, "step", err);
	db_done(set, which);
	return r == SQLITE_DONE ? 0 : -1;
}

int
db_run(struct db_set *set, int which, struct err *err, const char *kinds, ...)
{
	sqlite3_stmt *s = set->s[which];
	const char *text;
	va_list ap;

	va_start(ap, kinds);
	for (int n = 1; *kinds != '\0'; kinds++, n++)
		switch (*kinds) {
		case 't':
			text = va_arg(ap, const char *);
			sqlite3_bind_text(s, n, text != NULL ? text : "", -1,
			    SQLITE_TRANSIENT);
			break;
		case 'i':
			sqlite3_bind_int64(s, n, va_arg(ap, int64_t));
			break;
		default:
			sqlite3_bind_double(s, n, va_arg(ap, double));
		}
	va_end(ap);
	return db_next(set, which, err);
}

const char *
db_text(const struct db_set *set, int which, int column)
{
	const char *text =
	    (const char *)sqlite3_column_text(set->s[which], column);

	return text != NULL ? text : "";
}

int64_t
db_int(const struct db_set *set, int which, int column)
{
	return sqlite3_column_int64(set->s[which], column);
}

double
db_real(const struct db_set *set, int which, int column)
{
	return sqlite3_column_double(set->s[which], column);
}

int64_t
db_changes(const struct db_set *set)
{
	return sqlite3_changes(set->db->h);
}

int64_t
db_last(const struct db_set *set)
{
	return sqlite3_last_insert_rowid(set->db->h);
}

int
db_begin(struct db_set *set, struct err *err)
{
	return run(set->db, "BEGIN IMMEDIATE", err);
}

int
db_commit(struct db_set *set, struct err *err)
{
	if (run(set->db, "COMMIT", err) == 0)
		return 0;
	db_rollback(set);
	return -1;
}

void
db_rollback(struct db_set *set)
{
	sqlite3_exec(set->db->h, "ROLLBACK", NULL, NULL, NULL);
}
