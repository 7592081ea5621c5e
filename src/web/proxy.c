#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/boxbody.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/mcp.h"
#include "web/openapi.h"
#include "web/proxy.h"
#include "web/toolresult.h"
#include "web/trail.h"
#include "web/work.h"

struct asked {
	struct inbox in;
	json_t *body;
	struct work *work;
	const struct tool_row *row;
};

static void
drop(struct inbox *i)
{
	struct asked *a = (struct asked *)i;

	if (a->work != NULL)
		work_forget(a->work);
	json_decref(a->body);
}

/* An answer that depends on nothing but that the sandbox is there. */
static int
open_plain(struct http_req *q, const struct inbox_kind *kind, struct err *err)
{
	struct asked *a = inbox_new(q, kind);

	return inbox_start(&a->in, err);
}

/* NULL: replied. */
static struct asked *
open_body(struct http_req *q, const struct inbox_kind *kind)
{
	json_t *body = boxbody_read(q);
	struct asked *a;

	if (body == NULL)
		return NULL;
	a = inbox_new(q, kind);
	a->body = body;
	return a;
}

static void
reply_ok(struct http_req *q)
{
	http_reply(q, 200, NULL, "OK", 2);
}

/* ---- healthz ---- */

static int
healthz_go(struct inbox *i, struct err *err)
{
	(void)err;
	reply_ok(i->q);
	return 0;
}

static const struct inbox_kind healthz_kind = { .size = sizeof(struct asked),
	.go = healthz_go,
	.drop = drop };

int
proxy_healthz(struct http_req *q, struct err *err)
{
	return open_plain(q, &healthz_kind, err);
}

/* ---- the two generic tools ---- */

static void
tool_done(void *arg, struct work_outcome *o)
{
	struct asked *a = arg;
	struct str out = { 0 };
	const struct err *err = o->err != NULL ? o->err : o->tool_err;

	a->work = NULL;
	app_audit(a->in.q, a->row->name, a->in.identity, err);
	trail_call(a->in.app->trails, o, a->row->name, a->in.started_ms);
	if (o->err != NULL) {
		inbox_fail(&a->in, o->err);
		return;
	}
	tool_result(&out, a->row, o);
	app_reply_json(a->in.q, 200, &out);
}

static uint32_t
wanted_ms(const json_t *body)
{
	const json_t *v = json_object_get(body, "timeout");
	uint32_t ms = 0;

	if (v != NULL)
		tool_argument("timeout", v, &ms);
	return ms;
}

static int
tool_run(struct asked *a, const char *text, size_t n, struct err *err)
{
	struct guest_arg arg[] = { { a->row->param, ARG_TEXT, text, n },
		{ 0 } };
	struct work_request r = { .app = a->in.app,
		.tenant = app_tenant(a->in.q),
		.identity = a->in.identity,
		.tool = a->row->name,
		.arg = arg,
		.started_ms = a->in.started_ms,
		.work_ms = wanted_ms(a->body) };

	a->work = work_start(&r, tool_done, a, err);
	return a->work != NULL ? 0 : -1;
}

static int
tool_go(struct inbox *i, struct err *err)
{
	struct asked *a = (struct asked *)i;
	const char *text = "";
	size_t n = 0;

	if (boxbody_text(i->q, a->body, a->row->param, &text, &n) < 0)
		return 0;
	if (n == 0)
		return err_set(err, ERR_INVALID, "%s", a->row->required);
	return tool_run(a, text, n, err);
}

static const struct inbox_kind tool_kind = { .size = sizeof(struct asked),
	.go = tool_go,
	.drop = drop };

int
proxy_tool(struct http_req *q, struct err *err)
{
	const char *name = strrchr(http_req_path(q), '/') + 1;
	struct asked *a = open_body(q, &tool_kind);

	if (a == NULL)
		return 0;
	a->row = tool_row(name);
	if (a->row == NULL)
		return err_set(err, ERR_MISSING, "Not Found");
	return inbox_start(&a->in, err);
}

/* ---- mcp ---- */

static int
mcp_list_go(struct inbox *i, struct err *err)
{
	(void)err;
	http_reply(i->q, 200, "application/json", "{}", 2);
	return 0;
}

static const struct inbox_kind mcp_list_kind = { .size = sizeof(struct asked),
	.go = mcp_list_go,
	.drop = drop };

int
proxy_mcp_list(struct http_req *q, struct err *err)
{
	return open_plain(q, &mcp_list_kind, err);
}

static int
mcp_call_go(struct inbox *i, struct err *err)
{
	struct asked *a = (struct asked *)i;
	const char *name = "";
	size_t n = 0;

	if (boxbody_text(i->q, a->body, "tool_name", &name, &n) < 0)
		return 0;
	if (n == 0)
		return err_set(err, ERR_INVALID, "tool_name is required.");
	return err_set(err, ERR_MISSING, "Tool '%.150s' not found.", name);
}

static const struct inbox_kind mcp_call_kind = { .size = sizeof(struct asked),
	.go = mcp_call_go,
	.drop = drop };

static int
mcp_add_go(struct inbox *i, struct err *err)
{
	struct asked *a = (struct asked *)i;

	if (mcp_check_servers(json_object_get(a->body, "server_configs"),
		err) == 0) {
		reply_ok(i->q);
		return 0;
	}
	if (err->code != ERR_DENIED)
		return -1;
	log_err(LOG_WARN, err, "no MCP server was added", "sandbox",
	    sandbox_key(i->sb), NULL);
	http_reply_detail(i->q, 500, err->text);
	return 0;
}

static const struct inbox_kind mcp_add_kind = { .size = sizeof(struct asked),
	.go = mcp_add_go,
	.drop = drop };

int
proxy_mcp_call(struct http_req *q, struct err *err)
{
	struct asked *a = open_body(q, &mcp_call_kind);

	return a == NULL ? 0 : inbox_start(&a->in, err);
}

int
proxy_mcp_add(struct http_req *q, struct err *err)
{
	struct asked *a = open_body(q, &mcp_add_kind);

	return a == NULL ? 0 : inbox_start(&a->in, err);
}

/* ---- its own description, and the rest ---- */

static int
openapi_go(struct inbox *i, struct err *err)
{
	struct str out = { 0 };

	(void)err;
	openapi_box(&out, i->app);
	app_reply_json(i->q, 200, &out);
	return 0;
}

static const struct inbox_kind openapi_kind = { .size = sizeof(struct asked),
	.go = openapi_go,
	.drop = drop };

int
proxy_openapi(struct http_req *q, struct err *err)
{
	return open_plain(q, &openapi_kind, err);
}

/* The methods that other rows have for this path; 0: there is no such path. */
static unsigned
others(const struct inbox *i)
{
	struct route_names names;
	unsigned allow = 0;

	for (size_t k = 0; k < i->app->nroute; k++) {
		const struct route *r = &i->app->route[k];
		unsigned has = 0;
		struct err err;

		/* OPTIONS, which no row has: what is told is what they have. */
		if (r->handle != proxy_other &&
		    route_find(r, 1, HTTP_OPTIONS, http_req_path(i->q), &names,
			&has, &err) == NULL)
			allow |= has;
	}
	return allow;
}

static int
other_go(struct inbox *i, struct err *err)
{
	auto_str struct str names = { 0 };
	unsigned allow = others(i);

	if (allow == 0)
		return err_set(err, ERR_MISSING, "Not Found");
	for (int m = 0; m < HTTP_METHODS; m++)
		if (allow & 1u << m)
			str_printf(&names, "%s%s", names.len > 0 ? ", " : "",
			    http_method_name((enum http_method)m));
	http_reply_header(i->q, "allow", str_text(&names));
	http_reply_detail(i->q, 405, "Method Not Allowed");
	return 0;
}

static const struct inbox_kind other_kind = { .size = sizeof(struct asked),
	.go = other_go,
	.drop = drop };

int
proxy_other(struct http_req *q, struct err *err)
{
	return open_plain(q, &other_kind, err);
}
