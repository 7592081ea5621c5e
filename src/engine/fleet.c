#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/deps.h"
#include "engine/inner.h"
#include "engine/package.h"
#include "engine/run.h"
#include "engine/services.h"
#include "json/jtext.h"
#include "wire/loop.h"

#define DELAY_FIRST 100
#define DELAY_MOST 30000
#define DELAY_READY 1000
#define LIVED_WELL 10000 /* ms; after that the next delay is short again */

#define PACKAGE_PATH "/opt/hutch/lib"
#define DEPS_PATH "/opt/hutch/deps"
#define CODE_PATH "/workspace"

/* ---- versions ---- */

static void
add(char ***list, size_t *n, char *text)
{
	*list = xrealloc(*list, (*n + 2) * sizeof **list);
	(*list)[(*n)++] = text;
	(*list)[*n] = NULL;
}

static void
list_free(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

static void
make_argv(struct version *v)
{
	static const char *const python[] = { "python3", "-m", "hutch_agent",
		NULL };
	char *const *said = v->spec->command;
	size_t n = 0;

	for (size_t i = 0; said != NULL && said[i] != NULL; i++)
		add(&v->argv, &n, xstrdup(said[i]));
	if (n > 0)
		return;
	for (size_t i = 0; python[i] != NULL; i++)
		add(&v->argv, &n, xstrdup(python[i]));
	if (v->spec->entry[0] != '\0') {
		add(&v->argv, &n, xstrdup("-e"));
		add(&v->argv, &n, xstrdup(v->spec->entry));
	}
	add(&v->argv, &n, xstrdup(CODE_PATH));
}

static void
make_env(struct version *v)
{
	size_t n = 0;

	add(&v->env, &n,
	    xstrdup("PYTHONPATH=" PACKAGE_PATH ":" DEPS_PATH ":" CODE_PATH));
	add(&v->env, &n, xstrdup("PYTHONUNBUFFERED=1"));
	add(&v->env, &n, xasprintf("HUTCH_AGENT=%s", v->spec->name));
	for (size_t i = 0; v->spec->env != NULL && v->spec->env[i] != NULL; i++)
		add(&v->env, &n, xstrdup(v->spec->env[i]));
}

struct version *
version_new(struct engine *e, struct spec *spec, struct code *code)
{
	const struct config *c = e->conf.config;
	struct version *v = xcalloc(1, sizeof *v);

	v->holders = 1;
	v->spec = spec;
	v->code = code;
	make_argv(v);
	make_env(v);
	v->options =
	    spec->options != NULL ? json_copy(spec->options) : json_object();
	json_object_set_new(v->options, "worker_line",
	    json_integer((json_int_t)c->worker_line));
	json_object_set_new(v->options, "cancel_timeout",
	    json_integer(c->cancel_timeout));
	return v;
}

void
version_hold(struct version *v)
{
	v->holders++;
}

void
version_drop(struct version *v)
{
	if (v == NULL || --v->holders > 0)
		return;
	code_drop(v->code);
	code_drop(v->deps);
	list_free(v->argv);
	list_free(v->env);
	json_decref(v->options);
	spec_free(v->spec);
	free(v);
}

/* ---- workers ---- */

static void
crew_free(struct crew *c)
{
	TAILQ_REMOVE(&c->d->crews, c, next);
	if (c->d->e->conf.services != NULL)
		services_forget(c->d->e->conf.services, c->w);
	worker_free(c->w);
	version_drop(c->of);
	free(c);
}

static const struct worker_ops worker_ops;

static void
start(struct deployment *d, struct version *v)
{
	struct engine *e = d->e;
	struct box_tar tar[BOX_TARS] = { { PACKAGE_PATH, -1, NULL, 0 } };
	struct worker_conf conf = {
		.box = { .loop = e->conf.loop,
		    .manager = e->conf.manager,
		    .type = v->spec->type,
		    .image = v->spec->image,
		    .net = v->spec->net,
		    .tenant = d->tenant,
		    .tar = tar,
		    .ntar = 1 },
		.config = e->conf.config,
		.program = { .argv = (const char *const *)v->argv,
		    .env = (const char *const *)v->env,
		    .cwd = CODE_PATH },
		.log = d->log,
		.name = d->name,
		.options = v->options,
		.number = ++d->last_worker,
		.ops = &worker_ops,
	};
	struct crew *c = xcalloc(1, sizeof *c);

	tar[0].bytes = package_tar(&tar[0].n);
	if (v->deps != NULL)
		tar[conf.box.ntar++] =
		    (struct box_tar){ DEPS_PATH, code_fd(v->deps), NULL, 0 };
	if (v->code != NULL)
		tar[conf.box.ntar++] =
		    (struct box_tar){ CODE_PATH, code_fd(v->code), NULL, 0 };
	version_hold(v);
	c->d = d;
	c->of = v;
	conf.arg = c;
	TAILQ_INSERT_TAIL(&d->crews, c, next);
	c->w = worker_new(&conf);
}

static unsigned
count(const struct deployment *d, const struct version *v)
{
	struct crew *c;
	unsigned n = 0;

	TAILQ_FOREACH(c, &d->crews, next)
		n += c->of == v && !worker_leaves(c->w);
	return n;
}

static void
fill(struct deployment *d, struct version *v)
{
	while (count(d, v) < v->spec->processes)
		start(d, v);
}

void
fleet_keep(struct deployment *d)
{
	if (d->stopping || d->e->draining || d->now == NULL || d->backs_off ||
	    d->unfilled)
		return;
	fill(d, d->now);
}

/* What has been ready once is worth another try soon. */
static void
set_delay(struct deployment *d, bool was_ready, bool lived_well)
{
	int64_t most = was_ready ? DELAY_READY : DELAY_MOST;
	int64_t next = lived_well || d->delay == 0 ? DELAY_FIRST : d->delay * 2;

	d->delay = next < most ? next : most;
	d->backs_off = true;
	watch_arm(d->again, d->delay);
}

static void
refilled(void *arg, struct code *deps, const struct err *why)
{
	struct deployment *d = arg;

	if (why != NULL) {
		d->why = *why;
		ring_say(d->log, "install", "failed: %s", why->text);
		set_delay(d, false, false);
		return;
	}
	d->now->deps = deps;
	d->unfilled = false;
	fleet_keep(d);
}

/* Soon: at the start of the front the store is not known yet. */
void
fleet_refill(struct deployment *d)
{
	set_delay(d, false, true);
}

void
fleet_again(void *arg, int what)
{
	struct deployment *d = arg;

	(void)what;
	d->backs_off = false;
	if (d->unfilled && d->installing == NULL)
		deps_get(d, d->now, refilled, d);
	fleet_keep(d);
}

/* ---- one version after another ---- */

/* Who is not of the version that counts takes nothing more. */
static void
retire(struct deployment *d)
{
	struct crew *c, *after;

	for (c = TAILQ_FIRST(&d->crews); c != NULL; c = after) {
		after = TAILQ_NEXT(c, next);
		if (c->of != d->now && c->of != d->trying)
			worker_leave(c->w);
	}
}

static void
take_over(struct deployment *d)
{
	struct version *old = d->now;

	d->now = d->trying;
	d->trying = NULL;
	d->delay = 0;
	d->backs_off = false;
	watch_stop(d->again);
	retire(d);
	deploy_tried(d, NULL);
	if (old != NULL && old->code != NULL && old->code != d->now->code)
		code_keep(old->code, false);
	version_drop(old);
}

void
fleet_try(struct deployment *d, struct version *v)
{
	version_drop(d->trying);
	d->trying = v;
	retire(d);
	fill(d, v);
}

static void
try_failed(struct deployment *d, const struct err *why)
{
	struct version *v = d->trying;

	d->trying = NULL;
	retire(d);
	version_drop(v);
	deploy_tried(d, why);
}

static void
on_ready(void *arg, struct worker *w, const json_t *ready)
{
	struct crew *c = arg;
	struct deployment *d = c->d;

	(void)w;
	if (c->of != d->now && c->of != d->trying)
		return;
	d->why.text[0] = '\0';
	json_decref(d->ready);
	d->ready = json_deep_copy(ready);
	if (c->of == d->trying)
		take_over(d);
	deployment_dispatch(d);
}

static void
on_ended(void *arg, struct worker *w, const struct err *told)
{
	struct crew *c = arg;
	struct deployment *d = c->d;
	struct version *v = c->of;
	bool wanted = !worker_leaves(w), was_ready = worker_was_ready(w);
	bool well = was_ready && clock_ms() - worker_started_ms(w) > LIVED_WELL;
	struct err why = *told;

	version_hold(v);
	crew_free(c);
	if (wanted && v == d->trying) {
		try_failed(d, &why);
	} else if (wanted && v == d->now && !d->stopping) {
		d->why = why;
		d->restarts++;
		set_delay(d, was_ready, well);
		if (!was_ready && !fleet_hopeful(d))
			deployment_fail_waiting(d, &why);
	}
	version_drop(v);
}

/* The worker is the arg: services_forget() when it goes. */
static void
on_answer(void *arg, uint64_t ask, json_t *value, const char *code,
    const char *message)
{
	worker_result(arg, ask, value, code, message);
}

/* What goes on in a session, but for the run that asks for it. */
static void
stop_session(struct deployment *d, const struct job *asker, int tenant,
    const json_t *line, struct worker *w, uint64_t ask)
{
	const char *session = jtext_cstring(json_object_get(line, "session"));
	const char *user = jtext_cstring(json_object_get(line, "user"));
	struct job *j, *after;
	json_int_t n = 0;

	if (session == NULL && asker != NULL)
		session = run_facts(asker->run)->session_id;
	if (session == NULL) {
		worker_result(w, ask, NULL, "invalid", "session: missing");
		return;
	}
	for (j = TAILQ_FIRST(&d->jobs); j != NULL; j = after) {
		const struct run_facts *f = run_facts(j->run);

		after = TAILQ_NEXT(j, next);
		if (j == asker || j->tenant != tenant ||
		    strcmp(f->session_id, session) != 0 ||
		    (user != NULL && *user != '\0' &&
			strcmp(f->user_id, user) != 0))
			continue;
		run_stop(j->run, RUN_CANCELED, NULL, "stopped by the agent");
		n++;
	}
	worker_result(w, ask, json_pack("{s:I}", "stopped", n), NULL, NULL);
}

/* A task that is no run's (an endpoint) asks for the agent itself. */
static void
on_ask(void *arg, struct worker *w, uint64_t ask, struct task *t,
    const json_t *line)
{
	struct crew *c = arg;
	struct deployment *d = c->d;
	const struct job *j = t != NULL ? deployment_job(d, t) : NULL;
	const struct run_facts *f = j != NULL ? run_facts(j->run) : NULL;
	struct service_ask who = { .tenant =
				       t != NULL ? task_tenant(t) : d->tenant,
		.agent = d->name,
		.answer = on_answer,
		.arg = w };
	const char *what = jtext_cstring(json_object_get(line, "what"));

	/* Whose run it was is not known any more. */
	if (t == NULL && json_object_get(line, "run") != NULL &&
	    d->e->conf.config->ntenant > 1) {
		worker_result(w, ask, NULL, "missing", "the run is over");
		return;
	}
	if (what != NULL && strcmp(what, "run.stop") == 0) {
		stop_session(d, j, who.tenant, line, w, ask);
		return;
	}
	if (d->e->conf.services == NULL) {
		worker_result(w, ask, NULL, "unavailable",
		    "there is no such service here");
		return;
	}
	if (f != NULL) {
		who.user = f->user_id;
		who.session = f->session_id;
		who.owner = f->id;
	}
	services_ask(d->e->conf.services, ask, &who, line);
}

static const struct worker_ops worker_ops = { on_ready, on_ended, on_ask };

void
fleet_end(struct deployment *d)
{
	struct crew *c;

	while ((c = TAILQ_FIRST(&d->crews)) != NULL)
		crew_free(c);
}

/* ---- asking ---- */

struct worker *
fleet_pick(const struct deployment *d)
{
	struct worker *best = NULL;
	struct crew *c;

	TAILQ_FOREACH(c, &d->crews, next)
		if (c->of == d->now && worker_takes(c->w) &&
		    (best == NULL || worker_load(c->w) < worker_load(best)))
			best = c->w;
	return best;
}

bool
fleet_hopeful(const struct deployment *d)
{
	struct crew *c;

	TAILQ_FOREACH(c, &d->crews, next)
		if (!worker_leaves(c->w))
			return true;
	return false;
}

json_t *
fleet_status(const struct deployment *d)
{
	json_t *list = json_array();
	struct crew *c;

	TAILQ_FOREACH(c, &d->crews, next) {
		const char *state = worker_leaves(c->w) ? "leaving"
		    : worker_is_ready(c->w)             ? "ready"
							: "starting";

		json_array_append_new(list,
		    json_pack("{s:i, s:s, s:i, s:s}", "number",
			(int)worker_number(c->w), "state", state, "runs",
			(int)worker_load(c->w), "sandbox",
			worker_sandbox(c->w)));
	}
	return list;
}
