/* api: what its files share, and the routes that concern the whole daemon. */
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"

/* clang-format off */
static const int status[ERR_CODES] = {
	[ERR_SYS]	= 500,
	[ERR_INVALID]	= 400,
	[ERR_DENIED]	= 403,
	[ERR_MISSING]	= 404,
	[ERR_BUSY]	= 409,
	[ERR_LIMIT]	= 429,
	[ERR_TIMEOUT]	= 504,
	[ERR_PROTO]	= 502,
};
/* clang-format on */

void
api_put_error(struct str *out, const struct err *err)
{
	str_puts(out, "{\"code\":");
	jtext_quote_text(out, err_name(err->code));
	str_puts(out, ",\"detail\":");
	jtext_quote_text(out, err->text);
	str_putc(out, '}');
}

int
api_fail(struct http_req *q, const struct err *err)
{
	struct str out = { 0 };

	api_put_error(&out, err);
	app_reply_json(q, status[err->code], &out);
	return 0;
}

int
api_scope(const struct http_req *q)
{
	const struct http_who *who = http_req_who(q);

	return who->admin ? -1 : who->tenant;
}

int
api_none(struct http_req *q, const char *identity)
{
	struct err err;

	err_set(&err, ERR_MISSING, "no such sandbox: %s", identity);
	return api_fail(q, &err);
}

void
api_done(struct http_req *q)
{
	http_reply(q, 204, NULL, NULL, 0);
}

/* ---- the daemon ---- */

int
api_info(struct http_req *q, struct err *err)
{
	struct app *a = app_of(q);
	struct manager_counts n;
	struct str out = { 0 };

	(void)err;
	manager_counts(a->manager, &n);
	str_puts(&out, "{\"version\":");
	jtext_quote_text(&out, PACKAGE_VERSION);
	str_puts(&out, ",\"root\":");
	jtext_quote_text(&out, a->config->root);
	str_printf(&out, ",\"generation\":%u,\"uptime_ms\":%lld", a->generation,
	    (long long)(clock_ms() - a->started_ms));
	str_puts(&out, ",\"agents_url\":");
	jtext_quote_text(&out, a->agents_url != NULL ? a->agents_url : "");
	str_puts(&out, ",\"limits\":[");
	for (size_t i = 0; i < a->config->limits_required.n; i++) {
		if (i > 0)
			str_putc(&out, ',');
		jtext_quote_text(&out, a->config->limits_required.at[i]);
	}
	str_printf(&out, "],\"sandboxes\":%u}",
	    n.by_state[REC_WARM] + n.by_state[REC_RUNNING]);
	app_reply_json(q, 200, &out);
	return 0;
}
