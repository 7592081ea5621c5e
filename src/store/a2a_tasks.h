/*
 * a2a_tasks: tasks of A2A that have been worked on, on disk.
 *
 * A task is a row with its JSON and what is asked of it (whose, which context,
 * which state, when); knows nothing of what the JSON means.  Bounded for each
 * tenant in number and bytes, oldest first out, and by age.
 */
#ifndef STORE_A2A_TASKS_H
#define STORE_A2A_TASKS_H

#include <stddef.h>
#include <stdint.h>

struct a2a_tasks;
struct err;

struct a2a_row { /* texts: never NULL when read; NULL is written as "" */
	const char *tenant, *agent, *id, *context, *state;
	const char *body; /* JSON */
	const char *push; /* JSON: who wants to be told */
	int64_t updated_ms;
};

struct a2a_bounds {
	unsigned rows;  /* of a tenant */
	uint64_t bytes; /* likewise */
	int64_t age_ms;
};

/* path: a file; made if missing. */
struct a2a_tasks *a2a_tasks_open(const char *path, const struct a2a_bounds *,
    struct err *);
void a2a_tasks_close(struct a2a_tasks *);

/* Puts it in the place of what was there, then keeps the bounds. */
int a2a_tasks_put(struct a2a_tasks *, const struct a2a_row *, struct err *);

typedef void a2a_fn(void *arg, const struct a2a_row *);
/* 1: fn has been called; 0: there is none. */
int a2a_tasks_get(struct a2a_tasks *, const char *tenant, const char *agent,
    const char *id, a2a_fn *, void *arg, struct err *);

struct a2a_filter {                 /* "" or 0: any */
	const char *tenant, *agent; /* these two always count */
	const char *context, *state;
	int64_t after_ms;
};
/* Newest first, from the offset; fn must not write. */
int a2a_tasks_list(struct a2a_tasks *, const struct a2a_filter *,
    unsigned offset, unsigned limit, a2a_fn *, void *arg, struct err *);
/* How many there are; -1: err. */
int64_t a2a_tasks_count(struct a2a_tasks *, const struct a2a_filter *,
    struct err *);
/* Everybody's that were not done with: states submitted and working. */
int a2a_tasks_unfinished(struct a2a_tasks *, a2a_fn *, void *arg, struct err *);

#endif
