/* api: sandboxes, what they are and what becomes of them. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/config.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/environ.h"
#include "web/http.h"
#include "web/lease.h"
#include "web/record.h"
#include "web/trail.h"
#include "wire/broker.h"

/* One request that waits for the manager. */
struct asking {
	struct http_req *q;
	struct app *app;
	const char *identity, *act;
	json_t *body;
	struct environ_list env;
	uint32_t lease; /* seconds; 0: none */
	struct wait *wait;
};

static void
asking_free(struct asking *a)
{
	environ_free(&a->env);
	json_decref(a->body);
	free(a);
}

static void
closed(struct http_req *q)
{
	struct asking *a = http_req_data(q);

	a->q = NULL;
	if (a->wait != NULL && a->lease > 0)
		return; /* it still has to be given back: made() */
	if (a->wait != NULL)
		manager_forget(a->wait);
	asking_free(a);
}

static struct asking *
asking_new(struct http_req *q)
{
	struct asking *a = xcalloc(1, sizeof *a);

	a->q = q;
	a->app = app_of(q);
	a->identity = http_req_name(q, "identity");
	http_req_set_data(q, a);
	http_req_on_closed(q, closed);
	return a;
}

/* ---- GET ---- */

static bool
ended(const struct record *r)
{
	return r->state != REC_WARM && r->state != REC_RUNNING;
}

int
api_sandbox_list(struct http_req *q, struct err *err)
{
	struct manager *m = app_of(q)->manager;
	const char *all = http_req_param(q, "all");
	bool every = all != NULL && strcmp(all, "0") != 0;
	struct str out = { 0 };
	struct sandbox *sb = NULL;
	size_t told = 0;

	(void)err;
	str_puts(&out, "{\"sandboxes\":[");
	while ((sb = manager_next(m, api_scope(q), sb)) != NULL) {
		if (!every && ended(sandbox_record(sb)))
			continue;
		if (told++ > 0)
			str_putc(&out, ',');
		record_put_native(&out, q, sb);
	}
	str_puts(&out, "]}");
	app_reply_json(q, 200, &out);
	return 0;
}

int
api_sandbox_get(struct http_req *q, struct err *err)
{
	const char *identity = http_req_name(q, "identity");
	struct sandbox *sb =
	    manager_find(app_of(q)->manager, api_scope(q), identity, false);
	struct str out = { 0 };

	(void)err;
	if (sb == NULL)
		return api_none(q, identity);
	record_put_native(&out, q, sb);
	app_reply_json(q, 200, &out);
	return 0;
}

/* ---- POST, DELETE ---- */

static void
made(void *arg, struct sandbox *sb, const struct err *err)
{
	struct asking *a = arg;
	struct str out = { 0 };

	a->wait = NULL;
	if (a->q == NULL) {
		if (sb != NULL)
			manager_release(a->app->manager, -1,
			    sandbox_record(sb)->id);
		asking_free(a);
		return;
	}
	app_audit(a->q, "create", sb != NULL ? sandbox_record(sb)->id : NULL,
	    err);
	if (sb == NULL) {
		api_fail(a->q, err);
		return;
	}
	trail_say(a->app->trails, sandbox_key(sb), "created");
	if (a->lease > 0)
		lease_add(a->app->leases, sandbox_record(sb)->id, a->lease);
	record_put_native(&out, a->q, sb);
	app_reply_json(a->q, 201, &out);
}

/* Absent and null are NULL. */
static int
text(const json_t *body, const char *name, const char **out, struct err *err)
{
	const json_t *v = json_object_get(body, name);

	*out = jtext_cstring(v);
	if (*out == NULL && v != NULL && !json_is_null(v))
		return err_set(err, ERR_INVALID, "%s must be text", name);
	return 0;
}

static int
check_names(const json_t *body, struct err *err)
{
	static const char *const known[] = { "type", "image", "dir", "net",
		"mount_dir", "env", "meta", "lease" };
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)body, name, v) {
		bool found = false;

		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			found = found || strcmp(known[i], name) == 0;
		if (!found)
			return err_set(err, ERR_INVALID,
			    "there is no argument %s", name);
	}
	return 0;
}

static int
may_create(const struct asking *a, const struct create *want, struct err *err)
{
	if (want->dir != NULL && !http_req_who(a->q)->admin)
		return err_set(err, ERR_DENIED,
		    "a directory of this host as the root: for "
		    "administrators only");
	if (want->image != NULL && want->dir != NULL)
		return err_set(err, ERR_INVALID, "only one of image and dir");
	/* The SDK's wire has its own workspace then, as upstream has it. */
	if (want->mount_dir != NULL && !a->app->config->allow_mount_dir)
		return err_set(err, ERR_DENIED,
		    "mount_dir is not allowed: allow_mount_dir and mount_allow "
		    "in hutch.conf");
	return 0;
}

static int
read_lease(struct asking *a, struct err *err)
{
	const json_t *v = json_object_get(a->body, "lease");
	json_int_t n = json_integer_value(v);

	if (v != NULL && (!json_is_integer(v) || n < 1 || n > 3600))
		return err_set(err, ERR_INVALID,
		    "lease must be a number of seconds from 1 to 3600");
	a->lease = (uint32_t)n;
	return 0;
}

static int
read_create(struct asking *a, struct create *want, struct err *err)
{
	const json_t *b = a->body;

	if (!json_is_object(b))
		return err_set(err, ERR_INVALID, "the body must be an object");
	if (check_names(b, err) < 0 || text(b, "type", &want->type, err) < 0 ||
	    text(b, "image", &want->image, err) < 0 ||
	    text(b, "dir", &want->dir, err) < 0 ||
	    text(b, "net", &want->net, err) < 0 ||
	    text(b, "mount_dir", &want->mount_dir, err) < 0 ||
	    environ_read(&a->env, json_object_get(b, "env"), err) < 0 ||
	    read_lease(a, err) < 0)
		return -1;
	want->env = (const char *const *)a->env.at;
	want->meta = json_object_get(b, "meta");
	if (want->meta != NULL && json_is_null(want->meta))
		want->meta = NULL;
	if (want->meta != NULL && !json_is_object(want->meta))
		return err_set(err, ERR_INVALID, "meta must be an object");
	return may_create(a, want, err);
}

int
api_sandbox_create(struct http_req *q, struct err *err)
{
	struct asking *a = asking_new(q);
	struct create want = { .tenant = app_tenant(q) };
	const uint8_t *body;
	size_t n;

	body = http_req_body(q, &n);
	a->body = n == 0 ? json_object() : jtext_read(body, n, NULL, err);
	if (a->body == NULL || read_create(a, &want, err) < 0)
		return api_fail(q, err);
	a->wait = manager_create(a->app->manager, &want, made, a, err);
	if (a->wait == NULL)
		made(a, NULL, err);
	return 0;
}

static void
removed(void *arg, struct sandbox *sb, const struct err *err)
{
	struct asking *a = arg;

	(void)sb;
	a->wait = NULL;
	app_audit(a->q, "release", a->identity, err);
	if (err != NULL)
		api_fail(a->q, err);
	else
		api_done(a->q);
}

int
api_sandbox_delete(struct http_req *q, struct err *err)
{
	struct asking *a = asking_new(q);
	struct manager *m = a->app->manager;
	const struct sandbox *sb =
	    manager_find(m, api_scope(q), a->identity, false);

	(void)err;
	if (sb == NULL || sandbox_record(sb)->state == REC_RELEASED)
		return api_none(q, a->identity);
	a->wait = manager_end(m, api_scope(q), a->identity, removed, a);
	if (a->wait == NULL)
		removed(a, NULL, NULL);
	return 0;
}

/* ---- pause, resume, start, stop ---- */

static void
acted(void *arg, struct sandbox *sb, const struct err *err)
{
	struct asking *a = arg;

	a->wait = NULL;
	app_audit(a->q, a->act, a->identity, sb == NULL ? err : NULL);
	if (sb == NULL) {
		api_fail(a->q, err);
		return;
	}
	trail_say(a->app->trails, sandbox_key(sb), "%s", a->act);
	api_done(a->q);
}

static struct wait *
freeze(struct asking *a, bool on, struct err *err)
{
	struct manager *m = a->app->manager;
	struct sandbox *sb =
	    manager_find(m, api_scope(a->q), a->identity, true);

	if (sb == NULL) {
		err_set(err, ERR_MISSING, "no such sandbox: %s", a->identity);
		return NULL;
	}
	return manager_pause(m, sb, on, acted, a, err);
}

static struct wait *
act(struct asking *a, struct err *err)
{
	struct manager *m = a->app->manager;
	int scope = api_scope(a->q);

	if (strcmp(a->act, "pause") == 0 || strcmp(a->act, "resume") == 0)
		return freeze(a, strcmp(a->act, "pause") == 0, err);
	if (strcmp(a->act, "start") == 0)
		return manager_start(m, scope, a->identity, acted, a, err);
	return manager_stop(m, scope, a->identity, acted, a, err);
}

int
api_sandbox_act(struct http_req *q, struct err *err)
{
	struct asking *a = asking_new(q);

	a->act = strrchr(http_req_path(q), '/') + 1;
	a->wait = act(a, err);
	if (a->wait == NULL)
		acted(a, NULL, err);
	return 0;
}

/* ---- stats ---- */

static void
used(void *arg, const struct broker_usage *u, const struct err *err)
{
	struct asking *a = arg;
	struct str out = { 0 };

	a->wait = NULL;
	if (u == NULL) {
		api_fail(a->q, err);
		return;
	}
	str_printf(&out,
	    "{\"cpu_us\":%llu,\"memory\":%llu,\"memory_peak\":%llu,"
	    "\"memory_limit\":%llu,\"pids\":%llu,\"pids_limit\":%llu,"
	    "\"oom_kills\":%llu}",
	    (unsigned long long)u->cpu_us, (unsigned long long)u->memory,
	    (unsigned long long)u->memory_peak,
	    (unsigned long long)u->memory_limit, (unsigned long long)u->pids,
	    (unsigned long long)u->pids_limit,
	    (unsigned long long)u->oom_kills);
	app_reply_json(a->q, 200, &out);
}

int
api_sandbox_stats(struct http_req *q, struct err *err)
{
	struct asking *a = asking_new(q);
	struct sandbox *sb =
	    manager_find(a->app->manager, api_scope(q), a->identity, true);

	if (sb == NULL)
		return api_none(q, a->identity);
	a->wait = manager_usage(a->app->manager, sb, used, a, err);
	return a->wait != NULL ? 0 : api_fail(q, err);
}

/* ---- logs ---- */

struct following {
	struct http_req *q;
	struct trail_reader *reader;
};

static void
unfollow(struct http_req *q)
{
	struct following *f = http_req_data(q);

	trail_unfollow(f->reader);
	free(f);
}

static void
line(void *arg, const char *text_, size_t n)
{
	struct following *f = arg;

	/* One who reads too slowly has had what there was to see. */
	if (http_reply_backlog(f->q) < APP_OUT_HIGH)
		http_reply_write(f->q, text_, n);
}

/* How it ended, which the record knows better than we. */
static void
put_end(struct str *out, const struct record *r)
{
	double when = r->released_at > 0 ? r->released_at
	    : r->recycled_at > 0         ? r->recycled_at
					 : r->updated_at;

	if (!ended(r))
		return;
	trail_stamp(out, when);
	str_printf(out, "%s%s%s\n", record_state_name(r->state),
	    r->reason[0] != '\0' ? ": " : "", r->reason);
}

int
api_sandbox_logs(struct http_req *q, struct err *err)
{
	struct app *a = app_of(q);
	const char *identity = http_req_name(q, "identity");
	const char *follow = http_req_param(q, "follow");
	struct sandbox *sb =
	    manager_find(a->manager, api_scope(q), identity, true);
	auto_str struct str out = { 0 };
	struct following *f;

	(void)err;
	if (sb == NULL)
		return api_none(q, identity);
	trail_read(a->trails, sandbox_key(sb), &out);
	put_end(&out, sandbox_record(sb));
	if (follow == NULL || strcmp(follow, "1") != 0) {
		http_reply(q, 200, "text/plain; charset=utf-8", str_text(&out),
		    out.len);
		return 0;
	}
	f = xcalloc(1, sizeof *f);
	f->q = q;
	http_req_set_data(q, f);
	http_req_on_closed(q, unfollow);
	http_reply_start(q, 200, "text/plain; charset=utf-8", -1);
	http_reply_write(q, str_text(&out), out.len);
	f->reader = trail_follow(a->trails, sandbox_key(sb), line, f);
	return 0;
}
