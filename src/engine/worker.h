/*
 * worker: one process of an agent's code, in a sandbox of its own.
 *
 * Starts it, speaks hutch-worker(7) with it and gives each line to the task it
 * is about.  Many tasks at once; one that is canceled is not heard any more,
 * and if the process does not end it in time, the process is ended.  Whatever
 * goes wrong ends the worker, once: its tasks are told, then its owner.  Knows
 * lines and tasks, not what a run is.
 */
#ifndef ENGINE_WORKER_H
#define ENGINE_WORKER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/box.h"

struct config;
struct err;
struct line;
struct ring;
struct str;
struct task; /* one thing that a worker was asked */
struct worker;

struct worker_ops {
	/* What "ready" said; borrowed. */
	void (*ready)(void *arg, struct worker *, const json_t *ready);
	/* It has ended: free it.  started: it had been ready. */
	void (*ended)(void *arg, struct worker *, const struct err *why);
	/* A service is asked for: worker_result() answers, now or later. */
	void (*ask)(void *arg, struct worker *, uint64_t ask, struct task *,
	    const json_t *line);
};

struct worker_conf {
	struct box_conf box; /* its ops and arg are the worker's */
	const struct config *config;
	struct box_program program; /* what it points to lives as long as we */
	struct ring *log;
	const char *name;      /* of the agent */
	const json_t *options; /* of init; may be NULL */
	unsigned number;       /* for the log */
	const struct worker_ops *ops;
	void *arg;
};

struct worker *worker_new(const struct worker_conf *);
/* Its tasks are told that it has gone. */
void worker_free(struct worker *);
bool worker_is_ready(const struct worker *);
bool worker_was_ready(const struct worker *);
bool worker_takes(const struct worker *); /* ready, not leaving, not choked */
unsigned worker_load(const struct worker *); /* tasks */
unsigned worker_number(const struct worker *);
int64_t worker_started_ms(const struct worker *); /* clock_ms() */
const char *worker_sandbox(const struct worker *);
/* No more tasks; it is told to go when those it has are over. */
void worker_leave(struct worker *);
bool worker_leaves(const struct worker *);
void worker_result(struct worker *, uint64_t ask, json_t *value,
    const char *code, const char *message); /* value is taken */

struct task_ops {
	/* 1: it is over, and this is the last word; -1: a bad line, and err. */
	int (*line)(void *arg, const struct line *, struct err *);
	void (*gone)(void *arg, const struct err *why); /* the last word, too */
};

/* members: {"op":"query", ...} without braces' end and without run: */
struct task *worker_ask(struct worker *, const char *op, const struct str *rest,
    const struct task_ops *, void *arg);
/* Whose it is: also what a canceled one still asks for is this tenant's. */
void task_for(struct task *, int tenant);
int task_tenant(const struct task *);
/* Nothing of it is heard any more. */
void task_cancel(struct task *);
void task_pause(struct task *, bool);

#endif
