/*
 * db: one SQLite file in the house's manner, for several modules.
 *
 * WAL, synchronous=NORMAL; user_version is the schema's version, migrations go
 * forward only, and a file of a later version is refused.  A module has its
 * statements in a table and names them by number.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stddef.h>
#include <stdint.h>

struct db;
struct db_set; /* the statements of one module */
struct err;

/* path: a file, made if missing; what: its name in errors. */
struct db *db_open(const char *path, const char *what,
    const char *const *migrations, int n, struct err *);
void db_close(struct db *); /* its sets first */

struct db_set *db_prepare(struct db *, const char *const *sql, size_t n,
    struct err *);
void db_finalize(struct db_set *);

/*
 * Runs one, to its end or to its first row.  kinds: what is bound, in order:
 * t text (NULL is ""), i int64_t, d double.  1: a row, whose columns are read
 * until db_next or db_done; 0: none, and it is done; -1: err.
 */
int db_run(struct db_set *, int which, struct err *, const char *kinds, ...);
int db_next(struct db_set *, int which, struct err *); /* 1, 0, -1 likewise */
void db_done(struct db_set *, int which);
const char *db_text(const struct db_set *, int which,
    int column); /* not NULL */
int64_t db_int(const struct db_set *, int which, int column);
double db_real(const struct db_set *, int which, int column);
int64_t db_changes(const struct db_set *); /* rows that the last one changed */
int64_t db_last(const struct db_set *);    /* the row that it inserted */

/* What is between these is written at once, or not at all. */
int db_begin(struct db_set *, struct err *);
int db_commit(struct db_set *, struct err *);
void db_rollback(struct db_set *);

#endif
