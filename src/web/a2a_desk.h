/*
 * a2a_desk: the tasks of A2A, those that are worked on and those that were.
 *
 * A task is known by tenant, agent and id.  What is worked on lives here with
 * its run; everything is also in the store, so that it can be listed, and found
 * after a restart (as failed, if it was in the middle).  Knows no JSON-RPC.
 */
#ifndef WEB_A2A_DESK_H
#define WEB_A2A_DESK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct a2a_desk;
struct app;
struct deployment;
struct err;
struct run;
struct run_ask;

struct a2a_whose {
	int tenant;
	const char *agent;
};

struct a2a_task_ref {    /* what was found */
	json_t *task;    /* in 0.3's shape: yours */
	json_t *push;    /* a list of push settings: yours */
	struct run *run; /* NULL: it is not worked on */
};

/* The app's desk, made when it is first asked for; -1: it can't be. */
struct a2a_desk *a2a_desk_of(struct app *, struct err *);
void a2a_desk_free(struct a2a_desk *);

/*
 * Who delivers push notifications, if somebody does: called with each setting
 * of a task and what there is to tell (a StreamResponse of 1.0) when its state
 * changes for good.  Without one, agents say that they don't push.
 */
typedef void a2a_push_fn(void *arg, int tenant, const json_t *setting,
    const char *body);
void a2a_desk_push(struct a2a_desk *, a2a_push_fn *, void *arg);
bool a2a_desk_pushes(const struct a2a_desk *);

/* 1 found, 0 unknown, -1 err. */
int a2a_desk_find(struct a2a_desk *, struct a2a_whose, const char *id,
    struct a2a_task_ref *, struct err *);
void a2a_ref_free(struct a2a_task_ref *);
/*
 * Begin to work on it: the ask's reply is reply_a2a.  push: a list, taken over.
 * The run is held for the caller.
 */
struct run *a2a_desk_start(struct a2a_desk *, struct deployment *,
    const char *id, struct run_ask *, json_t *push, struct err *);
/* Of a task that nobody works on: this is it now. */
int a2a_desk_save(struct a2a_desk *, struct a2a_whose, const json_t *task,
    const json_t *push, struct err *);
/* Its push settings now; worked on or not. */
int a2a_desk_set_push(struct a2a_desk *, struct a2a_whose, const char *id,
    const json_t *task, const json_t *push, struct err *);

struct a2a_query {
	const char *context, *state; /* NULL: any; state as in 0.3 */
	int64_t after_ms;
	unsigned offset, limit;
};
/* A new list of tasks, newest first; NULL: err.  total: without the limit. */
json_t *a2a_desk_list(struct a2a_desk *, struct a2a_whose,
    const struct a2a_query *, int64_t *total, struct err *);

#endif
