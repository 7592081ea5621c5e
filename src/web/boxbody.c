#include <stdio.h>
#include "base/err.h"
#include "base/str.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/boxbody.h"
#include "web/http.h"

json_t *
boxbody_read(struct http_req *q)
{
	struct app_invalid bad = { "json_invalid", "body", NULL,
		"JSON decode error", "{}" };
	auto_str struct str ctx = { 0 };
	struct jtext_where where;
	char at[24];
	const uint8_t *body;
	struct err err;
	json_t *v;
	size_t n;

	body = http_req_body(q, &n);
	if (n == 0)
		return json_object();
	v = jtext_read(body, n, &where, &err);
	if (v != NULL && !json_is_object(v)) {
		json_decref(v);
		return json_object();
	}
	if (v != NULL)
		return v;
	snprintf(at, sizeof at, "%zu", where.at);
	str_puts(&ctx, "{\"error\":");
	jtext_quote_text(&ctx, err.text);
	str_putc(&ctx, '}');
	bad.field = at;
	bad.ctx = str_text(&ctx);
	app_reply_invalid(q, &bad);
	return NULL;
}

int
boxbody_optional(struct http_req *q, const json_t *body, const char *name,
    const char **text, size_t *n)
{
	struct app_invalid bad = { "string_type", "body", name,
		"Input should be a valid string" };
	const json_t *v = json_object_get(body, name);
	auto_str struct str input = { 0 };
	const char *s;
	size_t len;

	if (v == NULL)
		return 0;
	s = jtext_string(v, &len);
	if (s != NULL) {
		*text = s;
		*n = len;
		return 0;
	}
	jtext_write(&input, v);
	bad.input = str_text(&input);
	app_reply_invalid(q, &bad);
	return -1;
}

int
boxbody_text(struct http_req *q, const json_t *body, const char *name,
    const char **text, size_t *n)
{
	const struct app_invalid missing = { "missing", "body", name,
		"Field required" };

	if (json_object_get(body, name) == NULL) {
		app_reply_invalid(q, &missing);
		return -1;
	}
	return boxbody_optional(q, body, name, text, n);
}
