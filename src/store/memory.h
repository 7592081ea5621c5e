/*
 * memory: what an agent remembers of a user, across sessions.
 *
 * Found by words (FTS5, best match first).  Scripts that are written without
 * spaces are split into characters, and a word of them is found as a phrase.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include <stdint.h>
#include "store/service.h"

struct db;
struct err;
struct memory_store;

struct memory_row {
	const char *id, *text;
	const char *metadata; /* JSON */
	double made_at;
};

/* The database is borrowed. */
struct memory_store *memory_open(struct db *, struct err *);
void memory_close(struct memory_store *);

int memory_add(struct memory_store *, const struct service_key *,
    const struct memory_row *, struct err *);
typedef void memory_fn(void *arg,
    const struct memory_row *); /* must not write */
/* A query without a word finds nothing. */
int memory_search(struct memory_store *, const struct service_key *,
    const char *query, unsigned limit, memory_fn *, void *arg, struct err *);
/* Newest first. */
int memory_list(struct memory_store *, const struct service_key *,
    unsigned limit, memory_fn *, void *arg, struct err *);
/* 1: it was there. */
int memory_delete(struct memory_store *, const struct service_key *,
    const char *id, struct err *);

#endif
