/*
 * engine: the agents that this daemon offers.
 *
 * Owns the deployments; keeps them in the journal and their code below the
 * front's own directory, so that they are there after a restart.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct deployment;
struct engine;
struct deploying;
struct err;
struct journal;
struct loop;
struct manager;
struct run;
struct tracer;
struct services;

struct engine_conf {
	struct loop *loop;
	struct manager *manager;
	struct journal *journal;
	struct services *services; /* NULL: workers have none */
	const struct config *config;
	struct tracer *tracer; /* NULL: nothing is traced */
	int dir;               /* the front's own directory; borrowed */
};

struct engine *engine_new(const struct engine_conf *);
/* Take no more runs; those that go on get what is left until `end`
 * (clock_ms()), then end as incomplete; then drained(arg). */
void engine_drain(struct engine *, int64_t end, void (*drained)(void *),
    void *arg);
void engine_free(struct engine *);

/* ---- which there are ---- */

/* name "": the one at "/".  NULL: unknown. */
struct deployment *engine_find(struct engine *, const char *name);
/* NULL: the first one; NULL: no more. */
struct deployment *engine_next(struct engine *, struct deployment *);

/* ---- agents of code ---- */

/* The code while it comes in: a tar. */
struct code;
struct code *engine_code(struct engine *, struct err *);
/* code.h: code_write, code_drop; deploy finishes it. */

struct deploy {
	const char *name;
	json_t *options;   /* spec.h; taken.  NULL: as before */
	struct code *code; /* taken; NULL: as before, or none */
	int tenant;
};
enum deploy_word { DEPLOY_SAYS, DEPLOY_DONE, DEPLOY_FAILED };
/* text: of DEPLOY_SAYS; err: of DEPLOY_FAILED.  The latter two once. */
typedef void deploy_fn(void *arg, enum deploy_word, const char *text,
    const struct err *);
/*
 * A new agent, or a new version of one, which takes over when it is ready; what
 * fails leaves everything as it was.  NULL: err, and fn is not called.
 */
struct deploying *engine_deploy(struct engine *, const struct deploy *,
    deploy_fn *, void *arg, struct err *);
/* fn won't be called; it goes on. */
void engine_deploy_forget(struct deploying *);
/* For good.  Its runs end as incomplete.  ERR_MISSING, ERR_DENIED. */
int engine_remove(struct engine *, const char *name, struct err *);

/* ---- agents without code ---- */

struct agent_source {
	/* Answer: run_start() it, now; the request is borrowed. */
	void (
	    *start)(void *arg, struct run *, int tenant, const json_t *request);
	bool (*ready)(void *arg, struct err *why); /* NULL: always */
	void (*drop)(void *arg);                   /* may be NULL */
};
/* Not in the journal: the configuration names it.  arg is taken. */
struct deployment *engine_add(struct engine *, const char *name,
    const char *title, const char *description, const struct agent_source *,
    void *arg, struct err *);

#endif
