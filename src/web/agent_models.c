/* GET /v1/models: the agents, as models. */
#include <stdio.h>
#include "base/clock.h"
#include "base/str.h"
#include "engine/deployment.h"
#include "engine/engine.h"
#include "engine/escape.h"
#include "web/agent_openai.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"

static void
put_model(struct str *out, const struct app *app, const struct deployment *d)
{
	int64_t since =
	    (int64_t)clock_unix() - (clock_ms() - app->started_ms) / 1000;

	str_puts(out, "{\"id\":");
	escape_quote(out, deployment_name(d));
	str_printf(out,
	    ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"hutch\"}",
	    (long long)since);
}

/* Below /agents/NAME there is that one alone. */
int
agent_models(struct http_req *q, struct err *unused)
{
	const struct app *app = app_of(q);
	struct deployment *d = NULL;
	struct str out = { 0 };
	bool any = false;

	(void)unused;
	if (*http_req_name(q, "agent") != '\0') {
		d = openai_agent(q, NULL);
		if (d == NULL)
			return 0;
		str_puts(&out, "{\"object\":\"list\",\"data\":[");
		put_model(&out, app, d);
	} else {
		str_puts(&out, "{\"object\":\"list\",\"data\":[");
		while ((d = engine_next(app->engine, d)) != NULL) {
			if (any)
				str_putc(&out, ',');
			any = true;
			put_model(&out, app, d);
		}
	}
	str_puts(&out, "]}");
	app_reply_json(q, 200, &out);
	return 0;
}

int
agent_model(struct http_req *q, struct err *unused)
{
	const struct app *app = app_of(q);
	const char *name = http_req_name(q, "model");
	struct deployment *d = engine_find(app->engine, name);
	struct str out = { 0 };
	char text[160];

	(void)unused;
	if (d == NULL || *name == '\0') {
		snprintf(text, sizeof text, "There is no agent '%.100s'.",
		    name);
		openai_refuse(q, 404, "model_not_found", "model", text);
		return 0;
	}
	put_model(&out, app, d);
	app_reply_json(q, 200, &out);
	return 0;
}
