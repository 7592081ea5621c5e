/*
 * inner: what the files of the engine's deployments share.
 *
 *	engine		which agents there are; the journal; the end
 *	deploy		from what was sent to an agent that takes runs
 *	fleet		the workers of one agent: started, restarted, exchanged
 *	deployment	its runs: sessions, quotas, which worker
 *	call		endpoints of its own code
 *
 * Code and options that belong together are a *version*: workers are of one,
 * and a new one takes over when its first worker is ready.
 */
#ifndef ENGINE_INNER_H
#define ENGINE_INNER_H

#include <sys/queue.h>
#include "base/err.h"
#include "engine/code.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "engine/ring.h"
#include "engine/spec.h"
#include "engine/worker.h"
#include "manager/table.h"

struct installing;
struct watch;

struct version {
	unsigned holders;
	struct spec *spec;
	struct code *code; /* NULL: the sandbox's image has it all */
	struct code *deps; /* NULL: none */
	char **argv, **env;
	json_t *options; /* of init */
};

struct crew { /* one worker of a deployment */
	TAILQ_ENTRY(crew) next;
	struct deployment *d;
	struct worker *w;
	struct version *of;
};
TAILQ_HEAD(crews, crew);

struct span;

struct job { /* one run */
	TAILQ_ENTRY(job) next, waiting;
	struct deployment *d;
	struct run *run;
	struct task *task; /* NULL: it waits for a worker, or is no worker's */
	json_t *request;
	struct table_node in_session, by_run;
	char *session; /* tenant, user, session id: the lock's key */
	size_t session_len;
	int tenant;
	bool locks, waits, paused;
	enum on_leave on_leave;
	const char *door;
	int64_t deadline;  /* clock_ms(); 0: none */
	double began;      /* seconds since 1970 */
	struct span *span; /* NULL: it is not traced */
	void (*ended)(void *, struct run *);
	void *arg;
};
TAILQ_HEAD(jobs, job);

struct deployment {
	TAILQ_ENTRY(deployment) next;
	struct engine *e;
	char *name;
	int tenant; /* who deployed it */
	double created_at, updated_at;
	struct version *now;    /* NULL: never ready yet */
	struct version *trying; /* NULL: none */
	struct deploying *deploying;
	struct installing *installing;     /* deps.h; NULL: none */
	const struct agent_source *source; /* instead of workers */
	void *source_arg;
	char *title, *description; /* of a source */
	json_t *ready;             /* what its worker said last; NULL */
	struct crews crews;
	unsigned last_worker; /* number given */
	struct jobs jobs, waiting;
	unsigned njobs, ncalls;
	struct table sessions, runs;
	struct watch *again;   /* workers are missing */
	struct watch *timeout; /* of runs */
	int64_t delay;         /* until .again, this time */
	bool backs_off;        /* .again is armed */
	struct err why;        /* of the last worker's end; text "" none */
	struct ring *log;
	bool stopping;
	bool unfilled; /* .now waits for what it requires */
	uint64_t total, failed, canceled, restarts;
};
TAILQ_HEAD(deployments, deployment);

struct engine {
	struct engine_conf conf;
	int dir; /* of code */
	struct deployments all;
	unsigned *tenant_runs; /* by tenant; one more for the rest */
	unsigned njobs;
	bool draining, incomplete;
	struct watch *end;
	void (*drained)(void *);
	void *drained_arg;
	bool told;
};

/* deployment.c */
/* The run that this task answers; NULL: it is none's. */
const struct job *deployment_job(const struct deployment *,
    const struct task *);
struct deployment *deployment_new(struct engine *, const char *name,
    int tenant);
void deployment_free(struct deployment *);
void deployment_dispatch(struct deployment *); /* a worker may take some */
void deployment_fail_waiting(struct deployment *, const struct err *why);
void deployment_stop_all(struct deployment *, enum run_status, const char *code,
    const char *why);

/* fleet.c */
struct version *version_new(struct engine *, struct spec *, struct code *);
void version_hold(struct version *);
void version_drop(struct version *);
void fleet_keep(struct deployment *); /* as many as its version wants */
void fleet_try(struct deployment *, struct version *); /* held by it now */
void fleet_again(void *deployment, int);               /* of the timer */
/* What it requires is missing: it is installed, soon. */
void fleet_refill(struct deployment *);
void fleet_end(struct deployment *);                  /* all of them, now */
struct worker *fleet_pick(const struct deployment *); /* NULL: none takes one */
bool fleet_hopeful(const struct deployment *);        /* one is starting */
json_t *fleet_status(const struct deployment *);

/* deploy.c: what is being tried has come to be ready, or hasn't. */
void deploy_tried(struct deployment *, const struct err *why);
/* It is not waited for any more: who waits is told. */
void deploy_abort(struct deployment *, const char *why);

/* engine.c */
void engine_check_drained(struct engine *);
unsigned *engine_tenant_runs(struct engine *, int tenant);
int engine_record(struct deployment *, struct err *);

#endif
