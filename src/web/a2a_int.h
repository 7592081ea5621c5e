/*
 * a2a_int: what the files of A2A's door share: one call of it.
 *
 * For agent_a2a.c and a2a_*.c only.
 */
#ifndef WEB_A2A_INT_H
#define WEB_A2A_INT_H

#include <jansson.h>
#include <stdbool.h>
#include "web/a2a_desk.h"
#include "web/jsonrpc.h"

#define A2A_NO_TASK (-32001)
#define A2A_NOT_CANCELABLE (-32002)
#define A2A_NO_PUSH (-32003)
#define A2A_UNSUPPORTED (-32004)
#define A2A_NO_CARD (-32007)
#define A2A_VERSION (-32009)

struct deployment;
struct http_req;

struct a2a_call {
	struct http_req *q;
	struct a2a_desk *desk;
	struct deployment *d;
	struct a2a_whose who;
	bool modern; /* 1.0, as the method's name says */
	struct jsonrpc rpc;
	json_t *params; /* in 0.3's shape; an object */
};

/* All of these have replied when they return. */
typedef void a2a_method(struct a2a_call *);

void a2a_fail(struct a2a_call *, int code, const char *message);
/* A failure of ours: what cannot be told is an internal error. */
void a2a_fail_err(struct a2a_call *, const struct err *);
/* wrong: violations, as a2a_wrong() lists them. */
void a2a_fail_params(struct a2a_call *, const struct str *wrong);
/* result is taken, in the shape it is to have. */
void a2a_say(struct a2a_call *, json_t *result);
/* A task, cut as wanted, in the version's shape; it is taken. */
void a2a_say_task(struct a2a_call *, json_t *task, int history);

/* The task that params names by this member; -1: it has been replied. */
int a2a_named(struct a2a_call *, const char *member, struct a2a_task_ref *);
/* params.historyLength; -1: all; -2: it has been replied. */
int a2a_history(struct a2a_call *);

/* agent_card.c: a new object */
json_t *a2a_card(struct http_req *, const struct deployment *, bool pushes);

a2a_method a2a_list, a2a_resubscribe;
a2a_method a2a_push_set, a2a_push_get, a2a_push_list, a2a_push_delete;

#endif
