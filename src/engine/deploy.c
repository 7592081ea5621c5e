#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/deps.h"
#include "engine/inner.h"
#include "store/journal.h"
#include "wire/loop.h"

/*
 * One deployment on its way: options checked, code there, what it requires
 * installed, and then its first worker ready, or not.
 */
struct deploying {
	struct deployment *d;
	bool fresh;              /* there was none of this name */
	struct version *version; /* until it is tried */
	deploy_fn *fn;
	void *arg;
};

struct code *
engine_code(struct engine *e, struct err *err)
{
	if (e->dir < 0) {
		err_set(err, ERR_SYS, "there is nowhere to keep code");
		return NULL;
	}
	return code_new(e->dir, e->conf.config->agent_code_max, err);
}

static void
say(struct deploying *p, const char *text)
{
	ring_say(p->d->log, "deploy", "%s", text);
	if (p->fn != NULL)
		p->fn(p->arg, DEPLOY_SAYS, text, NULL);
}

static void
tell_end(struct deploying *p, const struct err *why)
{
	p->d->deploying = NULL;
	loop_unpost(p->d->e->conf.loop, p);
	version_drop(p->version);
	if (p->fn != NULL)
		p->fn(p->arg, why == NULL ? DEPLOY_DONE : DEPLOY_FAILED, NULL,
		    why);
	free(p);
}

void
engine_deploy_forget(struct deploying *p)
{
	if (p != NULL)
		p->fn = NULL;
}

void
deploy_abort(struct deployment *d, const char *text)
{
	struct err why;

	deps_cancel(d->installing);
	if (d->deploying == NULL)
		return;
	err_set(&why, ERR_BUSY, "%s", text);
	tell_end(d->deploying, &why);
}

void
deploy_tried(struct deployment *d, const struct err *why)
{
	struct deploying *p = d->deploying;
	bool fresh = p != NULL && p->fresh;
	struct err err;

	if (why == NULL) {
		d->updated_at = clock_unix();
		if (d->now->code != NULL)
			code_keep(d->now->code, true);
		if (engine_record(d, &err) < 0)
			log_err(LOG_ERROR, &err, "agent not recorded", "agent",
			    d->name, NULL);
		log_say(LOG_NOTE, "agent deployed", "agent", d->name, NULL);
	} else {
		ring_say(d->log, "deploy", "failed: %s", why->text);
		log_err(LOG_WARN, why, "agent not deployed", "agent", d->name,
		    NULL);
	}
	if (p != NULL)
		tell_end(p, why);
	if (why != NULL && fresh)
		deployment_free(d);
}

/* ---- what it requires ---- */

static void
installed(void *arg, struct code *deps, const struct err *why)
{
	struct deploying *p = arg;
	struct deployment *d = p->d;
	struct version *v = p->version;
	struct err err;

	p->version = NULL;
	if (why != NULL) {
		err = *why;
		version_drop(v);
		deploy_tried(d, &err);
		return;
	}
	v->deps = deps;
	say(p, "starting");
	fleet_try(d, v);
}

static void
install(void *arg)
{
	struct deploying *p = arg;

	if (deps_get(p->d, p->version, installed, p) != NULL)
		say(p, "installing what it requires");
}

/* ---- the beginning ---- */

static struct deployment *
place(struct engine *e, const struct deploy *what, bool *fresh, struct err *err)
{
	struct deployment *d = engine_find(e, what->name);
	unsigned n = 0;

	*fresh = d == NULL;
	if (e->draining) {
		err_set(err, ERR_DENIED, "hutch is being stopped");
		return NULL;
	}
	if (d == NULL) {
		for (d = engine_next(e, NULL); d != NULL; d = engine_next(e, d))
			n++;
		if (n >= e->conf.config->agents_max) {
			err_set(err, ERR_LIMIT,
			    "there are %u agents already (agents_max)", n);
			return NULL;
		}
		return deployment_new(e, what->name, what->tenant);
	}
	if (d->source != NULL)
		err_set(err, ERR_DENIED, "%s is an agent of the configuration",
		    what->name);
	else if (d->deploying != NULL || d->trying != NULL)
		err_set(err, ERR_BUSY, "%s is being deployed already",
		    what->name);
	else
		return d;
	return NULL;
}

/* Options and code, new or as they were. */
static struct version *
version_of(struct engine *e, const struct deployment *d,
    const struct deploy *what, struct err *err)
{
	const struct version *now = d != NULL ? d->now : NULL;
	struct code *code = what->code;
	struct spec *spec;
	json_t *o;

	if (what->options != NULL)
		o = json_incref(what->options);
	else
		o = now != NULL ? json_deep_copy(now->spec->json)
				: json_object();
	spec = spec_read(what->name, o, e->conf.config, err);
	if (spec == NULL) {
		json_decref(o);
		return NULL;
	}
	if (code == NULL && now != NULL)
		code = now->code;
	if (code == NULL && spec->command == NULL) {
		err_set(err, ERR_INVALID,
		    "there is no code: send a tar of it, or name a command of "
		    "the image");
		spec_free(spec);
		return NULL;
	}
	if (code != NULL)
		code_hold(code);
	return version_new(e, spec, code);
}

static struct deploying *
deploy(struct engine *e, const struct deploy *what, deploy_fn *fn, void *arg,
    struct err *err)
{
	struct deploying *p;
	struct deployment *d;
	struct version *v;
	bool fresh;

	if (what->code != NULL && code_finish(what->code, err) < 0)
		return NULL;
	if (!spec_name_ok(what->name)) {
		err_set(err, ERR_INVALID,
		    "an agent's name is 1 to %d of a-z 0-9 _ -", SPEC_NAME_MAX);
		return NULL;
	}
	v = version_of(e, engine_find(e, what->name), what, err);
	if (v == NULL)
		return NULL;
	d = place(e, what, &fresh, err);
	if (d == NULL) {
		version_drop(v);
		return NULL;
	}
	p = xcalloc(1, sizeof *p);
	p->d = d;
	p->fresh = fresh;
	p->fn = fn;
	p->arg = arg;
	p->version = v;
	d->deploying = p;
	loop_post(e->conf.loop, install, p);
	return p;
}

struct deploying *
engine_deploy(struct engine *e, const struct deploy *what, deploy_fn *fn,
    void *arg, struct err *err)
{
	struct deploying *p = deploy(e, what, fn, arg, err);

	json_decref(what->options);
	code_drop(what->code);
	return p;
}

int
engine_remove(struct engine *e, const char *name, struct err *err)
{
	struct deployment *d = *name != '\0' ? engine_find(e, name) : NULL;

	if (d == NULL)
		return err_set(err, ERR_MISSING, "no such agent: %.60s", name);
	if (d->source != NULL)
		return err_set(err, ERR_DENIED,
		    "%s is an agent of the configuration", name);
	if (journal_agent_delete(e->conf.journal, name, err) < 0)
		return -1;
	if (d->now != NULL && d->now->code != NULL)
		code_keep(d->now->code, false);
	deploy_abort(d, "the agent was removed meanwhile");
	log_say(LOG_NOTE, "agent removed", "agent", name, NULL);
	deployment_free(d);
	return 0;
}
