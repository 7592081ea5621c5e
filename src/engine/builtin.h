/*
 * builtin: an agent without code: a model, its instructions and its tools.
 *
 * Answers a run as its source: asks the model, streams what it says, runs the
 * tools it asks for in the session's sandbox, and asks again with what they
 * said, until it wants none (react.c).  What was said is remembered by user and
 * session, if the agent is to remember.
 */
#ifndef ENGINE_BUILTIN_H
#define ENGINE_BUILTIN_H

#include <jansson.h>

struct builtin;
struct conf_agent;
struct config;
struct engine;
struct err;
struct loop;
struct manager;
struct model_client;
struct run;
struct tracer;

/* Where conversations are kept: arrays of messages of chat.completions. */
struct builtin_memory {
	/* NULL: nothing yet.  A new reference. */
	json_t *(*load)(void *arg, int tenant, const char *agent,
	    const char *user, const char *session);
	/* What was added, in order; borrowed. */
	void (*save)(void *arg, int tenant, const char *agent, const char *user,
	    const char *session, const json_t *messages);
};

/* In the services' history; memory_arg: struct services. */
extern const struct builtin_memory builtin_history;

struct builtin_conf {
	struct loop *loop;
	struct manager *manager;
	struct model_client *models;
	const struct config *config;
	const struct conf_agent *agent;      /* may be read anew meanwhile */
	struct tracer *tracer;               /* NULL: nothing is traced */
	const struct builtin_memory *memory; /* NULL: in this process only */
	void *memory_arg;
};

/* Every [agent NAME] of the configuration is offered; .agent is not looked at.
 * What can't be is told in the log. */
void builtin_offer(struct engine *, const struct builtin_conf *);

struct builtin *builtin_new(const struct builtin_conf *);
/* Its runs have ended. */
void builtin_free(struct builtin *);
/* Starts the run and goes on with it; the request is borrowed. */
void builtin_run(struct builtin *, struct run *, int tenant,
    const json_t *request);

#endif
