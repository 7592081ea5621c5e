/* deployment: what is known of it. */
#include <string.h>
#include "base/str.h"
#include "base/utf8.h"
#include "conf/config.h"
#include "engine/inner.h"
#include "engine/run.h"
#include "json/jtext.h"

const char *
deployment_name(const struct deployment *d)
{
	return d->name;
}

static const struct spec *
spec_of(const struct deployment *d)
{
	const struct version *v = d->now != NULL ? d->now : d->trying;

	return v != NULL ? v->spec : NULL;
}

/* Who deploys it has the word, then its own code; "" if neither says it. */
static const char *
said(const struct deployment *d, const char *name, const char *deployed)
{
	const char *own = jtext_cstring(
	    json_object_get(json_object_get(d->ready, "app"), name));

	if (deployed != NULL && *deployed != '\0')
		return deployed;
	return own != NULL ? own : "";
}

const char *
deployment_title(const struct deployment *d)
{
	const struct spec *s = spec_of(d);
	const char *title = d->source != NULL
	    ? d->title
	    : said(d, "name", s != NULL ? s->title : NULL);

	return *title != '\0' ? title : d->name;
}

const char *
deployment_description(const struct deployment *d)
{
	const struct spec *s = spec_of(d);

	return d->source != NULL
	    ? d->description
	    : said(d, "description", s != NULL ? s->description : NULL);
}

const char *
deployment_path(const struct deployment *d)
{
	const struct spec *s = spec_of(d);
	const char *path = said(d, "endpoint_path", s != NULL ? s->path : NULL);

	return spec_path_ok(path) ? path : "/process";
}

enum on_leave
deployment_on_leave(const struct deployment *d)
{
	const char *word = spec_of(d) != NULL
	    ? spec_of(d)->on_disconnect
	    : d->e->conf.config->on_disconnect;

	return strcmp(word, "continue") == 0 ? LEAVE_CONTINUE : LEAVE_CANCEL;
}

json_t *
deployment_endpoints(const struct deployment *d)
{
	return json_object_get(d->ready, "endpoints");
}

bool
deployment_ready(const struct deployment *d, struct err *why)
{
	if (d->stopping || d->e->draining) {
		err_set(why, ERR_DENIED, "the agent is being stopped");
		return false;
	}
	if (d->source != NULL)
		return d->source->ready == NULL ||
		    d->source->ready(d->source_arg, why);
	if (fleet_pick(d) != NULL)
		return true;
	if (d->why.text[0] != '\0')
		*why = d->why;
	else
		err_set(why, ERR_BUSY, "its worker is starting");
	return false;
}

struct ring *
deployment_log(const struct deployment *d)
{
	return d->log;
}

json_t *
deployment_runs(const struct deployment *d, int tenant)
{
	json_t *list = json_array(), *o;
	struct job *j;

	TAILQ_FOREACH(j, &d->jobs, next) {
		const struct run_facts *f = run_facts(j->run);

		if (tenant >= 0 && j->tenant != tenant)
			continue;
		o = json_pack("{s:s, s:s, s:s, s:s, s:f, s:s}", "id", f->id,
		    "session_id", f->session_id, "user_id", f->user_id, "door",
		    j->door, "began_at", j->began, "status",
		    j->waits ? run_status_name(RUN_QUEUED)
			     : run_status_name(run_status(j->run)));
		if (o != NULL)
			json_array_append_new(list, o);
	}
	return list;
}

static const char *
state_of(const struct deployment *d)
{
	struct err why;

	if (d->stopping)
		return "stopping";
	if (deployment_ready(d, &why))
		return "ready";
	return d->why.text[0] != '\0' && !fleet_hopeful(d) ? "failed"
							   : "starting";
}

json_t *
deployment_status(const struct deployment *d)
{
	auto_str struct str why = { 0 };
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, "
			      "s:I, s:f, s:f}",
	    "name", d->name, "title", deployment_title(d), "description",
	    deployment_description(d), "path", deployment_path(d), "state",
	    state_of(d), "runs", (json_int_t)d->njobs, "runs_total",
	    (json_int_t)d->total, "runs_failed", (json_int_t)d->failed,
	    "runs_canceled", (json_int_t)d->canceled, "restarts",
	    (json_int_t)d->restarts, "created_at", d->created_at, "updated_at",
	    d->updated_at);
	json_t *v;

	if (o == NULL)
		return json_object();
	json_object_set_new(o, "kind",
	    json_string(d->source != NULL ? "builtin" : "code"));
	if (d->why.text[0] != '\0') { /* a stranger's word, cut */
		utf8_clean(&why, d->why.text, strlen(d->why.text));
		json_object_set_new(o, "error", json_string(why.at));
	}
	if ((v = json_object_get(d->ready, "framework")) != NULL)
		json_object_set(o, "framework", v);
	if ((v = json_object_get(d->ready, "endpoints")) != NULL)
		json_object_set(o, "endpoints", v);
	json_object_set_new(o, "workers", fleet_status(d));
	return o;
}
