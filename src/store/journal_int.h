/*
 * journal_int: the database, for the files of the journal alone.
 */
#ifndef STORE_JOURNAL_INT_H
#define STORE_JOURNAL_INT_H

#include <sqlite3.h>

struct err;

struct journal {
	sqlite3 *db;
	sqlite3_stmt *put, *touch, *del;
};

/* What SQLite says of it; -1. */
int journal_fail(const struct journal *, const char *what, struct err *);

#endif
