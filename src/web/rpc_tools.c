/* rpc operations 9-11: the tools of a sandbox. */
#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "guest/guest.h"
#include "guest/schema.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/result.h"
#include "web/rpc.h"
#include "web/mcp.h"
#include "web/toolresult.h"
#include "web/trail.h"
#include "web/work.h"

/* A sandbox that can't be had: unknown is the 500, the rest a tool's error. */
static void
not_to_be_had(struct rpc_call *c, const struct err *err)
{
	auto_str struct str out = { 0 };
	struct err why;

	if (err->code == ERR_MISSING) {
		rpc_no_such(c->identity, &why);
		rpc_fail(c, &why);
		return;
	}
	result_failure(&out, err->text);
	rpc_reply_str(c, &out);
}

static int
failure(struct rpc_call *c, const char *text)
{
	auto_str struct str out = { 0 };

	result_failure(&out, text);
	rpc_reply_str(c, &out);
	return 0;
}

/* ---- 9: list_tools ---- */

static void
listed(void *arg, struct sandbox *sb, const struct err *err)
{
	struct rpc_call *c = arg;
	auto_str struct str out = { 0 };
	char group[128];
	struct err why;

	c->wait = NULL;
	if (sb == NULL) {
		not_to_be_had(c, err);
		return;
	}
	if (c->arg[1] == NULL || json_is_null(c->arg[1]))
		strcpy(group, "generic");
	else if (rpc_text(c->arg[1], group, sizeof group, &why) < 0) {
		rpc_fail(c, &why);
		return;
	}
	str_putc(&out, '{');
	jtext_quote_text(&out, group);
	str_putc(&out, ':');
	if (strcmp(group, "generic") == 0) {
		json_t *tools = schema_tools(sandbox_guest(sb));

		jtext_write(&out, tools);
		json_decref(tools);
	} else
		str_puts(&out, "{}");
	str_putc(&out, '}');
	rpc_reply_str(c, &out);
}

int
rpc_list_tools(struct rpc_call *c, struct err *err)
{
	c->wait = manager_ready(c->app->manager, app_tenant(c->q), c->identity,
	    false, listed, c, err);
	if (c->wait == NULL)
		not_to_be_had(c, err);
	return 0;
}

/* ---- 10: call_tool ---- */

static void
called(void *arg, struct work_outcome *o)
{
	struct rpc_call *c = arg;
	auto_str struct str out = { 0 };
	const struct tool_row *row = tool_row(jtext_cstring(c->arg[1]));
	const struct err *err = o->err != NULL ? o->err : o->tool_err;

	c->work = NULL;
	app_audit(c->q, row->name, c->identity, err);
	trail_call(c->app->trails, o, row->name, c->started_ms);
	if (o->err != NULL) {
		not_to_be_had(c, o->err);
		return;
	}
	tool_result(&out, row, o);
	rpc_reply_str(c, &out);
}

/*
 * The arguments of a generic tool.  0: *value is the text; 1: it has been
 * replied to; -1: the 500.
 */
static int
check_arguments(struct rpc_call *c, const struct tool_row *row,
    struct guest_arg *value, uint32_t *work_ms, struct err *err)
{
	const json_t *args = c->arg[2], *v;
	const char *key;
	json_t *at;

	if (args == NULL || json_is_null(args) ||
	    (json_is_object(args) && json_object_size(args) == 0))
		return err_set(err, ERR_INVALID,
		    "%s() missing 1 required positional argument: '%s'",
		    row->name, row->param);
	if (!json_is_object(args))
		return err_set(err, ERR_INVALID,
		    "%s() argument after ** must be a mapping, not %s",
		    row->name, rpc_type_name(args));
	json_object_foreach((json_t *)(uintptr_t)args, key, at)
		if (strcmp(key, row->param) != 0 &&
		    !tool_argument(key, at, work_ms))
			return err_set(err, ERR_INVALID,
			    "%s() got an unexpected keyword argument '%s'",
			    row->name, key);
	v = json_object_get(args, row->param);
	if (v == NULL)
		return err_set(err, ERR_INVALID,
		    "%s() missing 1 required positional argument: '%s'",
		    row->name, row->param);
	*value = (struct guest_arg){ row->param, ARG_TEXT };
	value->text = jtext_string(v, &value->len);
	if (value->text == NULL) {
		err_set(err, ERR_INVALID, "%s: Input should be a valid string",
		    row->param);
		failure(c, err->text);
		return 1;
	}
	if (value->len == 0) {
		failure(c, row->required);
		return 1;
	}
	return 0;
}

static int
call_generic(struct rpc_call *c, const struct tool_row *row, struct err *err)
{
	struct guest_arg arg[2] = { { 0 } };
	struct work_request r = { .app = c->app,
		.tenant = app_tenant(c->q),
		.identity = c->identity,
		.tool = row->name,
		.started_ms = c->started_ms };
	int checked = check_arguments(c, row, &arg[0], &r.work_ms, err);

	if (checked != 0)
		return checked < 0 ? -1 : 0;
	r.arg = arg;
	c->work = work_start(&r, called, c, err);
	if (c->work == NULL)
		not_to_be_had(c, err);
	return 0;
}

int
rpc_call_tool(struct rpc_call *c, struct err *err)
{
	const struct tool_row *row;
	const char *name = jtext_cstring(c->arg[1]);
	char text[200];

	if (manager_find(c->app->manager, app_tenant(c->q), c->identity,
		false) == NULL)
		return rpc_no_such(c->identity, err);
	if (name == NULL)
		return failure(c, "tool_name: Input should be a valid string");
	if (name[0] == '\0')
		return failure(c, "tool_name is required.");
	row = tool_row(name);
	if (row != NULL)
		return call_generic(c, row, err);
	snprintf(text, sizeof text, "Tool '%.150s' not found.", name);
	return failure(c, text);
}

/* ---- 11: add_mcp_servers ---- */

static void
added(void *arg, struct sandbox *sb, const struct err *err)
{
	struct rpc_call *c = arg;
	struct err why;

	c->wait = NULL;
	if (sb == NULL)
		not_to_be_had(c, err);
	else if (mcp_check_servers(c->arg[1], &why) == 0)
		rpc_reply(c, "\"OK\"");
	else {
		log_err(LOG_WARN, &why, "no MCP server was added", "sandbox",
		    sandbox_key(sb), NULL);
		failure(c, why.text);
	}
}

int
rpc_add_mcp_servers(struct rpc_call *c, struct err *err)
{
	c->wait = manager_ready(c->app->manager, app_tenant(c->q), c->identity,
	    false, added, c, err);
	if (c->wait == NULL)
		not_to_be_had(c, err);
	return 0;
}
