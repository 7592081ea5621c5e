/*
 * model: the life of hutch-model, seen from root.
 *
 * Started confined when a front first asks for a stream to it: a daemon without
 * agents never has it.  When it dies the front sees the end of its stream and
 * asks again; it is started anew then, but not faster than with a delay that
 * grows.
 */
#ifndef DAEMON_MODEL_H
#define DAEMON_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct broker;
struct err;
struct model;

/* slot: its own; its user outside is the slot's first id. */
struct model *model_new(struct broker *, uint32_t slot);
void model_free(struct model *); /* accepts NULL */
/* The front's end of a stream to it, yours.  ERR_BUSY: ask again in a moment */
int model_stream(struct model *, struct err *);
void model_reload(struct model *); /* what it knows of the configuration */
void model_kill(struct model *);   /* and idle() of the broker follows */
bool model_runs(const struct model *);

#endif
