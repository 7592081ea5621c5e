#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/inner.h"
#include "engine/line.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "engine/trace.h"
#include "engine/services.h"
#include "json/jtext.h"
#include "wire/loop.h"

#define FEED_HIGH (256 * 1024)

/* ---- one run ---- */

static void
job_free(struct job *j)
{
	struct deployment *d = j->d;

	TAILQ_REMOVE(&d->jobs, j, next);
	if (j->waits)
		TAILQ_REMOVE(&d->waiting, j, waiting);
	if (j->locks)
		table_remove(&d->sessions, &j->in_session);
	table_remove(&d->runs, &j->by_run);
	d->njobs--;
	d->e->njobs--;
	(*engine_tenant_runs(d->e, j->tenant))--;
	json_decref(j->request);
	run_drop(j->run);
	free(j->session);
	free(j);
}

/* The run has printed its last event. */
static void
on_ended(void *arg, struct run *run)
{
	struct job *j = arg;
	struct deployment *d = j->d;
	struct engine *e = d->e;
	void (*ended)(void *, struct run *) = j->ended;
	void *ended_arg = j->arg;

	d->failed += run_status(run) == RUN_FAILED;
	d->canceled += run_status(run) == RUN_CANCELED;
	if (run_status(run) == RUN_FAILED)
		span_fail(j->span, run_code(run), run_why(run));
	span_text(j->span, "hutch.outcome", run_status_name(run_status(run)));
	span_end(take_ptr(&j->span));
	log_say(LOG_INFO, "run", "agent", d->name, "door", j->door, "run",
	    run_facts(run)->id, "session", run_facts(run)->session_id,
	    "outcome", run_status_name(run_status(run)), "code", run_code(run),
	    "why", run_why(run), NULL);
	if (e->conf.services != NULL)
		services_unlock(e->conf.services, j->tenant,
		    run_facts(run)->id);
	run_hold(run);
	job_free(j);
	if (ended != NULL)
		ended(ended_arg, run);
	run_drop(run);
	engine_check_drained(e);
}

/* ---- its worker ---- */

static int
on_line(void *arg, const struct line *l, struct err *err)
{
	struct job *j = arg;
	struct run *run = j->run;
	int r;

	run_hold(run);
	r = line_apply(l, run, err);
	if (run_over(run)) /* then j has gone */
		r = 1;
	run_drop(run);
	return r;
}

static void
on_gone(void *arg, const struct err *why)
{
	struct job *j = arg;
	auto_free char *text = NULL;

	j->task = NULL;
	if (why->code == ERR_DENIED)
		text = xstrdup(why->text);
	else
		text = xasprintf("the agent's process is gone: %s", why->text);
	run_end(j->run, RUN_FAILED,
	    why->code == ERR_DENIED ? "READER_TOO_SLOW" : "WORKER_DIED", text);
}

static const struct task_ops task_ops = { on_line, on_gone };

static void
put_request(struct str *rest, const struct job *j)
{
	str_puts(rest, ",\"request\":");
	jtext_write(rest, j->request);
}

static void
give(struct job *j, struct worker *w)
{
	auto_str struct str rest = { 0 };

	put_request(&rest, j);
	json_decref(j->request);
	j->request = NULL;
	j->task = worker_ask(w, "query", &rest, &task_ops, j);
	task_for(j->task, j->tenant);
	if (j->paused)
		task_pause(j->task, true);
}

static void
source_cancel(void *arg, struct run *run)
{
	struct job *j = arg;

	(void)run;
	if (j->task != NULL)
		task_cancel(take_ptr(&j->task));
}

static void
source_pause(void *arg, struct run *run, bool on)
{
	struct job *j = arg;

	(void)run;
	j->paused = on;
	if (j->task != NULL)
		task_pause(j->task, on);
}

static const struct source source = { source_cancel, source_pause };

const struct job *
deployment_job(const struct deployment *d, const struct task *t)
{
	const struct job *j;

	TAILQ_FOREACH(j, &d->jobs, next)
		if (j->task == t)
			return j;
	return NULL;
}

void
deployment_dispatch(struct deployment *d)
{
	struct worker *w;
	struct job *j;

	while ((j = TAILQ_FIRST(&d->waiting)) != NULL &&
	    (w = fleet_pick(d)) != NULL) {
		TAILQ_REMOVE(&d->waiting, j, waiting);
		j->waits = false;
		give(j, w);
	}
}

void
deployment_fail_waiting(struct deployment *d, const struct err *why)
{
	struct job *j;

	while ((j = TAILQ_FIRST(&d->waiting)) != NULL)
		run_stop(j->run, RUN_FAILED, "AGENT_NOT_STARTED", why->text);
}

/* ---- asking for one ---- */

static int
allowed(struct deployment *d, const struct run_ask *ask, struct err *err)
{
	const struct config *c = d->e->conf.config;
	uint32_t most = d->now != NULL ? d->now->spec->max_runs : c->agent_runs;

	if (d->stopping || d->e->draining)
		return err_set(err, ERR_DENIED, "the agent is being stopped");
	if (d->ready != NULL &&
	    json_is_false(json_object_get(d->ready, "query")))
		return err_set(err, ERR_MISSING,
		    "the agent has no query handler");
	if (d->njobs >= most)
		return err_set(err, ERR_LIMIT,
		    "the agent has %u runs already: try later", most);
	if (c->tenant_runs > 0 &&
	    *engine_tenant_runs(d->e, ask->tenant) >= c->tenant_runs)
		return err_set(err, ERR_LIMIT,
		    "the tenant has %u runs already: try later",
		    c->tenant_runs);
	return 0;
}

static const char *
text_of(const json_t *o, const char *name)
{
	const char *text = jtext_cstring(json_object_get(o, name));

	return text != NULL && *text != '\0' ? text : NULL;
}

static struct run *
make_run(struct deployment *d, struct job *j, const struct run_ask *ask)
{
	const json_t *q = ask->request;
	const struct run_conf conf = {
		.id = text_of(q, "id"),
		.session_id = text_of(q, "session_id"),
		.user_id = text_of(q, "user_id"),
		.model = text_of(q, "model"),
		.agent = d->name,
		.reply = ask->reply,
		.reply_arg = ask->reply_arg,
		.stream = ask->stream,
		.keep = ask->keep > 0 ? ask->keep
		    : d->now != NULL  ? d->now->spec->keep
				      : 0,
		.ids =
		    ask->keep > 0 || (d->now != NULL && d->now->spec->keep > 0),
		.high = FEED_HIGH,
		.most = d->e->conf.config->answer_max,
		.ended = on_ended,
		.arg = j,
	};

	return run_new(&conf);
}

static void
name_session(struct job *j, const struct run_facts *f)
{
	auto_str struct str key = { 0 };

	str_printf(&key, "%d", j->tenant);
	str_putc(&key, '\0');
	str_puts(&key, f->user_id);
	str_putc(&key, '\0');
	str_puts(&key, f->session_id);
	j->session_len = key.len;
	j->session = str_take(&key);
}

/* What the agent is told: the defaults are filled in. */
static json_t *
full_request(const json_t *asked, const struct run_facts *f)
{
	json_t *q = json_copy((json_t *)(uintptr_t)asked);

	json_object_set_new(q, "id", json_string(f->id));
	json_object_set_new(q, "session_id", json_string(f->session_id));
	json_object_set_new(q, "user_id", json_string(f->user_id));
	return q;
}

static void
list_job(struct deployment *d, struct job *j)
{
	TAILQ_INSERT_TAIL(&d->jobs, j, next);
	table_add(&d->runs, &j->by_run, &j->run, sizeof j->run, j);
	if (j->locks)
		table_add(&d->sessions, &j->in_session, j->session,
		    j->session_len, j);
	d->njobs++;
	d->total++;
	d->e->njobs++;
	(*engine_tenant_runs(d->e, j->tenant))++;
}

static void
set_deadline(struct deployment *d, struct job *j)
{
	uint32_t s = d->now != NULL ? d->now->spec->run_timeout
				    : d->e->conf.config->run_timeout;

	if (s == 0)
		return;
	j->deadline = clock_ms() + (int64_t)s * 1000;
	if (TAILQ_FIRST(&d->jobs) == j)
		watch_arm(d->timeout, (int64_t)s * 1000);
}

static void
too_long(void *arg, int what)
{
	struct deployment *d = arg;
	struct job *j, *after;
	int64_t now = clock_ms(), first = 0;

	(void)what;
	for (j = TAILQ_FIRST(&d->jobs); j != NULL; j = after) {
		after = TAILQ_NEXT(j, next);
		if (j->deadline > 0 && j->deadline <= now)
			run_stop(j->run, RUN_FAILED, "TIMEOUT",
			    "the run took longer than run_timeout allows");
		else if (j->deadline > 0 && (first == 0 || j->deadline < first))
			first = j->deadline;
	}
	if (first > 0)
		watch_arm(d->timeout, first - now);
}

static void
begin(struct deployment *d, struct job *j)
{
	struct worker *w;

	if (d->source != NULL) {
		d->source->start(d->source_arg, j->run, j->tenant, j->request);
		return;
	}
	run_start(j->run, &source, j);
	w = TAILQ_EMPTY(&d->waiting) ? fleet_pick(d) : NULL;
	if (w != NULL) {
		give(j, w);
		return;
	}
	j->waits = true;
	TAILQ_INSERT_TAIL(&d->waiting, j, waiting);
	fleet_keep(d);
}

/* Who answers is told whose child its own spans are. */
static void
trace_begin(struct job *j, const char *parent)
{
	const struct run_facts *f = run_facts(j->run);
	auto_free char *name = xasprintf("invoke_agent %s", j->d->name);

	j->span = span_begin(j->d->e->conf.tracer, parent, SPAN_SERVER, name);
	span_text(j->span, "gen_ai.operation.name", "invoke_agent");
	span_text(j->span, "gen_ai.agent.name", j->d->name);
	span_text(j->span, "gen_ai.conversation.id", f->session_id);
	span_text(j->span, "gen_ai.request.model", f->model);
	span_text(j->span, "gen_ai.response.id", f->id);
	span_text(j->span, "hutch.door", j->door);
	if (j->span != NULL)
		parent = span_traceparent(j->span);
	if (parent != NULL && *parent != '\0')
		json_object_set_new(j->request, "traceparent",
		    json_string(parent));
}

struct run *
deployment_run(struct deployment *d, const struct run_ask *ask, struct err *err)
{
	struct job *j;
	struct run *run;

	if (allowed(d, ask, err) < 0)
		return NULL;
	j = xcalloc(1, sizeof *j);
	j->d = d;
	j->tenant = ask->tenant;
	j->on_leave = ask->on_leave;
	j->door = ask->door;
	j->ended = ask->ended;
	j->arg = ask->arg;
	j->began = clock_unix();
	j->run = run = make_run(d, j, ask);
	name_session(j, run_facts(run));
	j->locks = !ask->unlocked;
	if (j->locks &&
	    table_find(&d->sessions, j->session, j->session_len) != NULL) {
		err_set(err, ERR_BUSY,
		    "session %.80s has a run that goes on: wait for it, or "
		    "stop it",
		    run_facts(run)->session_id);
		run_drop(run);
		free(j->session);
		free(j);
		return NULL;
	}
	j->request = full_request(ask->request, run_facts(run));
	trace_begin(j, ask->traceparent);
	list_job(d, j);
	set_deadline(d, j);
	run_hold(run);
	begin(d, j);
	return run;
}

/* ---- stopping ---- */

static struct job *
job_of(const struct deployment *d, struct run *run)
{
	return table_find(&d->runs, &run, sizeof run);
}

void
deployment_left(struct deployment *d, struct run *run)
{
	const struct job *j;

	if (run_over(run)) /* d may have gone since */
		return;
	j = job_of(d, run);
	if (j != NULL && j->on_leave == LEAVE_CANCEL)
		run_stop(run, RUN_CANCELED, NULL, "the client has left");
}

unsigned
deployment_stop_runs(struct deployment *d, int tenant, const char *session,
    const char *user, const char *why)
{
	struct job *j, *after;
	unsigned n = 0;

	for (j = TAILQ_FIRST(&d->jobs); j != NULL; j = after) {
		const struct run_facts *f = run_facts(j->run);

		after = TAILQ_NEXT(j, next);
		if ((tenant >= 0 && j->tenant != tenant) ||
		    strcmp(f->session_id, session) != 0 ||
		    (user != NULL && *user != '\0' &&
			strcmp(f->user_id, user) != 0))
			continue;
		run_stop(j->run, RUN_CANCELED, NULL, why);
		n++;
	}
	return n;
}

int
deployment_stop_run(struct deployment *d, int tenant, const char *id,
    const char *why)
{
	struct job *j;

	TAILQ_FOREACH(j, &d->jobs, next)
		if ((tenant < 0 || j->tenant == tenant) &&
		    strcmp(run_facts(j->run)->id, id) == 0) {
			run_stop(j->run, RUN_CANCELED, NULL, why);
			return 0;
		}
	return -1;
}

void
deployment_stop_all(struct deployment *d, enum run_status status,
    const char *code, const char *why)
{
	struct job *j;

	while ((j = TAILQ_FIRST(&d->jobs)) != NULL)
		run_stop(j->run, status, code, why);
}

/* ---- its life ---- */

struct deployment *
deployment_new(struct engine *e, const char *name, int tenant)
{
	struct deployment *d = xcalloc(1, sizeof *d);

	d->e = e;
	d->name = xstrdup(name);
	d->tenant = tenant;
	d->created_at = d->updated_at = clock_unix();
	TAILQ_INIT(&d->crews);
	TAILQ_INIT(&d->jobs);
	TAILQ_INIT(&d->waiting);
	d->again = watch_timer(e->conf.loop, fleet_again, d);
	d->timeout = watch_timer(e->conf.loop, too_long, d);
	d->log = ring_new(e->conf.config->agent_log);
	TAILQ_INSERT_TAIL(&e->all, d, next);
	return d;
}

/* Its runs end, its workers too; who waits for it has been told. */
void
deployment_free(struct deployment *d)
{
	d->stopping = true;
	deployment_stop_all(d, RUN_INCOMPLETE, "AGENT_STOPPED",
	    "the agent was stopped");
	deploy_abort(d, "the agent was stopped");
	fleet_end(d);
	TAILQ_REMOVE(&d->e->all, d, next);
	if (d->source != NULL && d->source->drop != NULL)
		d->source->drop(d->source_arg);
	version_drop(d->now);
	version_drop(d->trying);
	json_decref(d->ready);
	table_free(&d->sessions);
	table_free(&d->runs);
	watch_free(d->again);
	watch_free(d->timeout);
	ring_free(d->log);
	free(d->title);
	free(d->description);
	free(d->name);
	free(d);
}
