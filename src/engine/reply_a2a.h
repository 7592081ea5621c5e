/*
 * reply_a2a: a run as an A2A task, streamed and whole.
 *
 * An answer's message is an artifact, told in pieces that are appended; calls,
 * their results and thoughts are messages of the task's status, and of its
 * history.  A run that has completed with a question (an approval request, or
 * a message whose metadata has input_required) leaves the task input-required;
 * metadata's task_state names another state that it leaves the task in.
 * A task may have had runs before: what they left is its base.
 */
#ifndef ENGINE_REPLY_A2A_H
#define ENGINE_REPLY_A2A_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct reply;
struct reply_kind;
struct str;

struct a2a_arg {
	bool modern;      /* 1.0 */
	const char *id;   /* of the request: JSON */
	const char *task; /* the task's id */
	json_t *base;    /* the task before this run, or NULL; in 0.3's shape */
	json_t *message; /* what was asked; likewise */
	int history;     /* messages of it wanted in answers; -1: all */
};

extern const struct reply_kind reply_a2a;

/* The task as it is now, in 0.3's shape: a new reference. */
json_t *a2a_task(const struct reply *);
const char *a2a_task_state(const struct reply *);
/* The number of the last event that was printed; -1: none yet. */
int64_t a2a_last(const struct reply *);
bool a2a_is_modern(const struct reply *);
/* What each event of this run's feed begins with: "data: {...result\":". */
const char *a2a_prefix(const struct reply *);

/* Cut to so many messages (-1: all; 0: none); artifacts only if wanted. */
void a2a_trim(json_t *task, int history, bool artifacts);
/* {"jsonrpc":"2.0","id":ID,"result":...}: result in 0.3's shape. */
void a2a_answer(struct str *, const char *id, bool modern,
    const json_t *result);
bool a2a_is_final(const char *state);

#endif
