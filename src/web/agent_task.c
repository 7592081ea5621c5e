#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "base/uuid.h"
#include "conf/config.h"
#include "engine/ask_native.h"
#include "engine/deployment.h"
#include "engine/invalid.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "engine/services.h"
#include "json/jtext.h"
#include "manager/table.h"
#include "store/tasks.h"
#include "web/agent.h"
#include "web/agent_task.h"
#include "web/answer.h"
#include "web/app.h"
#include "web/http.h"
#include "wire/loop.h"

#define SWEEP_MS 60000

struct agent_task { /* one that goes on */
	struct agent_tasks *of;
	struct table_node by_id;
	char id[UUID_TEXT];
	char *tenant, *agent, *queue;
	double submitted_at, started_at;
	struct run *run; /* NULL: it is not ours to follow */
	struct run_wait wait;
};

struct agent_tasks {
	struct app *app;
	struct table running;
	struct watch *sweep;
};

/* ---- the set ---- */

static void
sweep(void *arg, int what)
{
	struct agent_tasks *t = arg;
	struct err err;

	(void)what;
	if (tasks_expire(services_tasks(t->app->services),
		clock_unix() - t->app->config->tasks_kept, &err) < 0)
		log_err(LOG_WARN, &err, "tasks not swept", NULL);
	watch_arm(t->sweep, SWEEP_MS);
}

struct agent_tasks *
agent_tasks_new(struct app *app)
{
	struct agent_tasks *t = xcalloc(1, sizeof *t);

	t->app = app;
	t->sweep = watch_timer(app->loop, sweep, t);
	watch_arm(t->sweep, SWEEP_MS);
	return t;
}

static void
forget(struct agent_task *t)
{
	table_remove(&t->of->running, &t->by_id);
	if (t->run != NULL) {
		run_unwait(t->run, &t->wait);
		run_drop(t->run);
	}
	free(t->tenant);
	free(t->agent);
	free(t->queue);
	free(t);
}

void
agent_tasks_free(struct agent_tasks *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->running.nbucket; i++)
		while (t->running.bucket[i] != NULL)
			forget(t->running.bucket[i]->thing);
	table_free(&t->running);
	watch_free(t->sweep);
	free(t);
}

static int
keep(const struct agent_task *t, const char *state, const char *result,
    double ended_at, struct err *err)
{
	return tasks_put(services_tasks(t->of->app->services),
	    &(struct task_row){ .id = t->id,
		.tenant = t->tenant,
		.agent = t->agent,
		.queue = t->queue,
		.state = state,
		.result = result,
		.submitted_at = t->submitted_at,
		.started_at = t->started_at,
		.ended_at = ended_at },
	    err);
}

/* ---- one task ---- */

static int
make_room(struct app *a, const char *tenant, struct err *err)
{
	struct tasks_store *store = services_tasks(a->services);
	int64_t n = tasks_count(store, tenant, err);
	int dropped;

	if (n < 0)
		return -1;
	if (n < a->config->tasks_max)
		return 0;
	if ((dropped = tasks_drop_oldest(store, tenant, err)) < 0)
		return -1;
	if (dropped == 0)
		return err_set(err, ERR_LIMIT,
		    "there are %u tasks that go on: try later",
		    a->config->tasks_max);
	return 0;
}

struct agent_task *
agent_task_begin(struct http_req *q, struct deployment *d, const char *queue)
{
	struct app *a = app_of(q);
	const char *tenant = app_tenant_name(a, app_tenant(q));
	struct agent_task *t;
	struct err err;

	if (make_room(a, tenant, &err) < 0) {
		agent_fail(q, &err);
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	t->of = a->tasks;
	uuid_put(t->id);
	t->tenant = xstrdup(tenant);
	t->agent = xstrdup(deployment_name(d));
	t->queue = xstrdup(queue);
	t->submitted_at = clock_unix();
	table_add(&t->of->running, &t->by_id, t->id, strlen(t->id), t);
	if (keep(t, "pending", "", 0, &err) < 0) {
		forget(t);
		agent_fail(q, &err);
		return NULL;
	}
	return t;
}

const char *
agent_task_id(const struct agent_task *t)
{
	return t->id;
}

void
agent_task_started(struct agent_task *t)
{
	t->started_at = clock_unix();
}

void
agent_task_end(struct agent_task *t, const char *state, const char *result)
{
	struct err err;

	if (keep(t, state, result, clock_unix(), &err) < 0)
		log_err(LOG_ERROR, &err, "a task's result is lost", "task",
		    t->id, NULL);
	forget(t);
}

/* ---- of a run ---- */

static void
over(void *arg, struct run *run)
{
	struct agent_task *t = arg;
	const struct reply *reply = run_reply(run);
	auto_str struct str json = { 0 };

	reply->kind->whole(reply, &json);
	agent_task_end(t, "finished", str_text(&json));
}

static void
receipt(struct http_req *q, const struct agent_task *t)
{
	struct str out = { 0 };

	str_printf(&out,
	    "{\"task_id\":\"%s\",\"status\":\"submitted\",\"queue\":", t->id);
	jtext_quote_text(&out, t->queue);
	str_puts(&out,
	    ",\"message\":\"Stream query task submitted successfully\"}");
	app_reply_json(q, 200, &out);
}

static void
start(struct http_req *q, struct deployment *d, json_t *request)
{
	struct run_ask ask = { .request = request,
		.door = "task",
		.reply = &reply_native,
		.tenant = app_tenant(q),
		.unlocked = true,
		.on_leave = LEAVE_CONTINUE };
	struct agent_task *t = agent_task_begin(q, d, "stream_query");
	auto_str struct str why = { 0 };
	struct err err;

	if (t == NULL)
		return;
	if ((t->run = deployment_run(d, &ask, &err)) == NULL) {
		jtext_quote_text(&why, err.text);
		agent_task_end(t, "error", str_text(&why));
		agent_fail(q, &err);
		return;
	}
	agent_task_started(t);
	receipt(q, t);
	t->wait = (struct run_wait){ .over = over, .arg = t };
	if (run_over(t->run))
		over(t, t->run);
	else
		run_wait(t->run, &t->wait);
}

int
agent_task_submit(struct http_req *q, struct deployment *d)
{
	struct invalid wrong = { 0 };
	struct str out = { 0 };
	json_t *body = answer_body(q), *request;
	bool stream;
	int r;

	if (body == NULL)
		return 0;
	r = ask_native(body, &request, &stream, &wrong);
	json_decref(body);
	if (r < 0) {
		invalid_take(&wrong, &out);
		app_reply_json(q, 422, &out);
		return 0;
	}
	start(q, d, request);
	json_decref(request);
	return 0;
}

/* ---- its state ---- */

static void
unknown(struct http_req *q, const char *id)
{
	auto_str struct str text = { 0 };
	struct str out = { 0 };

	str_printf(&text, "Task %.200s not found", id);
	str_puts(&out, "{\"error\":");
	jtext_quote(&out, text.at, text.len);
	str_putc(&out, '}');
	app_reply_json(q, 200, &out);
}

static void
going_on(struct http_req *q, const struct agent_task *t)
{
	bool waits = t->started_at == 0 ||
	    (t->run != NULL && run_status(t->run) == RUN_CREATED);
	struct str out = { 0 };

	if (waits)
		str_puts(&out, "{\"status\":\"pending\",\"result\":null}");
	else {
		str_puts(&out, "{\"status\":\"running\",\"started_at\":");
		jtext_time(&out, t->started_at);
		str_puts(&out, ",\"result\":null}");
	}
	app_reply_json(q, 200, &out);
}

struct look {
	struct http_req *q;
	const char *agent;
	bool found;
};

static void
ended(void *arg, const struct task_row *r)
{
	struct look *l = arg;
	struct str out = { 0 };

	if (strcmp(r->agent, l->agent) != 0)
		return;
	l->found = true;
	str_puts(&out, "{\"status\":");
	jtext_quote_text(&out, r->state);
	str_puts(&out, ",\"result\":");
	str_puts(&out, *r->result != '\0' ? r->result : "null");
	str_putc(&out, '}');
	app_reply_json(l->q, 200, &out);
}

int
agent_task_status(struct http_req *q, struct deployment *d, const char *id)
{
	struct app *a = app_of(q);
	const char *tenant = app_tenant_name(a, app_tenant(q));
	struct agent_task *t = table_find(&a->tasks->running, id, strlen(id));
	struct look look = { .q = q, .agent = deployment_name(d) };
	struct err err;

	if (t != NULL && strcmp(t->tenant, tenant) == 0 &&
	    strcmp(t->agent, look.agent) == 0) {
		going_on(q, t);
		return 0;
	}
	if (t == NULL &&
	    tasks_get(services_tasks(a->services), tenant, id, ended, &look,
		&err) < 0)
		return agent_fail(q, &err);
	if (!look.found)
		unknown(q, id);
	return 0;
}
