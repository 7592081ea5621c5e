#include "web/a2a_desk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/a2a_shape.h"
#include "engine/deployment.h"
#include "engine/reply_a2a.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "store/a2a_tasks.h"
#include "web/app.h"

/* What is kept of tasks that are over, of each tenant. */
#define KEEP_TASKS 2000
#define KEEP_BYTES (64ull << 20)
#define KEEP_MS (7ll * 24 * 3600 * 1000)

struct live { /* a task that is worked on */
	LIST_ENTRY(live) link;
	struct a2a_desk *desk;
	int tenant;
	char *agent, *id;
	struct run *run; /* NULL: it is just being started */
	json_t *push;
	bool over; /* before it was started */
};

struct a2a_desk {
	struct app *app;
	struct a2a_tasks *store;
	LIST_HEAD(, live) live;
	a2a_push_fn *push;
	void *push_arg;
};

static int64_t
now_ms(void)
{
	return (int64_t)(clock_unix() * 1000);
}

static json_t *
parsed(const char *text)
{
	struct err err;

	return jtext_read(text, strlen(text), NULL, &err);
}

/* ---- the store ---- */

static const char *
member(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text != NULL ? text : "";
}

static int
save(struct a2a_desk *d, const char *tenant, const char *agent,
    const json_t *task, const json_t *push, struct err *err)
{
	auto_str struct str body = { 0 }, settings = { 0 };
	struct a2a_row row = { .tenant = tenant,
		.agent = agent,
		.id = member(task, "id"),
		.context = member(task, "contextId"),
		.state = member(json_object_get(task, "status"), "state"),
		.updated_ms = now_ms() };

	jtext_write(&body, task);
	row.body = str_text(&body);
	if (json_array_size(push) > 0)
		jtext_write(&settings, push);
	row.push = str_text(&settings);
	return a2a_tasks_put(d->store, &row, err);
}

/* What was worked on when an earlier life of ours ended. */
static void
set_state(json_t *task, const char *state, const char *why)
{
	auto_str struct str at = { 0 };
	json_t *status, *message;

	a2a_time(&at, (long long)now_ms());
	status =
	    json_pack("{s:s,s:s}", "state", state, "timestamp", str_text(&at));
	if (why != NULL) {
		message = json_pack("{s:s,s:s,s:s,s:[{s:s,s:s}],s:s,s:s}",
		    "kind", "message", "messageId", member(task, "id"), "role",
		    "agent", "parts", "kind", "text", "text", why, "taskId",
		    member(task, "id"), "contextId", member(task, "contextId"));
		json_object_set_new(status, "message", message);
	}
	json_object_set_new(task, "status", status);
}

struct orphans {
	struct a2a_desk *desk;
	json_t *list; /* of {tenant, agent, body, push} */
};

static void
orphan(void *arg, const struct a2a_row *r)
{
	struct orphans *o = arg;

	json_array_append_new(o->list,
	    json_pack("{s:s,s:s,s:s,s:s}", "tenant", r->tenant, "agent",
		r->agent, "body", r->body, "push", r->push));
}

static int
end_orphans(struct a2a_desk *d, struct err *err)
{
	struct orphans o = { d, json_array() };
	json_t *v, *task, *push;
	size_t i;
	int r = a2a_tasks_unfinished(d->store, orphan, &o, err);

	json_array_foreach(o.list, i, v) {
		task = parsed(member(v, "body"));
		push = parsed(member(v, "push"));
		if (task != NULL && r >= 0) {
			set_state(task, "failed",
			    "the daemon was restarted meanwhile");
			r = save(d, member(v, "tenant"), member(v, "agent"),
			    task, push, err);
		}
		json_decref(task);
		json_decref(push);
	}
	json_decref(o.list);
	return r;
}

struct a2a_desk *
a2a_desk_of(struct app *app, struct err *err)
{
	const struct a2a_bounds bounds = { KEEP_TASKS, KEEP_BYTES, KEEP_MS };
	auto_free char *path = NULL;
	struct a2a_desk *d;

	if (app->a2a != NULL)
		return app->a2a;
	d = xcalloc(1, sizeof *d);
	d->app = app;
	LIST_INIT(&d->live);
	path = xasprintf("%s/tasks.sqlite3", app->state);
	d->store = a2a_tasks_open(path, &bounds, err);
	if (d->store == NULL || end_orphans(d, err) < 0) {
		a2a_desk_free(d);
		return NULL;
	}
	return app->a2a = d;
}

static void
live_free(struct live *l)
{
	json_decref(l->push);
	free(l->agent);
	free(l->id);
	free(l);
}

/* Runs that go on have been ended before. */
void
a2a_desk_free(struct a2a_desk *d)
{
	if (d == NULL)
		return;
	a2a_tasks_close(d->store);
	free(d);
}

void
a2a_desk_push(struct a2a_desk *d, a2a_push_fn *fn, void *arg)
{
	d->push = fn;
	d->push_arg = arg;
}

bool
a2a_desk_pushes(const struct a2a_desk *d)
{
	return d->push != NULL;
}

/* ---- finding ---- */

static struct live *
live_of(const struct a2a_desk *d, struct a2a_whose who, const char *id)
{
	struct live *l;

	LIST_FOREACH(l, &d->live, link)
	if (l->tenant == who.tenant && strcmp(l->id, id) == 0 &&
	    strcmp(l->agent, who.agent) == 0)
		return l;
	return NULL;
}

static void
stored(void *arg, const struct a2a_row *r)
{
	struct a2a_task_ref *ref = arg;

	ref->task = parsed(r->body);
	ref->push = parsed(r->push);
}

int
a2a_desk_find(struct a2a_desk *d, struct a2a_whose who, const char *id,
    struct a2a_task_ref *ref, struct err *err)
{
	struct live *l = live_of(d, who, id);
	int n;

	*ref = (struct a2a_task_ref){ 0 };
	if (l != NULL && l->run != NULL) {
		ref->task = a2a_task(run_reply(l->run));
		ref->push = json_incref(l->push);
		ref->run = l->run;
		return 1;
	}
	n = a2a_tasks_get(d->store, app_tenant_name(d->app, who.tenant),
	    who.agent, id, stored, ref, err);
	if (n > 0 && ref->push == NULL)
		ref->push = json_array();
	if (n > 0 && ref->task == NULL) {
		json_decref(ref->push);
		return 0;
	}
	return n;
}

void
a2a_ref_free(struct a2a_task_ref *ref)
{
	json_decref(ref->task);
	json_decref(ref->push);
}

/* ---- working ---- */

static void
notify(struct a2a_desk *d, int tenant, const json_t *push, const json_t *task)
{
	auto_str struct str body = { 0 };
	json_t *wrapped, *setting;
	size_t i;

	if (d->push == NULL || json_array_size(push) == 0)
		return;
	wrapped = a2a_modern_result(task);
	jtext_write(&body, wrapped);
	json_decref(wrapped);
	json_array_foreach(push, i, setting)
		d->push(d->push_arg, tenant, setting, str_text(&body));
}

static void
ended(void *arg, struct run *run)
{
	struct live *l = arg;
	struct a2a_desk *d = l->desk;
	json_t *task = a2a_task(run_reply(run));
	struct err err;

	if (save(d, app_tenant_name(d->app, l->tenant), l->agent, task, l->push,
		&err) < 0)
		log_err(LOG_ERROR, &err, "a task is not kept", "task", l->id,
		    NULL);
	notify(d, l->tenant, l->push, task);
	json_decref(task);
	l->over = true;
	if (l->run == NULL)
		return; /* it is being started still */
	LIST_REMOVE(l, link);
	run_drop(l->run);
	live_free(l);
}

struct run *
a2a_desk_start(struct a2a_desk *d, struct deployment *dep, const char *id,
    struct run_ask *ask, json_t *push, struct err *err)
{
	struct live *l = xcalloc(1, sizeof *l);
	struct run *run;
	json_t *task;

	l->desk = d;
	l->tenant = ask->tenant;
	l->agent = xstrdup(deployment_name(dep));
	l->id = xstrdup(id);
	l->push = push != NULL ? push : json_array();
	ask->ended = ended;
	ask->arg = l;
	run = deployment_run(dep, ask, err);
	if (run == NULL || l->over) {
		live_free(l);
		return run;
	}
	run_hold(run);
	l->run = run;
	LIST_INSERT_HEAD(&d->live, l, link);
	task = a2a_task(run_reply(run));
	if (save(d, app_tenant_name(d->app, l->tenant), l->agent, task, l->push,
		err) < 0)
		log_err(LOG_ERROR, err, "a task is not kept", "task", id, NULL);
	json_decref(task);
	return run;
}

int
a2a_desk_save(struct a2a_desk *d, struct a2a_whose who, const json_t *task,
    const json_t *push, struct err *err)
{
	return save(d, app_tenant_name(d->app, who.tenant), who.agent, task,
	    push, err);
}

int
a2a_desk_set_push(struct a2a_desk *d, struct a2a_whose who, const char *id,
    const json_t *task, const json_t *push, struct err *err)
{
	struct live *l = live_of(d, who, id);

	if (l != NULL) {
		json_decref(l->push);
		l->push = json_copy((json_t *)push);
	}
	return a2a_desk_save(d, who, task, push, err);
}

/* ---- lists ---- */

struct listing {
	struct a2a_desk *desk;
	struct a2a_whose who;
	json_t *out;
};

static void
listed(void *arg, const struct a2a_row *r)
{
	struct listing *l = arg;
	struct live *live = live_of(l->desk, l->who, r->id);
	json_t *task = live != NULL && live->run != NULL
	    ? a2a_task(run_reply(live->run))
	    : parsed(r->body);

	if (task != NULL)
		json_array_append_new(l->out, task);
}

json_t *
a2a_desk_list(struct a2a_desk *d, struct a2a_whose who,
    const struct a2a_query *q, int64_t *total, struct err *err)
{
	struct a2a_filter f = { .tenant = app_tenant_name(d->app, who.tenant),
		.agent = who.agent,
		.context = q->context,
		.state = q->state,
		.after_ms = q->after_ms };
	struct listing l = { d, who, json_array() };

	*total = a2a_tasks_count(d->store, &f, err);
	if (*total < 0 ||
	    a2a_tasks_list(d->store, &f, q->offset, q->limit, listed, &l, err) <
		0) {
		json_decref(l.out);
		return NULL;
	}
	return l.out;
}
