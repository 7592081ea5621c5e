#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/rpc.h"
#include "web/work.h"

#define MANAGER "SandboxManager"

/* clang-format off */
static const struct rpc rpcs[] = {
	{ "create_from_pool",	 { "sandbox_type", "meta" },			0, true,  false, rpc_create_from_pool },
	{ "create",		 { "sandbox_type", "mount_dir", "storage_path",
				   "environment", "meta" },			0, true,  false, rpc_create },
	{ "release",		 { "identity" },				1, false, false, rpc_release },
	{ "start",		 { "identity" },				1, true,  false, rpc_start },
	{ "stop",		 { "identity" },				1, true,  false, rpc_stop },
	{ "get_status",		 { "identity" },				1, true,  false, rpc_get_status },
	{ "get_info",		 { "identity", "_redirect_depth" },		1, true,  false, rpc_get_info },
	{ "check_health",	 { "identity" },				1, false, false, rpc_check_health },
	{ "list_tools",		 { "identity", "tool_type" },			1, false, true,  rpc_list_tools },
	{ "call_tool",		 { "identity", "tool_name", "arguments" },	1, false, false, rpc_call_tool },
	{ "add_mcp_servers",	 { "identity", "server_configs", "overwrite" },	2, false, false, rpc_add_mcp_servers },
	{ "get_session_mapping", { "session_ctx_id" },				1, true,  false, rpc_get_session_mapping },
	{ "list_session_keys",	 { NULL },					0, false, false, rpc_list_session_keys },
	{ "cleanup",		 { NULL },					0, false, false, rpc_cleanup },
};
/* clang-format on */

/* ---- arguments ---- */

const char *
rpc_type_name(const json_t *v)
{
	static const char *const name[] = { [JSON_OBJECT] = "dict",
		[JSON_ARRAY] = "list",
		[JSON_STRING] = "str",
		[JSON_INTEGER] = "int",
		[JSON_REAL] = "float",
		[JSON_TRUE] = "bool",
		[JSON_FALSE] = "bool",
		[JSON_NULL] = "NoneType" };
	size_t n;

	if (json_is_string(v) && jtext_string(v, &n) == NULL)
		return "int";
	return v == NULL ? "NoneType" : name[json_typeof(v)];
}

int
rpc_text(const json_t *v, char *out, size_t room, struct err *err)
{
	auto_str struct str s = { 0 };
	size_t n = 0;
	const char *text;

	if (json_is_object(v) || json_is_array(v))
		return err_set(err, ERR_INVALID, "unhashable type: '%s'",
		    rpc_type_name(v));
	if (v == NULL || json_is_null(v))
		str_puts(&s, "None");
	else if (json_is_boolean(v))
		str_puts(&s, json_is_true(v) ? "True" : "False");
	else if ((text = jtext_string(v, &n)) != NULL)
		str_add(&s, text, n);
	else
		jtext_write(&s, v);
	if (strlen(str_text(&s)) != s.len)
		return err_set(err, ERR_INVALID,
		    "a NUL character stands in an argument");
	snprintf(out, room, "%s", str_text(&s));
	return 0;
}

static int
position(const struct rpc_call *c, const char *key)
{
	const struct rpc *row = c->row;

	for (int i = 0; i < RPC_ARGS && row->arg[i] != NULL; i++)
		if (strcmp(row->arg[i], key) == 0)
			return i;
	if (!c->async || !row->star)
		return -1;
	if (strcmp(key, "args") == 0)
		return row->arg[0] != NULL && c->arg[0] == NULL ? 0 : -1;
	if (strcmp(key, "kwargs") == 0)
		return row->arg[1] != NULL && c->arg[1] == NULL ? 1
		    : row->arg[1] == NULL                       ? RPC_ARGS
								: -1;
	return -1;
}

static int
missing(const struct rpc_call *c, struct err *err)
{
	auto_str struct str names = { 0 };
	unsigned n = 0, told = 0;

	for (unsigned i = 0; i < c->row->required; i++)
		n += c->arg[i] == NULL;
	for (unsigned i = 0; i < c->row->required; i++)
		if (c->arg[i] == NULL)
			str_printf(&names, "%s'%s'",
			    told++ == 0     ? ""
				: told == n ? " and "
					    : ", ",
			    c->row->arg[i]);
	return err_set(err, ERR_INVALID,
	    MANAGER ".%s() missing %u required positional argument%s: %s",
	    c->row->name, n, n == 1 ? "" : "s", str_text(&names));
}

static int
bind(struct rpc_call *c, struct err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(c->body))
		return err_set(err, ERR_INVALID,
		    MANAGER ".%s() argument after ** must be a mapping, not %s",
		    c->row->name, rpc_type_name(c->body));
	json_object_foreach(c->body, key, v) {
		int at = position(c, key);

		if (at >= 0 && at < RPC_ARGS)
			c->arg[at] = v;
		else if (at < 0 && !c->row->extra)
			return err_set(err, ERR_INVALID,
			    MANAGER
			    ".%s() got an unexpected keyword argument '%s'",
			    c->row->name, key);
	}
	for (unsigned i = 0; i < c->row->required; i++)
		if (c->arg[i] == NULL)
			return missing(c, err);
	if (c->row->arg[0] != NULL && strcmp(c->row->arg[0], "identity") == 0)
		return rpc_text(c->arg[0], c->identity, sizeof c->identity,
		    err);
	return 0;
}

/* ---- replies ---- */

void
rpc_reply(struct rpc_call *c, const char *data)
{
	auto_str struct str out = { 0 };

	str_printf(&out, "{\"data\":%s}", data);
	app_reply_json(c->q, 200, &out);
}

void
rpc_reply_str(struct rpc_call *c, struct str *data)
{
	struct str out = { 0 };

	str_puts(&out, "{\"data\":");
	str_add(&out, str_text(data), data->len);
	str_putc(&out, '}');
	str_free(data);
	app_reply_json(c->q, 200, &out);
}

void
rpc_fail(struct rpc_call *c, const struct err *err)
{
	char *text = xasprintf("Error in %s%s: %s", c->row->name,
	    c->async ? "_async" : "", err->text);

	http_reply_detail(c->q, 500, text);
	free(text);
}

int
rpc_no_such(const char *identity, struct err *err)
{
	return err_set(err, ERR_MISSING, "No container found with id: %s.",
	    identity);
}

/* ---- the life of a call ---- */

static void
closed(struct http_req *q)
{
	struct rpc_call *c = http_req_data(q);

	if (c->wait != NULL)
		manager_forget(c->wait);
	if (c->work != NULL)
		work_forget(c->work);
	json_decref(c->body);
	free(c);
}

static const struct rpc *
row_of(const char *path, bool *async)
{
	static const char suffix[] = "_async";
	size_t n = strcspn(++path, "/"), cut = sizeof suffix - 1;

	*async = n > cut && memcmp(path + n - cut, suffix, cut) == 0;
	if (*async)
		n -= cut;
	for (size_t i = 0; i < sizeof rpcs / sizeof *rpcs; i++)
		if (strlen(rpcs[i].name) == n &&
		    memcmp(rpcs[i].name, path, n) == 0)
			return &rpcs[i];
	return NULL;
}

int
rpc_handle(struct http_req *q, struct err *err)
{
	struct rpc_call *c;
	const uint8_t *body;
	struct err why;
	bool async;
	const struct rpc *row = row_of(http_req_path(q), &async);
	size_t n;

	if (row == NULL)
		return err_set(err, ERR_MISSING, "Not Found");
	c = xcalloc(1, sizeof *c);
	c->q = q;
	c->app = app_of(q);
	c->row = row;
	c->async = async;
	c->started_ms = clock_ms();
	http_req_set_data(q, c);
	http_req_on_closed(q, closed);
	body = http_req_body(q, &n);
	c->body = jtext_read(body, n, NULL, &why);
	if (c->body == NULL || bind(c, &why) < 0 || row->run(c, &why) < 0)
		rpc_fail(c, &why);
	return 0;
}
