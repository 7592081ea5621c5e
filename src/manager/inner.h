/*
 * inner: what the files of the manager may ask of each other.
 *
 * For src/manager only.
 */
#ifndef MANAGER_INNER_H
#define MANAGER_INNER_H

#include "manager/state.h"

/* ---- sandbox.c: one sandbox, its record and its tables ---- */

struct sandbox *sandbox_of(struct life *);
struct sandbox *sandbox_new(struct manager *, const struct create *,
    const struct conf_type *, const char *type, bool warm);
void sandbox_list(struct sandbox *);    /* into the tables */
void sandbox_unlist(struct sandbox *);  /* ... and out of all of them */
void sandbox_discard(struct sandbox *); /* for good, as soon as may be */
void sandbox_free(struct sandbox *);    /* now, whatever it does */
void sandbox_pin(struct sandbox *);
void sandbox_unpin(struct sandbox *);
/* The record names the image that it is made of. */
void sandbox_version(struct sandbox *);
void sandbox_rekey(struct sandbox *); /* a fresh internal id */
void sandbox_state(struct sandbox *, enum record_state, const char *reason);
void sandbox_touch(struct sandbox *);              /* and its siblings */
bool sandbox_alive(const struct sandbox *);        /* there may be a process */
const char *sandbox_prefix(const struct config *); /* of public ids */
/* 25 letters and digits, from the kernel's generator. */
void random_id(char out[26]);

/* ---- acts.c: what entering a state starts ---- */

/* An event; what the table refuses is dropped.  0: it happened. */
int sandbox_event(struct sandbox *, enum life_event);
void sandbox_event_soon(struct sandbox *, enum life_event);
void sandbox_quiet(struct sandbox *); /* nothing of it comes any more */
extern life_act *const sandbox_acts[LIFE_STATES];

/* ---- count.c: how long creations take ---- */

void mark(struct sandbox *, enum mark);
void count_creation(struct sandbox *); /* it is ready */

/* ---- end.c: what becomes of a record when its life ends ---- */

void sandbox_ended(struct sandbox *);
void sandbox_exit_reason(struct sandbox *, const struct broker_exited *);
const char *sandbox_cause(const struct sandbox *); /* of its end */

/* ---- wait.c ---- */

struct wait *wait_new(struct manager *, enum wait_for, struct sandbox *,
    manager_fn *, void *arg);
void wait_free(struct wait *);
void wait_tell(struct wait *, struct sandbox *, const struct err *); /* soon */
void waits_tell(struct sandbox *, enum wait_for, const struct err *);
void waits_tell_creator(struct sandbox *); /* it is there */
struct sandbox *manager_resolve(struct manager *, int tenant,
    const char *identity, bool follow, struct err *);
void waits_early(struct manager *); /* adoption is over */

/* ---- control.c, manager.c ---- */

void release_one(struct sandbox *, const char *reason);
void pauses_begin(struct sandbox *); /* that waited for it to come up */
void drain_check(struct manager *);

/* ---- create.c ---- */

int create_allowed(const struct manager *, int tenant, struct err *);
/* Lists it and sets it going. */
void create_begin(struct sandbox *);
const struct conf_type *type_resolve(const struct manager *, const char *name,
    const char **as, struct err *);

/* ---- session.c ---- */

void session_add(struct sandbox *, const char *name);
/* next takes the place of sb, which leaves. */
void session_replace(struct sandbox *sb, struct sandbox *next);
void session_leave(struct sandbox *);
struct session *session_find(struct manager *, int tenant, const char *name);
const char *session_name(const struct session *);

/* ---- pool.c ---- */

void pools_new(struct manager *);
void pools_free(struct manager *);
void pools_fill(struct manager *); /* as far as limits and backoff let */
void pools_count(const struct manager *, unsigned *warm, unsigned *making);
/* A warm one of this type, out of its pool; any: be it not ready yet. */
struct sandbox *pool_take(struct manager *, const struct conf_type *, bool any);
void pool_expect(struct sandbox *); /* it will be warm, if all goes well */
void pool_warm(struct sandbox *);   /* it is ready */
void pool_failed(struct sandbox *); /* it will never be */
void pool_leave(struct sandbox *);  /* it is taken away */

/* ---- warm.c: the interpreter that joins ---- */

void warm_for_pool(struct sandbox *); /* then pool_warm */
void warm_enough(struct sandbox *);   /* no more rehearsals: it is taken */
void warm_stop(struct sandbox *);

/* ---- reap.c, restore.c ---- */

void reap_start(struct manager *);
void reap_scan(struct manager *); /* what the timer does */
void purge(struct manager *);     /* records that have had their time */
/* Save its workspace, then stop it; it can be restored. */
int recycle(struct sandbox *, const char *reason);
void recycle_saved(struct sandbox *);
void recycle_unsaved(struct sandbox *); /* at a stop: at once, and said so */
/* A replacement of a recycled one, on its way; NULL and err. */
struct sandbox *restore(struct sandbox *, struct err *);
void restored(struct sandbox *next);
void restore_failed(struct sandbox *next);

/* ---- archive.c: a workspace to disk and back ---- */

void archive_save(struct sandbox *); /* ends in SAVED or KEEP */
void archive_load(struct sandbox *); /* ends in LOADED or FAILED */
void archive_stop(struct sandbox *);
void archive_unsaved(struct sandbox *); /* it stays: what that means */
void archive_found(struct sandbox *, uint64_t bytes); /* in the journal */
void archive_remove(struct sandbox *);
void archives_sweep(struct manager *); /* what no record names */

/* ---- row.c: records to the journal and back ---- */

void sandbox_save(struct sandbox *); /* now */
void rows_flush(struct manager *);   /* touches of all, at once */
void rows_begin(struct manager *);   /* what follows is written at once ... */
void rows_end(struct manager *);
void row_delete(struct sandbox *);
void rows_read(struct manager *);

/* ---- adopt.c ---- */

void adopt_start(struct manager *);
void adopt_stop(struct manager *);

#endif
