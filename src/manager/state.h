/*
 * state: what the manager is made of.
 *
 * For src/manager only; the rest of the front sees manager.h.  One struct owns
 * each thing: the manager its sandboxes, a sandbox its guest, its image and
 * its waits, a wait itself until it is told or forgotten.
 */
#ifndef MANAGER_STATE_H
#define MANAGER_STATE_H

#include <sys/queue.h>
#include "base/err.h"
#include "manager/image.h"
#include "manager/life.h"
#include "manager/manager.h"
#include "manager/table.h"
#include "wire/broker.h"

struct archive;
struct broker_ask;
struct conf_type;
struct pool;
struct session;
struct watch;

/* Why this life of it ends, once it does. */
enum goal {
	GOAL_LIVE,    /* it shall not end: if it does, it failed */
	GOAL_RELEASE, /* its record already says so */
	GOAL_RECYCLE, /* to be restored when somebody wants it */
	GOAL_STOP     /* to be started again by its owner */
};

/* Moments of a creation: what lies between two is a step of it. */
enum mark {
	MARK_BEGUN,
	MARK_PREPARED,
	MARK_BUILT,
	MARK_HELLO,
	MARK_READY,
	MARKS
};

TAILQ_HEAD(waits, wait);
TAILQ_HEAD(sandboxes, sandbox);

struct sandbox {
	struct life life; /* first: see sandbox_of */
	struct record rec;
	struct manager *m;
	TAILQ_ENTRY(sandbox) all, in_session, in_pool;
	struct table_node by_id, by_key, by_container;
	struct session *session; /* NULL: none */
	struct pool *pool;       /* while it is warm */

	/* what it is made from, and made again when started or restored */
	const struct conf_type *type;
	char *image, *dir; /* one of them */
	char **env;        /* NULL-ended, of the request; may be NULL */
	enum broker_net net;

	/* this life of it */
	uint8_t key[BROKER_ID];
	char hex[2 * BROKER_ID + 1];
	enum goal goal;
	struct image *made_of;
	struct guest *guest;
	struct watch *timer;
	struct broker_ask *ask;
	struct archive *archive; /* on its way in or out */
	enum { WARM_NOT, WARM_ASKED, WARM_DONE } warm; /* interpreter */
	struct broker_ask *warm_ask;
	struct guest_call *rehearsal;
	unsigned rehearsals; /* still to come, then the pool */
	enum life_event posted;
	struct err why; /* what went wrong last */
	char end[64];   /* how it ended, as the broker told; "" not yet */
	int64_t mark_us[MARKS];
	struct broker_built built;
	unsigned stops;

	struct waits waits;
	struct sandbox *replaces; /* being made in place of this one */
	unsigned holds, pins;
	uint64_t saved; /* bytes of its workspace on disk; 0: none */
	unsigned save_failures;
	int64_t save_again; /* clock_ms: not before */
	bool found;    /* in the journal, and whether it lives is not known */
	bool building; /* .ask is BUILD's */
	bool fresh;    /* its creator may hear of it before its Hello */
	bool early;    /* ... and has: calls wait in the stream */
	bool up;       /* this life of it was ready */
	bool ever;     /* one of them was */
	bool stopped;  /* by its owner; can be started again */
	bool listed;   /* in the tables */
	bool dirty;    /* touched, and the journal has not heard */
};

enum wait_for {
	WAIT_READY,
	WAIT_PAUSE,
	WAIT_GONE,
	WAIT_STOPPED,
	WAIT_ASKED,
	WAIT_FOUND
};

struct wait {
	TAILQ_ENTRY(wait) next;
	struct waits *in; /* NULL: in no list */
	struct manager *m;
	enum wait_for what;
	struct sandbox *sb; /* pinned; NULL: none yet */
	manager_fn *fn;
	usage_fn *usage;
	void *arg;
	struct watch *late;
	struct broker_ask *ask;
	bool pause, peek, reach, failed;
	bool creates;   /* forgotten, what it waits for has no owner */
	int tenant;     /* WAIT_FOUND */
	char *identity; /* WAIT_FOUND */
	struct err why;
	struct broker_usage used;
};

struct session {
	struct table_node node;
	TAILQ_ENTRY(session) next;
	int tenant;
	struct sandboxes boxes; /* in order of creation */
	char key[]; /* tenant, then the name as the client wrote it */
};

struct manager {
	struct loop *loop;
	struct broker_call *broker;
	struct journal *journal;
	const struct config *config;
	int dir; /* of saved workspaces; -1: none can be saved */
	uint32_t generation;
	struct images *images;
	struct sandboxes all;
	struct table by_id, by_key, by_container, sessions;
	TAILQ_HEAD(, session) session_list;
	struct pool *pool; /* an array */
	size_t npool;
	struct watch *scan;
	size_t records_max; /* of the living and the dead: then the oldest go */
	unsigned alive;     /* sandboxes that may have a process */
	struct waits early; /* for the end of adoption */
	struct waits told;  /* ... soon, that is */
	struct broker_ask *adopting, *asking_images;
	uint32_t listed; /* of the living, so far */
	bool incomplete; /* not all of the journal was understood */
	bool adopted;
	bool draining;
	struct watch *drain_timer;
	void (*drained)(void *);
	void *drained_arg;
	uint64_t *saved; /* bytes on disk by tenant */
	struct manager_counts counts;
};

#endif
