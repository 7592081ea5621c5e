#include <stdio.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/conf.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/http.h"

struct app *
app_of(const struct http_req *q)
{
	return http_req_app(q);
}

int
app_tenant(const struct http_req *q)
{
	return http_req_who(q)->tenant;
}

const char *
app_tenant_name(const struct app *a, int tenant)
{
	if (tenant < 0 || (size_t)tenant >= a->config->ntenant)
		return "-";
	return a->config->tenant[tenant].name;
}

void
app_reply_json(struct http_req *q, int status, struct str *out)
{
	http_reply(q, status, "application/json", str_text(out), out->len);
	str_free(out);
}

void
app_reply_invalid(struct http_req *q, const struct app_invalid *i)
{
	auto_str struct str out = { 0 };

	str_puts(&out, "{\"detail\":[{\"type\":");
	jtext_quote_text(&out, i->type);
	str_puts(&out, ",\"loc\":[");
	jtext_quote_text(&out, i->where);
	str_putc(&out, ',');
	if (i->field[0] >= '0' && i->field[0] <= '9')
		str_puts(&out, i->field);
	else
		jtext_quote_text(&out, i->field);
	str_puts(&out, "],\"msg\":");
	jtext_quote_text(&out, i->msg);
	str_printf(&out, ",\"input\":%s", i->input ? i->input : "null");
	if (i->ctx != NULL)
		str_printf(&out, ",\"ctx\":%s", i->ctx);
	str_puts(&out, "}]}");
	app_reply_json(q, 422, &out);
}

void
app_audit(const struct http_req *q, const char *what, const char *identity,
    const struct err *err)
{
	char id[24];

	snprintf(id, sizeof id, "%llu", (unsigned long long)http_req_id(q));
	log_say(LOG_NOTE, "audit", "request", id, "tenant",
	    app_tenant_name(app_of(q), app_tenant(q)), "what", what, "sandbox",
	    identity, "outcome", err != NULL ? err_name(err->code) : "ok",
	    "reason", err != NULL ? err->text : NULL, NULL);
}
