/*
 * deployment: one agent that is offered: its configuration, its code, the
 * workers in sandboxes that run it, and the runs of them.
 *
 * Doors ask it for runs.  It holds one lock a session (user and session id):
 * a second run of the same session is refused while the first goes on.  It
 * starts workers (at the first run, or ahead), restarts those that end, with
 * backoff, and gives each run to one of them; a run waits for a worker that is
 * starting.  Knows no HTTP and no outward protocol.
 */
#ifndef ENGINE_DEPLOYMENT_H
#define ENGINE_DEPLOYMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct deployment;
struct engine;
struct err;
struct reply_kind;
struct ring;
struct run;

enum on_leave { LEAVE_CANCEL, LEAVE_CONTINUE }; /* D24 */

struct run_ask {
	/* An AgentRequest: input, session_id, user_id, id, ...; a reference is
	 * taken.  Checked by the door. */
	json_t *request;
	const char *door; /* "process", "responses", ...: for logs, metrics */
	const struct reply_kind *reply;
	const void *reply_arg;
	int tenant;
	const char *traceparent; /* W3C, of who asks; NULL: none */
	bool stream;
	/* Bytes of the stream kept to be read again, with id lines; 0: what
	 * the deployment's configuration says. */
	size_t keep;
	bool unlocked; /* the session's lock is not wanted */
	enum on_leave on_leave;
	void (*ended)(void *arg, struct run *); /* may be NULL */
	void *arg;
};

/*
 * Held for the caller, who drops it.  ERR_BUSY: the session has a run;
 * ERR_LIMIT: a quota; ERR_MISSING: it has no query handler; ERR_DENIED: it is
 * being stopped.
 */
struct run *deployment_run(struct deployment *, const struct run_ask *,
    struct err *);
/* The reader has gone: what on_leave says.  A run that is over: nothing. */
void deployment_left(struct deployment *, struct run *);

/* Runs of this session that were stopped; user NULL or "": any user. */
unsigned deployment_stop_runs(struct deployment *, int tenant,
    const char *session, const char *user, const char *why);

/* This one.  -1: there is none (any more) of this tenant; -1: of any. */
int deployment_stop_run(struct deployment *, int tenant, const char *id,
    const char *why);
/* Those that go on: a new reference. */
json_t *deployment_runs(const struct deployment *, int tenant);

const char *deployment_name(const struct deployment *);
const char *deployment_title(const struct deployment *); /* description too */
const char *deployment_description(const struct deployment *);
/* Where the native door stands: "/process". */
const char *deployment_path(const struct deployment *);
/* What a door does by default when its reader leaves. */
enum on_leave deployment_on_leave(const struct deployment *);
/* As "ready" named them, hutch-worker(7); borrowed; NULL: none. */
json_t *deployment_endpoints(const struct deployment *);
struct ring *deployment_log(const struct deployment *); /* ring.h */
/* Ready to take a run now; else err says what is missing. */
bool deployment_ready(const struct deployment *, struct err *why);
/* What is known of it, for list and status: a new reference. */
json_t *deployment_status(const struct deployment *);

#endif
