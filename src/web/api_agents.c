/* api: agents: deployed, looked at, removed; their logs and runs. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/code.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/ring.h"
#include "json/jtext.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"

#define OPTIONS_MAX (256 * 1024)

/* ---- what is known of them ---- */

static json_t *
status_of(struct app *a, const struct deployment *d)
{
	json_t *o = deployment_status(d);
	bool first = engine_find(a->engine, "") == d;
	auto_str struct str url = { 0 };

	str_puts(&url, a->agents_url);
	if (!first)
		str_printf(&url, "/agents/%s", deployment_name(d));
	str_puts(&url, deployment_path(d));
	json_object_set_new(o, "url", json_string(str_text(&url)));
	return o;
}

static int
reply_value(struct http_req *q, json_t *v)
{
	struct str out = { 0 };

	jtext_write(&out, v);
	json_decref(v);
	app_reply_json(q, 200, &out);
	return 0;
}

static struct deployment *
named(struct http_req *q)
{
	const char *name = http_req_name(q, "name");
	struct deployment *d =
	    *name != '\0' ? engine_find(app_of(q)->engine, name) : NULL;
	struct err err;

	if (d == NULL) {
		err_set(&err, ERR_MISSING, "no such agent: %.60s", name);
		api_fail(q, &err);
	}
	return d;
}

int
api_agent_list(struct http_req *q, struct err *err)
{
	struct app *a = app_of(q);
	struct deployment *d = NULL;
	json_t *list = json_array();

	(void)err;
	while ((d = engine_next(a->engine, d)) != NULL)
		json_array_append_new(list, status_of(a, d));
	return reply_value(q, json_pack("{s:o}", "agents", list));
}

int
api_agent_get(struct http_req *q, struct err *err)
{
	struct deployment *d = named(q);

	(void)err;
	return d == NULL ? 0 : reply_value(q, status_of(app_of(q), d));
}

int
api_agent_delete(struct http_req *q, struct err *err)
{
	const char *name = http_req_name(q, "name");
	int r = engine_remove(app_of(q)->engine, name, err);

	app_audit(q, "agent remove", name, r < 0 ? err : NULL);
	if (r < 0)
		return api_fail(q, err);
	api_done(q);
	return 0;
}

/* ---- runs ---- */

int
api_agent_runs(struct http_req *q, struct err *err)
{
	struct deployment *d = named(q);

	(void)err;
	if (d == NULL)
		return 0;
	return reply_value(q,
	    json_pack("{s:o}", "runs", deployment_runs(d, api_scope(q))));
}

int
api_agent_cancel(struct http_req *q, struct err *err)
{
	struct deployment *d = named(q);
	const char *run = http_req_name(q, "run");

	if (d == NULL)
		return 0;
	if (deployment_stop_run(d, api_scope(q), run, "canceled on request") <
	    0) {
		err_set(err, ERR_MISSING, "no such run goes on: %.60s", run);
		return api_fail(q, err);
	}
	app_audit(q, "run cancel", run, NULL);
	api_done(q);
	return 0;
}

/* ---- deployment ---- */

struct putting {
	struct http_req *q;
	struct app *app;
	bool leads; /* a line of options comes first ... */
	bool only;  /* ... or nothing else */
	struct str head;
	json_t *options;
	struct code *code;
	struct deploying *deploying;
	bool over;
};

static void
putting_closed(struct http_req *q)
{
	struct putting *p = http_req_data(q);

	engine_deploy_forget(p->deploying);
	code_drop(p->code);
	json_decref(p->options);
	str_free(&p->head);
	free(p);
}

static void
say(struct putting *p, struct str *line)
{
	str_putc(line, '\n');
	http_reply_write(p->q, line->at, line->len);
}

static void
end(struct putting *p, const struct err *err)
{
	const char *name = http_req_name(p->q, "name");
	auto_str struct str line = { 0 };
	struct deployment *d = engine_find(p->app->engine, name);
	json_t *o;

	if (p->over)
		return;
	p->over = true;
	app_audit(p->q, "agent deploy", name, err);
	if (err != NULL) {
		api_put_error(&line, err);
		if (d != NULL) { /* what it said last tells why */
			str_cut(&line, line.len - 1);
			str_puts(&line, ",\"log\":");
			auto_str struct str log = { 0 };
			ring_read(deployment_log(d), &log);
			jtext_quote(&line, str_text(&log), log.len);
			str_putc(&line, '}');
		}
	} else {
		str_puts(&line, "{\"done\":");
		o = status_of(p->app, d);
		jtext_write(&line, o);
		json_decref(o);
		str_putc(&line, '}');
	}
	say(p, &line);
	http_reply_end(p->q);
}

static void
on_deploy(void *arg, enum deploy_word word, const char *text,
    const struct err *err)
{
	struct putting *p = arg;
	auto_str struct str line = { 0 };

	if (word == DEPLOY_SAYS) {
		str_puts(&line, "{\"progress\":");
		jtext_quote_text(&line, text);
		str_putc(&line, '}');
		say(p, &line);
		return;
	}
	p->deploying = NULL;
	end(p, word == DEPLOY_FAILED ? err : NULL);
}

static void
all_is_there(struct putting *p)
{
	struct deploy what = { .name = http_req_name(p->q, "name"),
		.options = p->options,
		.code = p->code,
		.tenant = app_tenant(p->q) };
	struct err err;

	p->options = NULL;
	p->code = NULL;
	p->deploying = engine_deploy(p->app->engine, &what, on_deploy, p, &err);
	if (p->deploying == NULL)
		end(p, &err);
}

static int
take_options(struct putting *p, size_t n, struct err *err)
{
	p->options = jtext_read(str_text(&p->head), n, NULL, err);
	if (p->options == NULL)
		return err_wrap(err, "options");
	p->leads = false;
	return 0;
}

static int
take_code(struct putting *p, const void *b, size_t n, struct err *err)
{
	if (n == 0)
		return 0;
	if (p->code == NULL &&
	    (p->code = engine_code(p->app->engine, err)) == NULL)
		return -1;
	return code_write(p->code, b, n, err);
}

static int
take_bytes(struct putting *p, const uint8_t *b, size_t n, struct err *err)
{
	const char *nl;
	size_t line;

	if (!p->leads && !p->only)
		return take_code(p, b, n, err);
	str_add(&p->head, b, n);
	nl = p->only ? NULL : memchr(p->head.at, '\n', p->head.len);
	if (nl == NULL && p->head.len > OPTIONS_MAX)
		return err_set(err, ERR_LIMIT,
		    "the options have more than %d bytes", OPTIONS_MAX);
	if (nl == NULL)
		return 0;
	line = (size_t)(nl - p->head.at);
	if (take_options(p, line, err) < 0)
		return -1;
	return take_code(p, p->head.at + line + 1, p->head.len - line - 1, err);
}

static void
body(struct http_req *q, const uint8_t *b, size_t n)
{
	struct putting *p = http_req_data(q);
	struct err err;
	int r = 0;

	if (p->over)
		return;
	if (b != NULL)
		r = take_bytes(p, b, n, &err);
	else if ((p->leads || p->only) && p->head.len > 0)
		r = take_options(p, p->head.len, &err);
	if (r < 0)
		end(p, &err);
	else if (b == NULL)
		all_is_there(p);
}

int
api_agent_put(struct http_req *q, struct err *err)
{
	const char *type = http_req_header(q, "content-type");
	struct putting *p = xcalloc(1, sizeof *p);

	(void)err;
	p->q = q;
	p->app = app_of(q);
	p->leads =
	    type != NULL && strcmp(type, "application/x-hutch-agent") == 0;
	p->only = type != NULL && strcmp(type, "application/json") == 0;
	http_req_set_data(q, p);
	http_req_on_closed(q, putting_closed);
	http_req_on_body(q, body);
	http_reply_start(q, 200, "application/x-ndjson", -1);
	return 0;
}

/* The same code and options, in fresh processes. */
int
api_agent_reload(struct http_req *q, struct err *err)
{
	struct putting *p;

	(void)err;
	if (named(q) == NULL)
		return 0;
	p = xcalloc(1, sizeof *p);
	p->q = q;
	p->app = app_of(q);
	http_req_set_data(q, p);
	http_req_on_closed(q, putting_closed);
	http_reply_start(q, 200, "application/x-ndjson", -1);
	all_is_there(p);
	return 0;
}

/* ---- logs ---- */

struct following {
	struct http_req *q;
	struct ring_reader *reader;
};

static void
following_closed(struct http_req *q)
{
	struct following *f = http_req_data(q);

	ring_unfollow(f->reader);
	free(f);
}

static void
line(void *arg, const char *text, size_t n)
{
	struct following *f = arg;

	if (text == NULL)
		http_reply_end(f->q);
	else if (http_reply_backlog(f->q) < APP_OUT_HIGH)
		http_reply_write(f->q, text, n);
}

int
api_agent_logs(struct http_req *q, struct err *err)
{
	struct deployment *d = named(q);
	const char *follow = http_req_param(q, "follow");
	auto_str struct str out = { 0 };
	struct following *f;

	(void)err;
	if (d == NULL)
		return 0;
	ring_read(deployment_log(d), &out);
	if (follow == NULL || strcmp(follow, "1") != 0) {
		http_reply(q, 200, "text/plain; charset=utf-8", str_text(&out),
		    out.len);
		return 0;
	}
	f = xcalloc(1, sizeof *f);
	f->q = q;
	http_req_set_data(q, f);
	http_req_on_closed(q, following_closed);
	http_reply_start(q, 200, "text/plain; charset=utf-8", -1);
	http_reply_write(q, str_text(&out), out.len);
	f->reader = ring_follow(deployment_log(d), line, f);
	return 0;
}
