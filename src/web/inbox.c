#include <stdlib.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/work.h"

static void
closed(struct http_req *q)
{
	struct inbox *i = http_req_data(q);

	if (i->wait != NULL)
		manager_forget(i->wait);
	if (i->call != NULL) {
		if (!i->kind->finish)
			guest_cancel(i->call);
		guest_detach(i->call);
	}
	if (i->kind->drop != NULL)
		i->kind->drop(i);
	if (i->sb != NULL)
		sandbox_drop(i->sb);
	free(i);
}

void *
inbox_new(struct http_req *q, const struct inbox_kind *kind)
{
	struct inbox *i = xcalloc(1, kind->size);

	i->q = q;
	i->app = app_of(q);
	i->kind = kind;
	i->identity = http_req_name(q, "identity");
	i->started_ms = clock_ms();
	http_req_set_data(q, i);
	http_req_on_closed(q, closed);
	return i;
}

static void
not_found(struct inbox *i, const struct err *err)
{
	auto_str struct str text = { 0 };

	if (i->kind->native) {
		api_fail(i->q, err);
		return;
	}
	log_err(LOG_INFO, err, "no sandbox for a request", "sandbox",
	    i->identity, NULL);
	str_printf(&text, "sandbox not found: %s", i->identity);
	http_reply_detail(i->q, 404, str_text(&text));
}

static void
ready(void *arg, struct sandbox *sb, const struct err *err)
{
	struct inbox *i = arg;
	struct err why;

	i->wait = NULL;
	if (sb == NULL) {
		not_found(i, err);
		return;
	}
	sandbox_hold(sb);
	i->sb = sb;
	if (i->kind->go(i, &why) < 0)
		inbox_fail(i, &why);
}

int
inbox_start(struct inbox *i, struct err *err)
{
	int scope = i->kind->native ? api_scope(i->q) : app_tenant(i->q);

	i->wait =
	    manager_reach(i->app->manager, scope, i->identity, ready, i, err);
	if (i->wait == NULL)
		not_found(i, err);
	return 0;
}

int
inbox_call(struct inbox *i, const struct inbox_call *c, struct err *err)
{
	struct guest *g = sandbox_guest(i->sb);
	int64_t left = clock_left(i->started_ms + work_patience_ms(i->app));
	struct guest_request r = {
		.tool = c->tool,
		.arg = c->arg,
		.answer_ms = c->patient ? 0
		    : left > 0          ? (uint32_t)left
					: 1,
		.cap = c->cap,
		.sink = c->sink,
		.sink_arg = i,
	};

	if (g == NULL)
		return err_set(err, ERR_BUSY, "the sandbox has ended");
	i->call = guest_call(g, &r, err);
	return i->call != NULL ? 0 : -1;
}

/* clang-format off */
static const int status[] = {
	[ERR_SYS]	= 500,
	[ERR_INVALID]	= 400,
	[ERR_DENIED]	= 403,
	[ERR_MISSING]	= 404,
	[ERR_BUSY]	= 409,
	[ERR_LIMIT]	= 507,	/* no room for it */
	[ERR_TIMEOUT]	= 504,
	[ERR_PROTO]	= 502,
};
/* clang-format on */

void
inbox_fail(struct inbox *i, const struct err *err)
{
	if (i->kind->native)
		api_fail(i->q, err);
	else
		http_reply_detail(i->q, status[err->code], err->text);
}

/* ---- a slow client slows the agent ---- */

static void
drained(struct http_req *q)
{
	struct inbox *i = http_req_data(q);

	if (i->call != NULL && i->owed > 0)
		guest_took(i->call, i->owed);
	i->owed = 0;
}

void
inbox_sent(struct inbox *i, size_t n)
{
	if (http_reply_backlog(i->q) < APP_OUT_HIGH) {
		guest_took(i->call, n + i->owed);
		i->owed = 0;
		return;
	}
	if (i->owed == 0)
		http_reply_on_drained(i->q, drained);
	i->owed += n;
}

void
inbox_put_entry(struct str *out, const struct guest_entry *e)
{
	static const char *const type[] = { [ENTRY_FILE] = "file",
		[ENTRY_DIR] = "dir",
		[ENTRY_SYMLINK] = "symlink",
		[ENTRY_OTHER] = "other" };

	str_puts(out, "{\"path\":");
	jtext_quote(out, e->path, e->path_len);
	str_puts(out, ",\"name\":");
	jtext_quote(out, e->name, e->name_len);
	str_printf(out, ",\"type\":\"%s\",\"size\":", type[e->type]);
	if (e->type == ENTRY_FILE && e->size >= 0)
		str_printf(out, "%lld", (long long)e->size);
	else
		str_puts(out, "null");
	str_printf(out, ",\"mtime_ms\":%lld}", (long long)e->mtime_ms);
}
