#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "store/journal.h"
#include "store/journal_int.h"

#define BUSY_MS 2000 /* a backup, or a curious operator */

/* clang-format off */
enum kind { TEXT, KEY, NUMBER, TIME };

static const struct column {
	const char *name;
	enum kind   kind;
	size_t	    at;
} columns[] = {
#define ROW(member) offsetof(struct journal_row, member)
	{ "id",			TEXT,	ROW(id) },
	{ "session_id",		TEXT,	ROW(session_id) },
	{ "container_id",	TEXT,	ROW(container_id) },
	{ "token",		TEXT,	ROW(token) },
	{ "version",		TEXT,	ROW(version) },
	{ "type",		TEXT,	ROW(type) },
	{ "session",		TEXT,	ROW(session) },
	{ "redirect",		TEXT,	ROW(redirect) },
	{ "reason",		TEXT,	ROW(reason) },
	{ "mount_dir",		TEXT,	ROW(mount_dir) },
	{ "storage",		TEXT,	ROW(storage) },
	{ "tenant",		TEXT,	ROW(tenant) },
	{ "state",		TEXT,	ROW(state) },
	{ "meta",		TEXT,	ROW(meta) },
	{ "image",		TEXT,	ROW(image) },
	{ "dir",		TEXT,	ROW(dir) },
	{ "env",		TEXT,	ROW(env) },
	{ "net",		TEXT,	ROW(net) },
	{ "key",		KEY,	ROW(key) },
	{ "paused",		NUMBER,	ROW(paused) },
	{ "stopped",		NUMBER,	ROW(stopped) },
	{ "saved",		NUMBER,	ROW(saved) },
	{ "created_at",		TIME,	ROW(created_at) },
	{ "last_active_at",	TIME,	ROW(last_active_at) },
	{ "recycled_at",	TIME,	ROW(recycled_at) },
	{ "released_at",	TIME,	ROW(released_at) },
	{ "updated_at",		TIME,	ROW(updated_at) },
#undef ROW
};
#define COLUMNS (sizeof columns / sizeof *columns)

/*
 * Each brings the schema from its index to the next.  Never change one that
 * has been released: add one, and extend columns[].
 */
static const char *const migrations[] = {
	"CREATE TABLE sandbox ("
	" seq INTEGER PRIMARY KEY,"
	" id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL,"
	" container_id TEXT NOT NULL, token TEXT NOT NULL,"
	" version TEXT NOT NULL, type TEXT NOT NULL,"
	" session TEXT NOT NULL, redirect TEXT NOT NULL,"
	" reason TEXT NOT NULL, mount_dir TEXT NOT NULL,"
	" storage TEXT NOT NULL, tenant TEXT NOT NULL,"
	" state TEXT NOT NULL, meta TEXT NOT NULL, image TEXT NOT NULL,"
	" dir TEXT NOT NULL, env TEXT NOT NULL, net TEXT NOT NULL,"
	" key BLOB NOT NULL, paused INTEGER NOT NULL,"
	" stopped INTEGER NOT NULL, saved INTEGER NOT NULL,"
	" created_at REAL NOT NULL, last_active_at REAL NOT NULL,"
	" recycled_at REAL NOT NULL, released_at REAL NOT NULL,"
	" updated_at REAL NOT NULL);",
	"CREATE TABLE agent ("
	" seq INTEGER PRIMARY KEY,"
	" name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL,"
	" code TEXT NOT NULL, deps TEXT NOT NULL, tenant TEXT NOT NULL,"
	" created_at REAL NOT NULL, updated_at REAL NOT NULL);",
};
#define VERSION ((int)(sizeof migrations / sizeof *migrations))
/* clang-format on */

int
journal_fail(const struct journal *j, const char *what, struct err *err)
{
	return err_set(err, ERR_SYS, "journal: %s: %s", what,
	    sqlite3_errmsg(j->db));
}

static int
run(struct journal *j, const char *sql, struct err *err)
{
	if (sqlite3_exec(j->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return journal_fail(j, sql, err);
	return 0;
}

/* ---- the schema ---- */

int
journal_version(const struct journal *j)
{
	sqlite3_stmt *s;
	int version = -1;

	if (sqlite3_prepare_v2(j->db, "PRAGMA user_version", -1, &s, NULL) !=
	    SQLITE_OK)
		return -1;
	if (sqlite3_step(s) == SQLITE_ROW)
		version = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return version;
}

static int
migrate(struct journal *j, struct err *err)
{
	int at = journal_version(j);

	if (at < 0)
		return journal_fail(j, "version", err);
	if (at > VERSION)
		return err_set(err, ERR_DENIED,
		    "journal: its schema is of version %d, written by a later "
		    "hutch; this one knows %d",
		    at, VERSION);
	for (; at < VERSION; at++) {
		auto_free char *done =
		    xasprintf("PRAGMA user_version = %d", at + 1);

		if (run(j, "BEGIN IMMEDIATE", err) < 0)
			return -1;
		if (run(j, migrations[at], err) < 0 || run(j, done, err) < 0 ||
		    run(j, "COMMIT", err) < 0) {
			sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
			return -1;
		}
	}
	return 0;
}

/* INSERT ... ON CONFLICT: a row keeps its place in the order. */
static char *
put_sql(void)
{
	struct str names = { 0 }, marks = { 0 }, sets = { 0 };
	char *sql;

	for (size_t i = 0; i < COLUMNS; i++) {
		const char *comma = i > 0 ? "," : "";

		str_printf(&names, "%s%s", comma, columns[i].name);
		str_printf(&marks, "%s?%zu", comma, i + 1);
		str_printf(&sets, "%s%s=?%zu", comma, columns[i].name, i + 1);
	}
	sql = xasprintf("INSERT INTO sandbox (%s) VALUES (%s) "
			"ON CONFLICT (id) DO UPDATE SET %s",
	    str_text(&names), str_text(&marks), str_text(&sets));
	str_free(&names);
	str_free(&marks);
	str_free(&sets);
	return sql;
}

static int
prepare(struct journal *j, struct err *err)
{
	auto_free char *put = put_sql();
	const struct {
		const char *sql;
		sqlite3_stmt **s;
	} rows[] = {
		{ put, &j->put },
		{ "UPDATE sandbox SET last_active_at = ?2 WHERE id = ?1",
		    &j->touch },
		{ "DELETE FROM sandbox WHERE id = ?1", &j->del },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (sqlite3_prepare_v3(j->db, rows[i].sql, -1,
			SQLITE_PREPARE_PERSISTENT, rows[i].s,
			NULL) != SQLITE_OK)
			return journal_fail(j, "prepare", err);
	return 0;
}

static int
set_up(struct journal *j, struct err *err)
{
	sqlite3_busy_timeout(j->db, BUSY_MS);
	if (run(j, "PRAGMA journal_mode = WAL", err) < 0 ||
	    run(j, "PRAGMA synchronous = NORMAL", err) < 0 ||
	    run(j, "PRAGMA trusted_schema = OFF", err) < 0)
		return -1;
	if (migrate(j, err) < 0)
		return -1;
	return prepare(j, err);
}

struct journal *
journal_open(const char *path, struct err *err)
{
	struct journal *j = xcalloc(1, sizeof *j);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
	    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;

	if (sqlite3_open_v2(path, &j->db, flags, NULL) != SQLITE_OK)
		journal_fail(j, "open", err);
	else if (set_up(j, err) == 0)
		return j;
	journal_close(j);
	return NULL;
}

void
journal_close(struct journal *j)
{
	if (j == NULL)
		return;
	sqlite3_finalize(j->put);
	sqlite3_finalize(j->touch);
	sqlite3_finalize(j->del);
	sqlite3_close(j->db);
	free(j);
}

/* ---- rows ---- */

static void
bind(sqlite3_stmt *s, int n, const struct column *c, const void *row)
{
	const void *at = (const char *)row + c->at;
	const char *text;

	switch (c->kind) {
	case TEXT:
		text = *(const char *const *)at;
		sqlite3_bind_text(s, n, text != NULL ? text : "", -1,
		    SQLITE_STATIC);
		break;
	case KEY:
		sqlite3_bind_blob(s, n, at, JOURNAL_KEY, SQLITE_STATIC);
		break;
	case NUMBER:
		sqlite3_bind_int64(s, n, *(const int64_t *)at);
		break;
	case TIME:
		sqlite3_bind_double(s, n, *(const double *)at);
		break;
	}
}

static int
step(struct journal *j, sqlite3_stmt *s, const char *what, struct err *err)
{
	int r = sqlite3_step(s);

	if (r != SQLITE_DONE)
		journal_fail(j, what, err);
	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return r == SQLITE_DONE ? 0 : -1;
}

int
journal_put(struct journal *j, const struct journal_row *row, struct err *err)
{
	for (size_t i = 0; i < COLUMNS; i++)
		bind(j->put, (int)i + 1, &columns[i], row);
	return step(j, j->put, "put", err);
}

int
journal_touch(struct journal *j, const char *id, double last_active_at,
    struct err *err)
{
	sqlite3_bind_text(j->touch, 1, id, -1, SQLITE_STATIC);
	sqlite3_bind_double(j->touch, 2, last_active_at);
	return step(j, j->touch, "touch", err);
}

int
journal_delete(struct journal *j, const char *id, struct err *err)
{
	sqlite3_bind_text(j->del, 1, id, -1, SQLITE_STATIC);
	return step(j, j->del, "delete", err);
}

int
journal_begin(struct journal *j, struct err *err)
{
	return run(j, "BEGIN IMMEDIATE", err);
}

int
journal_end(struct journal *j, struct err *err)
{
	if (run(j, "COMMIT", err) == 0)
		return 0;
	sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

static void
take(sqlite3_stmt *s, int n, const struct column *c, void *row)
{
	void *at = (char *)row + c->at;
	const char *text;

	switch (c->kind) {
	case TEXT:
		text = (const char *)sqlite3_column_text(s, n);
		*(const char **)at = text != NULL ? text : "";
		break;
	case KEY:
		if (sqlite3_column_bytes(s, n) == JOURNAL_KEY)
			memcpy(at, sqlite3_column_blob(s, n), JOURNAL_KEY);
		break;
	case NUMBER:
		*(int64_t *)at = sqlite3_column_int64(s, n);
		break;
	case TIME:
		*(double *)at = sqlite3_column_double(s, n);
		break;
	}
}

static char *
each_sql(void)
{
	struct str sql = { 0 };

	str_puts(&sql, "SELECT ");
	for (size_t i = 0; i < COLUMNS; i++)
		str_printf(&sql, "%s%s", i > 0 ? "," : "", columns[i].name);
	str_puts(&sql, " FROM sandbox ORDER BY seq");
	return str_take(&sql);
}

int
journal_each(struct journal *j, void (*fn)(void *, const struct journal_row *),
    void *arg, struct err *err)
{
	auto_free char *sql = each_sql();
	sqlite3_stmt *s;
	int r;

	if (sqlite3_prepare_v2(j->db, sql, -1, &s, NULL) != SQLITE_OK)
		return journal_fail(j, "read", err);
	while ((r = sqlite3_step(s)) == SQLITE_ROW) {
		struct journal_row row = { 0 };

		for (size_t i = 0; i < COLUMNS; i++)
			take(s, (int)i, &columns[i], &row);
		fn(arg, &row);
	}
	sqlite3_finalize(s);
	return r == SQLITE_DONE ? 0 : journal_fail(j, "read", err);
}

/* ---- backup ---- */

static int
copy_to(struct journal *j, sqlite3 *to, struct err *err)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", j->db, "main");
	int r;

	if (b == NULL)
		return err_set(err, ERR_SYS, "backup: %s", sqlite3_errmsg(to));
	r = sqlite3_backup_step(b, -1);
	if (sqlite3_backup_finish(b) != SQLITE_OK || r != SQLITE_DONE)
		return err_set(err, ERR_SYS, "backup: %s", sqlite3_errstr(r));
	return 0;
}

int
journal_backup(struct journal *j, const char *path, struct err *err)
{
	auto_fd int fd = open(path,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	sqlite3 *to = NULL;
	int r = -1;

	if (fd < 0)
		return err_sys(err, "backup: %s", path);
	if (sqlite3_open_v2(path, &to,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		err_set(err, ERR_SYS, "backup: %s", sqlite3_errmsg(to));
	else
		r = copy_to(j, to, err);
	sqlite3_close(to);
	if (r == 0 && fsync(fd) < 0)
		r = err_sys(err, "backup: sync");
	if (r < 0)
		unlink(path);
	return r;
}
