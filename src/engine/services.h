/*
 * services: what agents keep with us, and how their workers ask for it.
 *
 * An ask is a line of hutch-worker(7), "Services"; its answer is a value or an
 * error, at once or later (a sandbox).  Whose it is, is the asker's to say and
 * ours to hold to: tenant and agent never come from the line.  One database
 * below the front's directory.
 */
#ifndef ENGINE_SERVICES_H
#define ENGINE_SERVICES_H

#include <jansson.h>
#include <stdint.h>

struct config;
struct err;
struct loop;
struct manager;
struct services;
struct tasks_store;

struct services_conf {
	struct loop *loop;
	struct manager *manager; /* NULL: no sandboxes */
	const struct config *config;
	const char *path; /* of the database; ":memory:" */
};

struct services *services_new(const struct services_conf *, struct err *);
void services_free(struct services *);
struct tasks_store *services_tasks(struct services *);

/*
 * A session's history, for agents of ours: an array's elements, oldest first.
 * get appends to it, as many as `most` of the newest.
 */
struct service_whose {
	int tenant;
	const char *agent, *user, *session;
};
int services_history_get(struct services *, const struct service_whose *,
    unsigned most, json_t *array, struct err *);
int services_history_add(struct services *, const struct service_whose *,
    const json_t *array, struct err *);

struct service_ask {
	int tenant;
	const char *agent;
	const char *user, *session; /* of the run; NULL: no run */
	const char *owner; /* the run's id: whose locks these are; NULL */
	/*
	 * Once, unless forgotten: value is yours to decref, or NULL with a code
	 * and a message.
	 */
	void (*answer)(void *arg, uint64_t ask, json_t *value, const char *code,
	    const char *message);
	void *arg;
};

/* line: the ask; borrowed, as are the texts. */
void services_ask(struct services *, uint64_t ask, const struct service_ask *,
    const json_t *line);
/* All that this arg asked: it has gone. */
void services_forget(struct services *, void *arg);
/* Locks of a run that is over. */
void services_unlock(struct services *, int tenant, const char *owner);

#endif
