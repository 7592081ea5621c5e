#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/deployment.h"
#include "engine/invalid.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "web/answer.h"
#include "web/app.h"
#include "web/http.h"
#include "web/kept.h"
#include "web/sse.h"

/* ---- the body ---- */

static bool
is_json(const char *type)
{
	const char *slash, *end;
	size_t n;

	if (type == NULL)
		return true; /* curl's users forget it */
	n = strcspn(type, "; \t");
	if (n == 16 && strncasecmp(type, "application/json", n) == 0)
		return true;
	slash = memchr(type, '/', n);
	end = type + n;
	return slash != NULL && n > 5 && strncasecmp(end - 5, "+json", 5) == 0;
}

static void
refuse(struct http_req *q, struct invalid *wrong)
{
	struct str out = { 0 };

	invalid_take(wrong, &out);
	app_reply_json(q, 422, &out);
}

static void
refuse_syntax(struct http_req *q, const struct jtext_where *where,
    const struct err *err)
{
	struct invalid wrong = { 0 };
	auto_str struct str ctx = { 0 };
	json_t *none = json_object();

	str_puts(&ctx, "{\"error\":");
	jtext_quote_text(&ctx, err->text);
	str_putc(&ctx, '}');
	invalid_add(&wrong, &(struct place){ NULL, NULL, where->at },
	    "json_invalid", "JSON decode error", none, str_text(&ctx));
	json_decref(none);
	refuse(q, &wrong);
}

json_t *
answer_body(struct http_req *q)
{
	const char *type = http_req_header(q, "content-type");
	struct invalid wrong = { 0 };
	struct jtext_where where = { 0 };
	const uint8_t *body;
	struct err err;
	json_t *v;
	size_t n;

	body = http_req_body(q, &n);
	if (n >= 3 && memcmp(body, "\xef\xbb\xbf", 3) == 0) {
		body += 3;
		n -= 3;
	}
	if (n == 0) {
		invalid_add(&wrong, NULL, "missing", "Field required", NULL,
		    NULL);
		refuse(q, &wrong);
		return NULL;
	}
	if (is_json(type)) {
		v = jtext_read(body, n, &where, &err);
		if (v == NULL)
			refuse_syntax(q, &where, &err);
		return v;
	}
	v = json_stringn((const char *)body, n);
	invalid_add(&wrong, NULL, "dict_type",
	    "Input should be a valid dictionary", v, NULL);
	json_decref(v);
	refuse(q, &wrong);
	return NULL;
}

/* ---- the request ---- */

/* A client that would come back for the rest: so much of it is kept. */
#define RESUME_KEEP (256u << 10)

/* A token of the Prefer field (RFC 7240). */
static bool
prefers(const struct http_req *q, const char *token)
{
	const char *at = http_req_header(q, "prefer");
	size_t n = strlen(token);

	while (at != NULL && *at != '\0') {
		at += strspn(at, ", \t");
		if (strncasecmp(at, token, n) == 0 &&
		    (at[n] == '\0' || strchr(",; \t", at[n]) != NULL))
			return true;
		at += strcspn(at, ",");
	}
	return false;
}

static void
gone(void *arg, struct run *run)
{
	deployment_left(arg, run);
}

int
answer_run(struct http_req *q, struct deployment *d, struct run_ask *ask,
    struct err *err)
{
	struct app *a = app_of(q);
	struct sse_ask sse = { .loop = a->loop,
		.keep_alive_s = a->config->keep_alive,
		.after = -1,
		.gone = gone,
		.arg = d };

	ask->tenant = app_tenant(q);
	if (ask->stream && prefers(q, "resume")) {
		ask->keep = RESUME_KEEP;
		http_reply_header(q, "preference-applied", "resume");
	}
	ask->traceparent = http_req_header(q, "traceparent");
	sse.run = deployment_run(d, ask, err);
	if (sse.run == NULL)
		return -1;
	if (ask->stream && a->kept != NULL &&
	    kept_add(a->kept, d, ask->tenant, sse.run)) {
		sse.gone = kept_gone;
		sse.arg = a->kept;
	}
	if (!ask->stream)
		sse_whole(q, &sse);
	else if (sse_stream(q, &sse, err) < 0) {
		deployment_left(d, sse.run);
		run_drop(sse.run);
		return -1;
	}
	run_drop(sse.run);
	return 0;
}
