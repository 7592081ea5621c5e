#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/ask.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/escape.h"
#include "engine/run.h"
#include "json/jtext.h"
#include "web/agent.h"
#include "web/agent_openai.h"
#include "web/app.h"
#include "web/http.h"
#include "web/sse.h"

#define KEEP_ALIVE_S 15

/* ---- refusing ---- */

static const char *
type_of(int status)
{
	return status == 429 ? "rate_limit_error"
	    : status >= 500  ? "server_error"
			     : "invalid_request_error";
}

void
openai_refuse(struct http_req *q, int status, const char *code,
    const char *param, const char *message)
{
	struct str out = { 0 };

	str_puts(&out, "{\"error\":{\"message\":");
	escape_quote(&out, message);
	str_printf(&out, ",\"type\":\"%s\",\"param\":", type_of(status));
	escape_quote(&out, param);
	str_puts(&out, ",\"code\":");
	escape_quote(&out, code);
	str_puts(&out, "}}");
	app_reply_json(q, status, &out);
}

void
openai_fault(struct http_req *q, const struct ask_fault *f)
{
	openai_refuse(q, 400, f->code, f->param, f->text);
}

/* clang-format off */
static const struct {
	int status;
	const char *code;
} errors[ERR_CODES] = {
	[ERR_SYS]     = { 500, "server_error" },
	[ERR_INVALID] = { 400, "invalid_value" },
	[ERR_DENIED]  = { 503, "unavailable" },
	[ERR_MISSING] = { 404, "not_found" },
	[ERR_BUSY]    = { 409, "conflict" },
	[ERR_LIMIT]   = { 429, "rate_limit_exceeded" },
	[ERR_TIMEOUT] = { 504, "timeout" },
	[ERR_PROTO]   = { 502, "server_error" },
};
/* clang-format on */

void
openai_fail(struct http_req *q, const struct err *err)
{
	openai_refuse(q, errors[err->code].status, errors[err->code].code, NULL,
	    err->text);
}

/* ---- asking ---- */

json_t *
openai_body(struct http_req *q)
{
	const uint8_t *body;
	struct err err;
	json_t *v;
	size_t n;

	body = http_req_body(q, &n);
	v = jtext_read(body, n, NULL, &err);
	if (json_is_object(v))
		return v;
	openai_refuse(q, 400, "invalid_json", NULL,
	    v != NULL ? "The body has to be a JSON object."
		      : "The body is no JSON.");
	json_decref(v);
	return NULL;
}

bool
openai_names_agent(struct http_req *q, const char *model)
{
	return model != NULL && *model != '\0' &&
	    engine_find(app_of(q)->engine, model) != NULL;
}

struct deployment *
openai_agent(struct http_req *q, const char *model)
{
	struct engine *e = app_of(q)->engine;
	const char *name = http_req_name(q, "agent");
	struct deployment *d, *first = engine_next(e, NULL);
	char text[160];

	if (*name != '\0') {
		d = engine_find(e, name);
	} else {
		d = openai_names_agent(q, model) ? engine_find(e, model) : NULL;
		/* One agent answers to any name of a model. */
		if (d == NULL &&
		    (model == NULL || *model == '\0' || first == NULL ||
			engine_next(e, first) == NULL))
			d = engine_find(e, "");
	}
	if (d != NULL)
		return d;
	snprintf(text, sizeof text, "There is no agent '%.100s'.",
	    *name != '\0'       ? name
		: model != NULL ? model
				: "");
	openai_refuse(q, 404, "model_not_found", "model", text);
	return NULL;
}

static void
gone(void *d, struct run *run)
{
	deployment_left(d, run);
}

void
openai_sse(struct http_req *q, struct deployment *d, struct run *run,
    struct sse_ask *ask)
{
	*ask = (struct sse_ask){ .loop = app_of(q)->loop,
		.keep_alive_s = KEEP_ALIVE_S,
		.run = run,
		.after = -1,
		.gone = d != NULL ? gone : NULL,
		.arg = d };
}
