#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/box.h"
#include "engine/inner.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "store/journal.h"
#include "wire/loop.h"

/* ---- which there are ---- */

struct deployment *
engine_next(struct engine *e, struct deployment *d)
{
	return d == NULL ? TAILQ_FIRST(&e->all) : TAILQ_NEXT(d, next);
}

/* At "/" is the first that has ever been ready; a fresh one waits. */
struct deployment *
engine_find(struct engine *e, const char *name)
{
	struct deployment *d;

	TAILQ_FOREACH(d, &e->all, next)
		if (*name == '\0' ? d->now != NULL || d->source != NULL
				  : strcmp(d->name, name) == 0)
			return d;
	return NULL;
}

unsigned *
engine_tenant_runs(struct engine *e, int tenant)
{
	size_t n = e->conf.config->ntenant;

	return &e->tenant_runs[tenant >= 0 && (size_t)tenant < n
		? (size_t)tenant
		: n];
}

struct deployment *
engine_add(struct engine *e, const char *name, const char *title,
    const char *description, const struct agent_source *source, void *arg,
    struct err *err)
{
	struct deployment *d;

	if (!spec_name_ok(name)) {
		err_set(err, ERR_INVALID,
		    "an agent's name is 1 to %d of a-z 0-9 _ -", SPEC_NAME_MAX);
		return NULL;
	}
	if (engine_find(e, name) != NULL) {
		err_set(err, ERR_BUSY, "there is an agent %s already", name);
		return NULL;
	}
	d = deployment_new(e, name, 0);
	d->title = xstrdup(title);
	d->description = xstrdup(description);
	d->source = source;
	d->source_arg = arg;
	return d;
}

/* ---- the journal ---- */

static const char *
tenant_name(const struct engine *e, int tenant)
{
	const struct config *c = e->conf.config;

	return tenant >= 0 && (size_t)tenant < c->ntenant
	    ? c->tenant[tenant].name
	    : "";
}

static int
tenant_number(const struct engine *e, const char *name)
{
	const struct config *c = e->conf.config;

	for (size_t i = 0; i < c->ntenant; i++)
		if (strcmp(c->tenant[i].name, name) == 0)
			return (int)i;
	return 0;
}

int
engine_record(struct deployment *d, struct err *err)
{
	auto_str struct str spec = { 0 };
	struct journal_agent row = { .name = d->name,
		.tenant = tenant_name(d->e, d->tenant),
		.created_at = d->created_at,
		.updated_at = d->updated_at };

	jtext_write(&spec, d->now->spec->json);
	row.spec = str_text(&spec);
	row.code = d->now->code != NULL ? code_file(d->now->code) : "";
	row.deps = d->now->deps != NULL ? code_file(d->now->deps) : "";
	return journal_agent_put(d->e->conf.journal, &row, err);
}

static struct version *
version_back(struct engine *e, const struct journal_agent *row, struct err *err)
{
	json_t *o = jtext_read(row->spec, strlen(row->spec), NULL, err);
	struct code *code = NULL;
	struct spec *spec;

	if (o == NULL)
		return NULL;
	spec = spec_read(row->name, o, e->conf.config, err);
	if (spec == NULL) {
		json_decref(o);
		return NULL;
	}
	if (*row->code != '\0' &&
	    (code = code_open(e->dir, row->code, err)) == NULL) {
		spec_free(spec);
		return NULL;
	}
	return version_new(e, spec, code);
}

static void
come_back(void *arg, const struct journal_agent *row)
{
	struct engine *e = arg;
	struct deployment *d;
	struct version *v;
	struct err err;

	v = version_back(e, row, &err);
	if (v == NULL) {
		log_err(LOG_ERROR, &err, "agent not offered again", "agent",
		    row->name, NULL);
		e->incomplete = true; /* its code is kept */
		return;
	}
	d = deployment_new(e, row->name, tenant_number(e, row->tenant));
	d->created_at = row->created_at;
	d->updated_at = row->updated_at;
	d->now = v;
	if (*row->deps != '\0') {
		v->deps = code_open(e->dir, row->deps, &err);
		d->unfilled = v->deps == NULL;
	}
}

static bool
is_wanted(void *arg, const char *file)
{
	const struct engine *e = arg;
	struct deployment *d;

	TAILQ_FOREACH(d, &e->all, next)
		if (d->now != NULL && d->now->code != NULL &&
		    strcmp(code_file(d->now->code), file) == 0)
			return true;
	return false;
}

static void
read_journal(struct engine *e)
{
	struct deployment *d;
	struct err err;

	if (journal_agent_each(e->conf.journal, come_back, e, &err) < 0) {
		log_err(LOG_ERROR, &err, "agents not read", NULL);
		return;
	}
	if (!e->incomplete)
		code_sweep(e->dir, is_wanted, e);
	TAILQ_FOREACH(d, &e->all, next)
		if (d->unfilled)
			fleet_refill(d);
		else
			fleet_keep(d);
}

/* ---- its life ---- */

struct engine *
engine_new(const struct engine_conf *conf)
{
	struct engine *e = xcalloc(1, sizeof *e);
	struct err err;

	e->conf = *conf;
	TAILQ_INIT(&e->all);
	e->tenant_runs =
	    xcalloc(conf->config->ntenant + 1, sizeof *e->tenant_runs);
	e->dir = file_mkdir_at(conf->dir, "agents", 0700, &err);
	if (e->dir < 0)
		log_err(LOG_ERROR, &err, "agents can't be kept", NULL);
	box_sweep(conf->manager);
	if (e->dir >= 0)
		read_journal(e);
	return e;
}

static void
drained(void *arg)
{
	struct engine *e = arg;
	struct deployment *d;

	TAILQ_FOREACH(d, &e->all, next) {
		deploy_abort(d, "hutch is being stopped");
		fleet_end(d);
	}
	e->drained(e->drained_arg);
}

void
engine_check_drained(struct engine *e)
{
	if (!e->draining || e->told || e->njobs > 0)
		return;
	e->told = true;
	loop_post(e->conf.loop, drained, e);
}

static void
end(void *arg, int what)
{
	struct engine *e = arg;
	struct deployment *d;

	(void)what;
	TAILQ_FOREACH(d, &e->all, next)
		deployment_stop_all(d, RUN_INCOMPLETE, "SERVER_STOPPING",
		    "hutch is being stopped");
	if (e->told)
		return;
	e->told = true; /* calls that go on are cut with their workers */
	loop_post(e->conf.loop, drained, e);
}

void
engine_drain(struct engine *e, int64_t until, void (*fn)(void *), void *arg)
{
	e->draining = true;
	e->drained = fn;
	e->drained_arg = arg;
	e->end = watch_timer(e->conf.loop, end, e);
	watch_arm(e->end, clock_left(until));
	engine_check_drained(e);
}

void
engine_free(struct engine *e)
{
	struct deployment *d;

	if (e == NULL)
		return;
	e->draining = e->told = true;
	loop_unpost(e->conf.loop, e);
	while ((d = TAILQ_FIRST(&e->all)) != NULL)
		deployment_free(d);
	watch_free(e->end);
	if (e->dir >= 0)
		close(e->dir);
	free(e->tenant_runs);
	free(e);
}
