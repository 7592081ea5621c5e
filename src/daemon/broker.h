/*
 * broker: what root does when its own, less trusted processes ask.
 *
 * One closed table of requests (broker.c); a request that is not in it, comes
 * from the wrong process, has another size or other descriptors ends the
 * trust in its sender.  Reads no byte that network or guest wrote.
 */
#ifndef DAEMON_BROKER_H
#define DAEMON_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "daemon/boxes.h"
#include "daemon/images.h"
#include "daemon/lent.h"
#include "daemon/peer.h"
#include "daemon/slots.h"
#include "daemon/state.h"
#include "daemon/trash.h"
#include "wire/broker.h"
#include "wire/link.h"

struct config;
struct err;
struct host;
struct job;
struct later;
struct blanks;
struct model;
struct net;
struct warm;
struct loop;

/* Who may ask. */
enum { ROLE_FRONT = 1, ROLE_FETCH = 2, ROLE_ADMIN = 4, ROLE_MODEL = 8 };

/* What the isolator does for us: a seam for tests. */
struct mechanism {
	const struct backend *backend;
	int (*confine)(struct host *, const struct confined *,
	    struct instance *, struct err *);
	void (*drop)(struct instance *);
	/* A detached copy of the mount that ends at this directory. */
	int (*window)(int dir, bool readonly, struct err *);
	/* Readable when it is out of memory and we have to end it; -1 with
	 * ERR_MISSING: the kernel does. */
	int (*oom_fd)(struct host *, const struct instance *, struct err *);
	/* The layers as one read-only tree, lowest first, ids of slot 0. */
	int (*merge)(struct host *, const int *layer, size_t n, struct err *);
};

enum { PROGRAM_FRONT, PROGRAM_FETCH, PROGRAM_MODEL, PROGRAMS };

struct broker {
	struct loop *loop;
	struct config *config;
	struct host *host;
	const struct mechanism *does;
	struct state state;
	struct slots *slots;
	struct boxes *boxes;
	struct images *images;
	struct lent *lent;
	struct trash *trash;
	int program[PROGRAMS];   /* executables */
	int tcp, native, agents; /* listeners; -1 once it stops */
	uint16_t port;           /* that .tcp got */
	uint32_t generation;     /* of the front */
	uint32_t front_slot, model_slot;
	uint32_t owner_slot; /* its first id owns sandboxes' user namespaces */
	struct blanks *blanks; /* NULL: none are made ahead */
	struct warm *warm;     /* NULL: no warm interpreters */
	struct model *model;   /* hutch-model: runs once it was asked for */
	struct net *net;     /* NULL: until the first sandbox with a way out */
	struct later *later; /* NULL: everything is done at once */
	struct peer *front;  /* NULL: there is none now */
	TAILQ_HEAD(jobs, job) jobs;
	unsigned njobs;
	bool stopping;
	void (*idle)(struct broker *); /* a sandbox or a job is gone */
};

/* 0: answered, be it with an error.  -1: not to be trusted any more. */
int broker_serve(struct broker *, struct peer *, struct link_msg *,
    struct err *);
/* To the front, if there is one; takes the descriptors. */
void broker_tell(struct broker *, struct link_msg *);
/* The configuration as the front gets it; a descriptor, yours to close. */
int broker_config(const struct broker *, struct err *);
/* What hutch-model gets of it, keys and all; likewise. */
int broker_models(const struct broker *, struct err *);
/* A deferred answer to call. */
void broker_reply(struct peer *, struct link_msg *, uint32_t call);
/* Removes garbage, unless a job may still be counting on it. */
void broker_collect(struct broker *);

#endif
