/*
 * a2a_shape: A2A's objects in the shapes of 0.3 and of 1.0.
 *
 * Within, all is in the shape of 0.3: objects have a kind, states and roles are
 * small words.  1.0 has ProtoJSON's: a member names the kind, enumerations are
 * loud.  What neither knows is left as it is.  Pure.
 */
#ifndef ENGINE_A2A_SHAPE_H
#define ENGINE_A2A_SHAPE_H

#include <jansson.h>

struct str;

/* New references. */
json_t *a2a_modern(const json_t *); /* a task, message, update, artifact */
/* The same in the wrapper that says which it is: {"task":{...}}. */
json_t *a2a_modern_result(const json_t *);
json_t *a2a_modern_push(const json_t *); /* a push notification's settings */
/* Of message/send: the message and its settings. */
json_t *a2a_legacy_params(const json_t *params);
json_t *a2a_legacy_push(const json_t *);

/* "TASK_STATE_INPUT_REQUIRED" of "input-required", appended. */
void a2a_modern_state(struct str *, const char *legacy);
/* "input-required" of either form; NULL: no state. */
const char *a2a_state(const char *);

/* 2026-11-30T21:00:00.123Z of milliseconds since 1970. */
void a2a_time(struct str *, long long ms);

#endif
