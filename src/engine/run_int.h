/*
 * run_int: what the halves of run share: its life (run.c), and what its source
 * says (run_say.c).
 */
#ifndef ENGINE_RUN_INT_H
#define ENGINE_RUN_INT_H

#include <sys/queue.h>
#include "engine/run.h"

/* A message, and what only its run knows of it. */
struct item {
	struct message m; /* the first: encoders have its address */
	TAILQ_ENTRY(item) link;
	size_t nlabel;
	char label[];
};
TAILQ_HEAD(items, item);

struct run {
	struct run_facts facts;
	char *own; /* the texts of facts */
	unsigned holders;
	enum run_status status;
	const struct source *source;
	void *source_arg;
	struct feed *feed;
	struct reply *reply;
	uint64_t seq;
	size_t most, said;
	struct items open, done;
	unsigned nopen, nmessage;
	struct item *answer; /* the newest open one of type message */
	const struct message **output;
	size_t noutput;
	struct str usage;
	char *code, *why;
	void (*ended)(void *, struct run *);
	void *arg;
	TAILQ_HEAD(, run_wait) waits;
	bool paused, deaf;
};

/* Number it, and hand it to the reply. */
void run_emit(struct run *, struct event *);
bool run_deaf(const struct run *);
/* false: it has said too much, and the run is over. */
bool run_charge(struct run *, size_t n);
/* Its open parts too; it goes to what is done. */
void run_end_item(struct run *, struct item *, enum run_status);

#endif
