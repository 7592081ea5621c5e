/*
 * engine: the agents that this daemon offers.
 *
 * Owns the deployments; keeps them in the journal and their code below the
 * front's own directory, so that they are there after a restart.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

struct broker_call;
struct config;
struct deployment;
struct engine;
struct err;
struct journal;
struct loop;
struct manager;

struct engine_conf {
	struct loop *loop;
	struct manager *manager;
	struct journal *journal;
	const struct config *config;
	int dir; /* the front's own directory; borrowed */
};

struct engine *engine_new(const struct engine_conf *);
/* Take no more runs; those that go on get what is left until `end`
 * (clock_ms()), then end as incomplete; then drained(arg). */
void engine_drain(struct engine *, int64_t end, void (*drained)(void *),
    void *arg);
void engine_free(struct engine *);

/* name "": the one at "/".  NULL: unknown. */
struct deployment *engine_find(struct engine *, const char *name);
/* NULL: the first one; NULL: no more. */
struct deployment *engine_next(struct engine *, struct deployment *);

#endif
