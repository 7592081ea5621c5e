#include <stdlib.h>
#include "base/str.h"
#include "conf/conf.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/record.h"

static void
text(struct str *out, const char *key, const char *value)
{
	str_printf(out, ",\"%s\":", key);
	jtext_quote_text(out, value);
}

static void
text_or_null(struct str *out, const char *key, const char *value)
{
	if (value[0] != '\0')
		text(out, key, value);
	else
		str_printf(out, ",\"%s\":null", key);
}

static void
when(struct str *out, const char *key, double t)
{
	str_printf(out, ",\"%s\":", key);
	jtext_time(out, t);
}

/* Where the client found us, so that it finds the sandbox too. */
static void
url(struct str *out, const struct http_req *q, const struct record *r)
{
	const struct config *c = app_of(q)->config;
	const char *host =
	    http_req_local(q) ? NULL : http_req_header(q, "host");
	char *here = host != NULL
	    ? xasprintf("http://%s/proxy/%s", host, r->id)
	    : xasprintf("http://%s:%u/proxy/%s", c->host, c->port, r->id);

	text(out, "url", here);
	free(here);
}

void
record_put(struct str *out, const struct http_req *q, const struct record *r)
{
	const struct config *c = app_of(q)->config;

	str_puts(out, "{\"session_id\":");
	jtext_quote_text(out, r->session_id);
	text(out, "container_id", r->container_id);
	text(out, "container_name", r->id);
	url(out, q, r);
	str_printf(out, ",\"ports\":[%u]", c->port);
	text(out, "mount_dir", r->mount_dir[0] != '\0' ? r->mount_dir : "None");
	text_or_null(out, "storage_path", r->storage);
	text(out, "runtime_token", r->token);
	text(out, "version", r->version);
	str_puts(out, ",\"meta\":");
	if (r->meta != NULL)
		jtext_write(out, r->meta);
	else
		str_puts(out, "{}");
	str_printf(out, ",\"timeout\":%u", c->timeout);
	text(out, "sandbox_type", r->type);
	text(out, "state", record_state_name(r->state));
	text_or_null(out, "session_ctx_id", r->session);
	when(out, "last_active_at", r->last_active_at);
	when(out, "recycled_at", r->recycled_at);
	when(out, "released_at", r->released_at);
	when(out, "updated_at", r->updated_at);
	text_or_null(out, "recycle_reason",
	    r->recycled_at > 0 ? r->reason : "");
	text_or_null(out, "redirect_to", r->redirect);
	str_putc(out, '}');
}

void
record_put_native(struct str *out, const struct http_req *q,
    const struct sandbox *sb)
{
	const struct record *r = sandbox_record(sb);

	str_puts(out, "{\"id\":");
	jtext_quote_text(out, r->id);
	text(out, "key", sandbox_key(sb));
	text(out, "image", r->version);
	text(out, "type", r->type);
	text(out, "state", record_state_name(r->state));
	str_printf(out, ",\"paused\":%s", r->paused ? "true" : "false");
	text(out, "tenant", app_tenant_name(app_of(q), r->tenant));
	text_or_null(out, "session", r->session);
	text_or_null(out, "redirect_to", r->redirect);
	text_or_null(out, "reason", r->reason);
	when(out, "created_at", r->created_at);
	when(out, "last_active_at", r->last_active_at);
	str_puts(out, ",\"meta\":");
	if (r->meta != NULL)
		jtext_write(out, r->meta);
	else
		str_puts(out, "{}");
	str_putc(out, '}');
}
