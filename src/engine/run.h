/*
 * run: one question to an agent, from its request to its last event.
 *
 * Owns the messages, numbers the events, and hands each to its reply.  Whoever
 * answers (a worker's lines, the built-in agent) is a *source*: it says what it
 * has by the run_ calls below, which put right what a source gets wrong
 * (unannounced messages, parts left open), so that every stream is well-formed.
 * Nothing of a run is heard after run_end: later calls are ignored.
 *
 * A run lives until it has ended and nobody holds it; its agent holds it until
 * it has ended (and, if it is kept, until its time is over).
 */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "engine/event.h"

struct feed;
struct reply;
struct reply_kind;
struct run;

struct source {
	/* Stop; run_end(RUN_CANCELED) is said by the run itself, at once. */
	void (*cancel)(void *arg, struct run *);
	/* The readers are slow: produce no more until told otherwise. */
	void (*pause)(void *arg, struct run *, bool);
};

struct run_conf {
	const char *id, *session_id, *user_id, *model; /* NULL: made, or "" */
	const char *agent;
	const struct reply_kind *reply;
	const void *reply_arg;
	bool stream; /* has a feed */
	size_t keep; /* of the feed: for replay */
	bool ids;
	size_t high;   /* unread bytes at which the source is paused */
	size_t most;   /* bytes that it may say in all; 0: 16 MiB */
	int64_t now_s; /* created_at; 0: the clock's */
	/* After the last event has been printed; may be NULL. */
	void (*ended)(void *arg, struct run *);
	void *arg;
};

struct run *run_new(const struct run_conf *); /* says nothing yet */
void run_hold(struct run *);
void run_drop(struct run *);
/* created, in_progress */
void run_start(struct run *, const struct source *, void *arg);

const struct run_facts *run_facts(const struct run *);
enum run_status run_status(const struct run *);
bool run_over(const struct run *);
struct feed *run_feed(struct run *); /* NULL: no stream */
const struct reply *run_reply(const struct run *);
/* The failure's code and text; NULL if there is none. */
const char *run_code(const struct run *);
const char *run_why(const struct run *);

/* Somebody else who wants to know when it is over, once; its own struct. */
struct run_wait {
	void (*over)(void *arg, struct run *);
	void *arg;
	TAILQ_ENTRY(run_wait) link;
	bool waiting;
};
/* A run that is over already tells nobody: ask run_over() first. */
void run_wait(struct run *, struct run_wait *);
void run_unwait(struct run *, struct run_wait *); /* if it waits */

/*
 * From outside: end it with this status (canceled, failed, incomplete) and
 * reason, and tell the source.  code NULL for canceled.
 */
void run_stop(struct run *, enum run_status, const char *code, const char *why);

/* ---- what a source says.  label: its own name of a message, in this run ---- */

/* More of the answer; escaped text. */
void run_text(struct run *, struct slice);

struct run_message {
	struct slice label;
	const char *type, *role;      /* NULL: message, assistant or tool */
	struct slice usage, metadata; /* JSON; .at NULL: unchanged */
	struct slice code, text;      /* escaped */
	enum run_status status;
};
/* Begins it if it is new; status RUN_IN_PROGRESS leaves it open. */
void run_message(struct run *, const struct run_message *);

struct run_content {
	struct slice label;
	enum part_type type;
	int index;  /* -1: the open one of this type, or a new one */
	bool delta; /* of a kind that grows: value[0] is added */
	bool completed;
	bool valued; /* value[] holds something */
	/* grows: [0] is escaped text; else JSON values; .at NULL: null */
	struct slice value[PART_FIELDS];
};
void run_content(struct run *, const struct run_content *);
void run_usage(struct run *, struct slice json);
/* code and why: plain text, of a failure; else NULL. */
void run_end(struct run *, enum run_status, const char *code, const char *why);

#endif
