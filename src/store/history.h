/*
 * history: a session's messages, in the order they were said.
 *
 * Bodies are JSON that means nothing here.
 */
#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include "store/service.h"

struct db;
struct err;
struct history_store;

/* The database is borrowed. */
struct history_store *history_open(struct db *, struct err *);
void history_close(struct history_store *);

/* All or none; then the oldest go until `most` are left. */
int history_append(struct history_store *, const struct service_key *,
    const char *const *bodies, size_t n, unsigned most, double now,
    struct err *);
/* The last `limit`, oldest first.  fn must not write. */
int history_list(struct history_store *, const struct service_key *,
    unsigned limit, void (*fn)(void *arg, const char *body), void *arg,
    struct err *);
/* How many there were. */
int64_t history_clear(struct history_store *, const struct service_key *,
    struct err *);

#endif
