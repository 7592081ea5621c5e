/* rpc operations 1-8 and 12-14: sandboxes and sessions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/conf.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/environ.h"
#include "web/http.h"
#include "web/record.h"
#include "web/rpc.h"
#include "web/trail.h"

/* ---- 1, 2: create ---- */

/* Upstream's types; what is not configured answers null with a reason. */
static const char *const known_types[] = { "base", "base_async", "gui",
	"gui_async", "browser", "browser_async", "filesystem",
	"filesystem_async", "mobile", "mobile_async", "appworld", "bfcl",
	"agentbay", "dummy" };

static int
check_type(const struct rpc_call *c, const json_t *v, const char **type,
    struct err *err)
{
	auto_str struct str shown = { 0 };
	const char *name = jtext_cstring(v);

	*type = NULL;
	if (v == NULL || json_is_null(v))
		return 0;
	if (name != NULL && conf_type_find(c->app->config, name) != NULL)
		*type = name;
	for (size_t i = 0; name != NULL && *type == NULL &&
	     i < sizeof known_types / sizeof *known_types;
	     i++)
		if (strcmp(name, known_types[i]) == 0)
			*type = name;
	if (*type != NULL)
		return 0;
	if (name != NULL)
		str_printf(&shown, "'%s'", name);
	else
		jtext_write(&shown, v);
	return err_set(err, ERR_INVALID, "%s is not a valid SandboxType",
	    str_text(&shown));
}

static int
check_meta(json_t *v, json_t **meta, struct err *err)
{
	*meta = NULL;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_object(v))
		return err_set(err, ERR_INVALID,
		    "meta must be an object, not '%s'", rpc_type_name(v));
	*meta = v;
	return 0;
}

static int
check_path(const json_t *v, const char *what, const char **path,
    struct err *err)
{
	*path = jtext_cstring(v);
	if (v == NULL || json_is_null(v) || *path != NULL)
		return 0;
	return err_set(err, ERR_INVALID, "%s must be text, not '%s'", what,
	    rpc_type_name(v));
}

static void
created(void *arg, struct sandbox *sb, const struct err *err)
{
	struct rpc_call *c = arg;
	auto_str struct str out = { 0 };

	c->wait = NULL;
	if (sb == NULL) {
		app_audit(c->q, "create", NULL, err);
		rpc_reply(c, "null");
		return;
	}
	app_audit(c->q, "create", sandbox_record(sb)->id, NULL);
	trail_say(c->app->trails, sandbox_key(sb), "created");
	jtext_quote_text(&out, sandbox_record(sb)->id);
	rpc_reply_str(c, &out);
}

/* What can't be made is null with status 200: an error would be taken for the
 * new sandbox's id by the SDK. */
static int
create(struct rpc_call *c, struct create *want)
{
	struct err why;

	want->tenant = app_tenant(c->q);
	c->wait = manager_create(c->app->manager, want, created, c, &why);
	if (c->wait == NULL)
		created(c, NULL, &why);
	return 0;
}

int
rpc_create_from_pool(struct rpc_call *c, struct err *err)
{
	struct create want = { .pooled = true };

	if (check_type(c, c->arg[0], &want.type, err) < 0 ||
	    check_meta(c->arg[1], &want.meta, err) < 0)
		return -1;
	return create(c, &want);
}

int
rpc_create(struct rpc_call *c, struct err *err)
{
	struct environ_list env = { 0 };
	struct create want = { .pooled = false };
	int r;

	if (check_type(c, c->arg[0], &want.type, err) < 0 ||
	    check_path(c->arg[1], "mount_dir", &want.mount_dir, err) < 0 ||
	    check_path(c->arg[2], "storage_path", &want.storage, err) < 0 ||
	    check_meta(c->arg[4], &want.meta, err) < 0)
		return -1;
	r = environ_read(&env, c->arg[3], err);
	if (r == 0) {
		want.env = (const char *const *)env.at;
		r = create(c, &want);
	} else if (err->code == ERR_DENIED) { /* not a 500, only none made */
		created(c, NULL, err);
		r = 0;
	}
	environ_free(&env);
	return r;
}

/* ---- 3-8 ---- */

static void
reply_bool(struct rpc_call *c, bool yes)
{
	rpc_reply(c, yes ? "true" : "false");
}

static void
ended(void *arg, struct sandbox *sb, const struct err *err)
{
	struct rpc_call *c = arg;

	(void)sb;
	c->wait = NULL;
	app_audit(c->q, "release", c->identity, err);
	reply_bool(c, err == NULL);
}

/* What is unknown is released; what is known is gone when this is answered. */
int
rpc_release(struct rpc_call *c, struct err *err)
{
	(void)err;
	c->wait = manager_end(c->app->manager, app_tenant(c->q), c->identity,
	    ended, c);
	if (c->wait == NULL)
		ended(c, NULL, NULL);
	return 0;
}

static void
moved(void *arg, struct sandbox *sb, const struct err *err)
{
	struct rpc_call *c = arg;

	c->wait = NULL;
	app_audit(c->q, c->row->name, c->identity, sb == NULL ? err : NULL);
	reply_bool(c, sb != NULL);
}

int
rpc_start(struct rpc_call *c, struct err *err)
{
	struct err why;

	(void)err;
	c->wait = manager_start(c->app->manager, app_tenant(c->q), c->identity,
	    moved, c, &why);
	if (c->wait == NULL)
		moved(c, NULL, &why);
	return 0;
}

int
rpc_stop(struct rpc_call *c, struct err *err)
{
	struct err why;

	(void)err;
	c->wait = manager_stop(c->app->manager, app_tenant(c->q), c->identity,
	    moved, c, &why);
	if (c->wait == NULL)
		moved(c, NULL, &why);
	return 0;
}

int
rpc_get_status(struct rpc_call *c, struct err *err)
{
	auto_str struct str out = { 0 };
	const char *status =
	    manager_status(c->app->manager, app_tenant(c->q), c->identity);

	(void)err;
	if (status != NULL)
		jtext_quote_text(&out, status);
	else
		str_puts(&out, "null");
	rpc_reply_str(c, &out);
	return 0;
}

int
rpc_get_info(struct rpc_call *c, struct err *err)
{
	auto_str struct str out = { 0 };
	const struct sandbox *sb =
	    manager_find(c->app->manager, app_tenant(c->q), c->identity, true);

	if (sb == NULL)
		return rpc_no_such(c->identity, err);
	record_put(&out, c->q, sandbox_record(sb));
	rpc_reply_str(c, &out);
	return 0;
}

static void
healthy(void *arg, struct sandbox *sb, const struct err *err)
{
	struct rpc_call *c = arg;
	struct err why;

	c->wait = NULL;
	if (sb != NULL) {
		reply_bool(c, true);
		return;
	}
	why = *err;
	if (why.code == ERR_MISSING)
		rpc_no_such(c->identity, &why);
	rpc_fail(c, &why);
}

int
rpc_check_health(struct rpc_call *c, struct err *err)
{
	c->wait = manager_ready(c->app->manager, app_tenant(c->q), c->identity,
	    false, healthy, c, err);
	if (c->wait == NULL)
		return err->code == ERR_MISSING ? rpc_no_such(c->identity, err)
						: -1;
	return 0;
}

/* ---- 12-14 ---- */

static void
reply_json(struct rpc_call *c, json_t *v)
{
	auto_str struct str out = { 0 };

	jtext_write(&out, v);
	json_decref(v);
	rpc_reply_str(c, &out);
}

int
rpc_get_session_mapping(struct rpc_call *c, struct err *err)
{
	char session[256];

	if (rpc_text(c->arg[0], session, sizeof session, err) < 0)
		return -1;
	reply_json(c,
	    manager_session(c->app->manager, app_tenant(c->q), session));
	return 0;
}

int
rpc_list_session_keys(struct rpc_call *c, struct err *err)
{
	(void)err;
	reply_json(c, manager_session_keys(c->app->manager, app_tenant(c->q)));
	return 0;
}

int
rpc_cleanup(struct rpc_call *c, struct err *err)
{
	(void)err;
	app_audit(c->q, "cleanup", NULL, NULL);
	manager_cleanup(c->app->manager, app_tenant(c->q));
	rpc_reply(c, "null");
	return 0;
}
