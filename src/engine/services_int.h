/*
 * services_int: one ask while it is being answered.
 *
 *	services_life	the database, what is swept, what is forgotten
 *	services_ask	the table of services; state, history, memory
 *	services_box	sandboxes
 */
#ifndef ENGINE_SERVICES_INT_H
#define ENGINE_SERVICES_INT_H

#include <stdbool.h>
#include <sys/queue.h>
#include "engine/services.h"
#include "store/service.h"

struct db;
struct db_set;
struct err;
struct history_store;
struct memory_store;
struct state_store;
struct watch;

struct box_ask; /* one that waits for a sandbox */
TAILQ_HEAD(box_asks, box_ask);

struct services {
	struct services_conf conf;
	struct db *db;
	struct db_set *sums;
	struct tasks_store *tasks;
	struct state_store *state;
	struct history_store *history;
	struct memory_store *memory;
	struct watch *sweep;
	double locked_until; /* the last lock there is, or was */
	struct box_asks boxes;
};

struct asking {
	struct services *s;
	uint64_t ask;
	const struct service_ask *who;
	const json_t *line;
	struct service_key key;
	double now;
};

/* As the database knows it. */
const char *services_tenant(const struct services *, int tenant);
/* A text of the line; NULL: absent.  -1: it is none. */
int asking_text(const struct asking *, const char *name, const char **,
    struct err *);

/* *later: the answer comes by itself.  Else *value, yours; -1: err. */
typedef int service_fn(struct asking *, json_t **value, bool *later,
    struct err *);
service_fn box_connect, box_call, box_release;
void box_forget(struct services *, void *arg); /* NULL: all */

#endif
