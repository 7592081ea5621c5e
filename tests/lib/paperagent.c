/*
 * An engine of paper: one agent, "paper", whose answer is what it is asked to
 * say, without a sandbox.  For the doors (agents_try).
 *
 * The text of the last message is a script when it begins with "[": a JSON list
 * of what a worker's line would hold besides its run (hutch-worker(7)), and of
 * {"wait":MS}.  Any other text is echoed in words.  What comes first of a run is
 * said at once, the rest from the loop.  With metadata {"paper":NAME} it says
 * that member of the request, as JSON.
 */
#include "tests/lib/paperagent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/call.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/line.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "wire/loop.h"

struct job { /* a run that goes on */
	LIST_ENTRY(job) link;
	struct deployment *of;
	struct run *run;
	struct watch *timer;
	json_t *script;
	size_t next;
	enum on_leave on_leave;
	bool unlocked, paused;
	void (*ended)(void *, struct run *);
	void *arg;
};

struct deployment {
	struct loop *loop;
	LIST_HEAD(, job) jobs;
	unsigned running;
	bool goes_on; /* tasks are never done by an echo */
};

struct engine {
	struct deployment paper;
};

struct engine *
paper_engine(struct loop *loop)
{
	struct engine *e = xcalloc(1, sizeof *e);

	e->paper.loop = loop;
	LIST_INIT(&e->paper.jobs);
	return e;
}

void
paper_engine_goes_on(struct engine *e)
{
	e->paper.goes_on = true;
}

void
paper_engine_free(struct engine *e)
{
	struct job *j, *next;

	for (j = LIST_FIRST(&e->paper.jobs); j != NULL; j = next) {
		next = LIST_NEXT(j, link);
		run_stop(j->run, RUN_INCOMPLETE, "SHUTDOWN", "the end");
	}
	free(e);
}

struct deployment *
engine_find(struct engine *e, const char *name)
{
	return *name == '\0' || strcmp(name, "paper") == 0 ? &e->paper : NULL;
}

struct deployment *
engine_next(struct engine *e, struct deployment *d)
{
	return d == NULL ? &e->paper : NULL;
}

const char *
deployment_name(const struct deployment *d)
{
	(void)d;
	return "paper";
}

const char *
deployment_title(const struct deployment *d)
{
	(void)d;
	return "Paper agent";
}

const char *
deployment_description(const struct deployment *d)
{
	(void)d;
	return "Says what it is told to say";
}

const char *
deployment_path(const struct deployment *d)
{
	(void)d;
	return "/process";
}

enum on_leave
deployment_on_leave(const struct deployment *d)
{
	(void)d;
	return LEAVE_CANCEL;
}

json_t *
deployment_endpoints(const struct deployment *d)
{
	(void)d;
	return NULL;
}

/* It has no endpoints, so none of these is asked for. */
struct agent_call *
deployment_call(struct deployment *d, const struct call_ask *ask,
    const struct call_ops *ops, void *arg, struct err *err)
{
	(void)d;
	(void)ask;
	(void)ops;
	(void)arg;
	err_set(err, ERR_MISSING, "no endpoints on paper");
	return NULL;
}

void
agent_call_cancel(struct agent_call *c)
{
	(void)c;
}

void
agent_call_pause(struct agent_call *c, bool on)
{
	(void)c;
	(void)on;
}

bool
deployment_ready(const struct deployment *d, struct err *why)
{
	(void)d;
	(void)why;
	return true;
}

json_t *
deployment_status(const struct deployment *d)
{
	return json_pack("{s:s,s:i}", "name", "paper", "running",
	    (int)d->running);
}

/* ---- a run ---- */

static void
over(void *arg, struct run *run)
{
	struct job *j = arg;

	LIST_REMOVE(j, link);
	j->of->running--;
	watch_free(j->timer);
	json_decref(j->script);
	if (j->ended != NULL)
		j->ended(j->arg, run);
	run_drop(run);
	free(j);
}

static void
cancel(void *arg, struct run *run)
{
	(void)arg;
	(void)run;
}

static void
pause_job(void *arg, struct run *run, bool on)
{
	struct job *j = arg;

	(void)run;
	j->paused = on;
	if (!on)
		watch_arm(j->timer, 0);
}

static const struct source source = { cancel, pause_job };

/* One line of the script; how long to wait after it. */
static int64_t
say(struct job *j, json_t *step)
{
	auto_str struct str text = { 0 }, scratch = { 0 };
	const json_t *wait = json_object_get(step, "wait");
	struct line line;
	struct err err;

	if (wait != NULL)
		return json_integer_value(wait);
	json_object_set_new(step, "run", json_integer(1));
	jtext_write(&text, step);
	if (line_read(&line, text.at, text.len, &scratch, &err) < 0) {
		run_end(j->run, RUN_FAILED, "AGENT_ERROR", err.text);
		return 0;
	}
	if (line_apply(&line, j->run, &err) < 0)
		run_end(j->run, RUN_FAILED, "AGENT_ERROR", err.text);
	json_decref(line.rest);
	return 0;
}

static void
go_on(void *arg, int what)
{
	struct job *j = arg;
	struct run *run = j->run;
	int64_t wait = 0;

	(void)what;
	run_hold(run);
	while (wait == 0 && !run_over(run) && !j->paused) {
		if (j->next == json_array_size(j->script))
			run_end(run, RUN_COMPLETED, NULL, NULL);
		else
			wait = say(j, json_array_get(j->script, j->next++));
	}
	if (!run_over(run) && !j->paused)
		watch_arm(j->timer, wait);
	run_drop(run);
}

/* The text of the last message's first part that has one. */
static const char *
asked(const json_t *request)
{
	const json_t *input = json_object_get(request, "input"), *part;
	const json_t *content =
	    json_object_get(json_array_get(input, json_array_size(input) - 1),
		"content");
	const char *text;
	size_t i;

	json_array_foreach(content, i, part) {
		text = json_string_value(json_object_get(part, "text"));
		if (text != NULL)
			return text;
	}
	return "";
}

static json_t *
script_of(const struct deployment *d, const json_t *request)
{
	const char *text = asked(request), *end;
	const char *what = json_string_value(
	    json_object_get(json_object_get(request, "metadata"), "paper"));
	json_t *script = *text == '[' ? json_loads(text, 0, NULL) : NULL;

	if (what != NULL) {
		char *dump = json_dumps(json_object_get(request, what),
		    JSON_ENCODE_ANY | JSON_COMPACT);

		json_decref(script);
		script = json_pack("[{s:s?}]", "text", dump);
		free(dump);
	}
	if (script != NULL)
		return script;
	script = json_pack("[{s:s}]", "text", "You said:");
	for (; *text != '\0'; text = end) {
		end = text + strcspn(text, " ");
		json_array_append_new(script,
		    json_pack("{s:o}", "text",
			json_sprintf(" %.*s", (int)(end - text), text)));
		end += strspn(end, " ");
	}
	if (d->goes_on)
		json_array_append_new(script,
		    json_pack("{s:s,s:s,s:{s:s}}", "object", "message",
			"status", "completed", "metadata", "task_state",
			"working"));
	return script;
}

static const char *
member(const json_t *request, const char *name)
{
	const char *text = json_string_value(json_object_get(request, name));

	return text != NULL && *text != '\0' ? text : NULL;
}

static bool
busy(const struct deployment *d, const char *session)
{
	const struct job *j;

	LIST_FOREACH(j, &d->jobs, link)
	if (!j->unlocked && session != NULL &&
	    strcmp(run_facts(j->run)->session_id, session) == 0)
		return true;
	return false;
}

struct run *
deployment_run(struct deployment *d, const struct run_ask *ask, struct err *err)
{
	struct job *j;

	if (!ask->unlocked && busy(d, member(ask->request, "session_id"))) {
		err_set(err, ERR_BUSY, "the session has a run that goes on");
		return NULL;
	}
	j = xcalloc(1, sizeof *j);
	j->of = d;
	j->script = script_of(d, ask->request);
	j->on_leave = ask->on_leave;
	j->unlocked = ask->unlocked;
	j->ended = ask->ended;
	j->arg = ask->arg;
	j->timer = watch_timer(d->loop, go_on, j);
	j->run = run_new(&(struct run_conf){ .id = member(ask->request, "id"),
	    .session_id = member(ask->request, "session_id"),
	    .user_id = member(ask->request, "user_id"),
	    .model = member(ask->request, "model"),
	    .agent = "paper",
	    .reply = ask->reply,
	    .reply_arg = ask->reply_arg,
	    .stream = ask->stream,
	    .keep = ask->keep,
	    .ids = ask->keep > 0,
	    .high = 256 << 10,
	    .ended = over,
	    .arg = j });
	LIST_INSERT_HEAD(&d->jobs, j, link);
	d->running++;
	run_hold(j->run); /* the caller's */
	run_start(j->run, &source, j);
	watch_arm(j->timer, 0);
	return j->run;
}

void
deployment_left(struct deployment *d, struct run *run)
{
	const struct job *j;

	LIST_FOREACH(j, &d->jobs, link)
	if (j->run == run)
		break;
	if (j != NULL && j->on_leave == LEAVE_CANCEL)
		run_stop(run, RUN_CANCELED, NULL, "the reader has left");
}

unsigned
deployment_stop_runs(struct deployment *d, int tenant, const char *session,
    const char *user, const char *why)
{
	struct job *j, *next;
	unsigned n = 0;

	(void)tenant;
	(void)user;
	for (j = LIST_FIRST(&d->jobs); j != NULL; j = next) {
		next = LIST_NEXT(j, link);
		if (strcmp(run_facts(j->run)->session_id, session) != 0)
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

	(void)tenant;
	LIST_FOREACH(j, &d->jobs, link)
	if (strcmp(run_facts(j->run)->id, id) == 0) {
		run_stop(j->run, RUN_CANCELED, NULL, why);
		return 0;
	}
	return -1;
}

/* As an agent of the configuration: nobody takes it away. */
int
engine_remove(struct engine *e, const char *name, struct err *err)
{
	(void)e;
	return err_set(err, ERR_DENIED, "%s: the configuration has it", name);
}
