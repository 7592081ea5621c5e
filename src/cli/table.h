/*
 * table: rows of text in columns, and the few ways a number is written.
 *
 * Cells are cleaned (term.h).  The last column is not padded.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct str;
struct table;

/* heads: NULL-ended; stays the caller's. */
struct table *table_new(const char *const *heads);
void table_free(struct table *);
void table_cell(struct table *, const char *text); /* NULL or "": "-" */
void table_cellf(struct table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void table_print(const struct table *, FILE *);

/* "3s", "12m", "5h", "3d": one unit, cut. */
void table_age(struct str *, double seconds);
/* "512B", "1.5K", "20M": powers of 1024, three digits at most. */
void table_size(struct str *, uint64_t bytes);

#endif
