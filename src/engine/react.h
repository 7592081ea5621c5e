/*
 * react: one run of the built-in agent, from its first question to the model to
 * its last word.  For builtin.c.
 */
#ifndef ENGINE_REACT_H
#define ENGINE_REACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct manager;
struct model_client;
struct react;
struct run;
struct tracer;

struct react_conf {
	struct loop *loop;
	struct manager *manager;
	struct model_client *models;
	int tenant;
	const char *model; /* [model NAME] */
	unsigned retries;  /* of a call that failed before it began */
	json_t *settings;  /* members of each request; taken */
	json_t *messages;  /* the conversation so far; taken */
	size_t known;      /* how many of these are remembered already */
	unsigned tools;    /* toolbox bits; 0: none */
	const char *type, *session; /* of the sandbox */
	unsigned max_steps;
	uint32_t tool_timeout_ms;
	bool reasoning;          /* is told */
	struct tracer *tracer;   /* NULL: nothing is traced */
	const char *traceparent; /* of the run's span; NULL none */
	/* It is over, however; the messages that it added. */
	void (*over)(void *arg, const json_t *added);
	void *arg;
};

/* The run has been given (held by this until it is over). */
void react_start(const struct react_conf *, struct run *);

#endif
