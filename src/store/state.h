/*
 * state: named values of a user's session, with versions, locks and an end.
 *
 * A value is JSON that means nothing here.  Its version is a number that was
 * never another one's, also not of a value of that name before.  A lock is
 * held by an owner until a time; who holds none and finds one is refused.
 */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include <stdint.h>
#include "store/service.h"

struct db;
struct err;
struct state_store;

/* The database is borrowed. */
struct state_store *state_open(struct db *, struct err *);
void state_close(struct state_store *);

/* 1: fn has been called; 0: there is none, or its time is over. */
int state_get(struct state_store *, const struct service_key *,
    const char *name, double now,
    void (*fn)(void *arg, const char *value, int64_t version), void *arg,
    struct err *);

struct state_put {
	const char *name, *value;
	int64_t if_version; /* -1: whatever it is; 0: there must be none */
	double expires_at;  /* 0: never */
	const char *owner;  /* who asks; "" nobody who could hold a lock */
	double now;
};
/* The new version.  -1: ERR_BUSY, another version; ERR_DENIED, a lock. */
int64_t state_put(struct state_store *, const struct service_key *,
    const struct state_put *, struct err *);
/* 1: it was there. */
int state_delete(struct state_store *, const struct service_key *,
    const char *name, const char *owner, double now, struct err *);

/* -1: ERR_DENIED, somebody else has it.  Again: it lasts longer. */
int state_lock(struct state_store *, const struct service_key *,
    const char *name, const char *owner, double until, double now,
    struct err *);
/* All of an owner's, whose name is its tenant's own choice. */
int state_unlock(struct state_store *, const char *tenant, const char *owner,
    struct err *);
/* What is over by now is gone. */
int state_expire(struct state_store *, double now, struct err *);

#endif
