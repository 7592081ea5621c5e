/*
 * tasks: what was submitted to be done, and what came of it.
 *
 * Of any kind; the result is JSON that means nothing here.  Those that were
 * going on when the file was opened are over: whoever did them has gone.
 */
#ifndef STORE_TASKS_H
#define STORE_TASKS_H

#include <stdint.h>

struct db;
struct err;
struct tasks_store;

struct task_row { /* texts are never NULL when read; NULL is written as "" */
	const char *id, *tenant, *agent, *queue;
	const char *state;  /* "pending", "running", "finished", "error" */
	const char *result; /* JSON; "" none yet */
	double submitted_at, started_at, ended_at; /* 0: not yet */
};

/* The database is borrowed. */
struct tasks_store *tasks_open(struct db *, struct err *);
void tasks_close(struct tasks_store *);
int tasks_put(struct tasks_store *, const struct task_row *, struct err *);
/* 1: fn has been called; 0: there is none of this tenant. */
int tasks_get(struct tasks_store *, const char *tenant, const char *id,
    void (*fn)(void *arg, const struct task_row *), void *arg, struct err *);
/* How many this tenant has; -1. */
int64_t tasks_count(struct tasks_store *, const char *tenant, struct err *);
/* Of what is over: the oldest of this tenant.  1: one went. */
int tasks_drop_oldest(struct tasks_store *, const char *tenant, struct err *);
int tasks_expire(struct tasks_store *, double before, struct err *);

#endif
