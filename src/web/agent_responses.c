/* /v1/responses: OpenAI's Responses API before an agent. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "base/uuid.h"
#include "engine/ask.h"
#include "engine/deployment.h"
#include "engine/escape.h"
#include "engine/feed.h"
#include "engine/reply_responses.h"
#include "engine/run.h"
#include "web/agent_openai.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/http.h"
#include "web/shelf.h"
#include "web/sse.h"

/* ---- one request ---- */

struct create {
	struct http_req *q;
	struct shelf *shelf;
	const char *tenant;
	struct deployment *d;
	json_t *body, *history, *request;
	bool stream, background, store;
	struct ask_fault fault;
};

static bool
says(const json_t *body, const char *name, bool otherwise)
{
	const json_t *v = json_object_get(body, name);

	return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

/* The client's own id, if it is not taken; else one of ours. */
static int
name_it(struct create *c)
{
	const struct shelf_who who = { c->tenant, "" };
	const char *asked = json_string_value(json_object_get(c->body, "id"));
	char uuid[UUID_TEXT];
	auto_str struct str there = { 0 };
	struct err err;

	if (asked == NULL) {
		uuid_put(uuid);
		json_object_set_new(c->request, "id",
		    json_sprintf("resp_%s", uuid));
		return 0;
	}
	if (asked[strspn(asked,
		"abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:")] != '\0')
		return ask_value(&c->fault, "id",
		    "An id is made of letters, digits, '_', '-', '.', ':'.");
	if (shelf_get(c->shelf, &who, asked, &there, &err) == 1)
		return ask_value(&c->fault, "id",
		    "There is a response '%.64s' already.", asked);
	json_object_set_new(c->request, "id", json_string(asked));
	return 0;
}

static int
understand(struct create *c)
{
	if (ask_responses_check(c->body, &c->fault) < 0 ||
	    shelf_resolve(c->shelf, c->tenant, c->body, &c->fault) < 0 ||
	    shelf_history(c->shelf, c->tenant, c->body, &c->history,
		&c->fault) < 0)
		return -1;
	c->request = ask_responses(c->body, c->history, &c->fault);
	if (c->request == NULL || name_it(c) < 0)
		return -1;
	if (openai_names_agent(c->q,
		json_string_value(json_object_get(c->body, "model"))))
		json_object_del(c->request, "model");
	c->stream = says(c->body, "stream", false);
	c->background = says(c->body, "background", false);
	c->store = says(c->body, "store", true);
	return 0;
}

static void
shelve(struct create *c, struct run *run)
{
	struct shelf_ask ask = { .tenant = c->tenant,
		.run = run,
		.conversation = ask_conversation(c->body),
		.background = c->background };

	if (!c->store)
		return;
	ask.input = ask_responses_input(c->body, run_facts(run)->id);
	shelf_add(c->shelf, &ask);
	json_decref(ask.input);
}

/* What a run in the background is answered with: how it stands now. */
static void
reply_now(struct http_req *q, const struct run *run)
{
	struct str out = { 0 };

	responses_print(run_reply(run), run_facts(run), &out);
	app_reply_json(q, 200, &out);
}

static int
answer(struct create *c, struct run *run, struct err *err)
{
	struct sse_ask sse;

	openai_sse(c->q, c->d, run, &sse);
	if (c->stream)
		return sse_stream(c->q, &sse, err);
	if (c->background)
		reply_now(c->q, run);
	else
		sse_whole(c->q, &sse);
	return 0;
}

static int
start(struct create *c, struct err *err)
{
	auto_str struct str echo = { 0 };
	struct responses_ask words = { NULL, c->background };
	struct run_ask ask = { .request = c->request,
		.door = "responses",
		.reply = &reply_responses,
		.reply_arg = &words,
		.tenant = app_tenant(c->q),
		.traceparent = http_req_header(c->q, "traceparent"),
		.stream = c->stream || c->background,
		.keep = c->background ? SHELF_STREAM : 0,
		.on_leave = c->background ? LEAVE_CONTINUE
					  : deployment_on_leave(c->d) };
	struct run *run;
	int rc;

	ask_responses_echo(&echo, c->body);
	words.echo = str_text(&echo);
	run = deployment_run(c->d, &ask, err);
	if (run == NULL)
		return -1;
	shelve(c, run);
	rc = answer(c, run, err);
	run_drop(run);
	return rc;
}

int
agent_responses(struct http_req *q, struct err *unused)
{
	struct create c = { .q = q,
		.shelf = app_of(q)->shelf,
		.tenant = app_tenant_name(app_of(q), app_tenant(q)),
		.body = openai_body(q) };
	struct err err;

	(void)unused;
	if (c.body == NULL)
		return 0;
	c.d = openai_agent(q,
	    json_string_value(json_object_get(c.body, "model")));
	if (c.d == NULL)
		; /* replied */
	else if (understand(&c) < 0)
		openai_fault(q, &c.fault);
	else if (start(&c, &err) < 0)
		openai_fail(q, &err);
	json_decref(c.request);
	json_decref(c.history);
	json_decref(c.body);
	return 0;
}

/* ---- one that was made ---- */

struct one {
	struct shelf *shelf;
	struct shelf_who who;
	const char *id;
};

static struct one
one_of(struct http_req *q)
{
	const struct app *app = app_of(q);

	return (struct one){ app->shelf,
		{ app_tenant_name(app, app_tenant(q)),
		    http_req_name(q, "agent") },
		http_req_name(q, "id") };
}

/* n <= 0, as the shelf has it. */
static int
not_there(struct http_req *q, int n, const char *id, const struct err *err)
{
	char text[160];

	if (n < 0) {
		openai_fail(q, err);
		return 0;
	}
	snprintf(text, sizeof text, "There is no response '%.100s'.", id);
	openai_refuse(q, 404, "not_found", "response_id", text);
	return 0;
}

static int
reply_one(struct http_req *q, const struct one *o)
{
	struct str out = { 0 };
	struct err err;
	int n = shelf_get(o->shelf, &o->who, o->id, &out, &err);

	if (n <= 0) {
		str_free(&out);
		return not_there(q, n, o->id, &err);
	}
	app_reply_json(q, 200, &out);
	return 0;
}

/* Its stream, again or from a number on. */
static int
replay(struct http_req *q, const struct one *o)
{
	struct run *run = shelf_run(o->shelf, &o->who, o->id);
	const char *after = http_req_param(q, "starting_after");
	char *end = NULL;
	struct sse_ask sse;
	auto_str struct str there = { 0 };
	struct err err;
	int n;

	openai_sse(q, NULL, run, &sse);
	sse.after = sse_last_id(q);
	if (after != NULL)
		sse.after = strtoll(after, &end, 10);
	if (end != NULL && (*end != '\0' || *after < '0' || *after > '9')) {
		openai_refuse(q, 400, "invalid_value", "starting_after",
		    "'starting_after' has to be a sequence number.");
		return 0;
	}
	if (run != NULL && sse_stream(q, &sse, &err) == 0)
		return 0;
	n = shelf_get(o->shelf, &o->who, o->id, &there, &err);
	if (n <= 0)
		return not_there(q, n, o->id, &err);
	openai_refuse(q, 400, "invalid_value", "stream",
	    "Only what runs in the background, or has just done so, has a "
	    "stream to be read again, and these events of it are not kept.");
	return 0;
}

int
agent_response(struct http_req *q, struct err *unused)
{
	struct one o = one_of(q);
	const char *stream = http_req_param(q, "stream");

	(void)unused;
	if (stream != NULL &&
	    (strcmp(stream, "true") == 0 || strcmp(stream, "1") == 0))
		return replay(q, &o);
	return reply_one(q, &o);
}

int
agent_response_delete(struct http_req *q, struct err *unused)
{
	struct one o = one_of(q);
	struct str out = { 0 };
	struct err err;
	int n = shelf_delete(o.shelf, &o.who, o.id, &err);

	(void)unused;
	if (n <= 0)
		return not_there(q, n, o.id, &err);
	str_puts(&out, "{\"id\":");
	escape_quote(&out, o.id);
	str_puts(&out, ",\"object\":\"response\",\"deleted\":true}");
	app_reply_json(q, 200, &out);
	return 0;
}

/* Whatever it has come to by then is the answer, the second time as well. */
int
agent_response_cancel(struct http_req *q, struct err *unused)
{
	struct one o = one_of(q);
	struct run *run = shelf_run(o.shelf, &o.who, o.id);

	(void)unused;
	if (run != NULL && !run_over(run))
		run_stop(run, RUN_CANCELED, NULL, "a client has asked for it");
	return reply_one(q, &o);
}

/* ---- its input ---- */

struct page {
	bool ascending;
	size_t limit;
	const char *after;
};

static int
page_of(struct http_req *q, struct page *p)
{
	const char *order = http_req_param(q, "order"),
		   *limit = http_req_param(q, "limit");
	char *end;

	*p = (struct page){ false, 20, http_req_param(q, "after") };
	if (order != NULL && strcmp(order, "asc") != 0 &&
	    strcmp(order, "desc") != 0) {
		openai_refuse(q, 400, "invalid_value", "order",
		    "'order' is one of asc, desc.");
		return -1;
	}
	p->ascending = order != NULL && *order == 'a';
	if (limit == NULL)
		return 0;
	p->limit = strtoul(limit, &end, 10);
	if (*limit >= '0' && *limit <= '9' && *end == '\0' && p->limit >= 1 &&
	    p->limit <= 100)
		return 0;
	openai_refuse(q, 400, "invalid_value", "limit",
	    "'limit' is a number from 1 to 100.");
	return -1;
}

static const char *
id_at(const json_t *items, size_t i)
{
	return json_string_value(
	    json_object_get(json_array_get(items, i), "id"));
}

static void
put_page(struct str *out, const json_t *items, const struct page *p)
{
	size_t n = json_array_size(items), at = 0, last, from;
	const char *id;

	for (size_t i = 0; p->after != NULL && i < n; i++) {
		id = id_at(items, p->ascending ? i : n - 1 - i);
		if (id != NULL && strcmp(id, p->after) == 0)
			at = i + 1;
	}
	from = at;
	str_puts(out, "{\"object\":\"list\",\"data\":[");
	for (; at < n && at - from < p->limit; at++) {
		if (at > from)
			str_putc(out, ',');
		escape_json(out,
		    json_array_get(items, p->ascending ? at : n - 1 - at));
	}
	last = at > from ? at - 1 : from;
	str_puts(out, "],\"first_id\":");
	escape_quote(out,
	    at > from ? id_at(items, p->ascending ? from : n - 1 - from)
		      : NULL);
	str_puts(out, ",\"last_id\":");
	escape_quote(out,
	    at > from ? id_at(items, p->ascending ? last : n - 1 - last)
		      : NULL);
	str_printf(out, ",\"has_more\":%s}", at < n ? "true" : "false");
}

int
agent_response_input(struct http_req *q, struct err *unused)
{
	struct one o = one_of(q);
	json_t *items = NULL;
	struct str out = { 0 };
	struct page page;
	struct err err;
	int n;

	(void)unused;
	if (page_of(q, &page) < 0)
		return 0;
	n = shelf_input(o.shelf, &o.who, o.id, &items, &err);
	if (n <= 0)
		return not_there(q, n, o.id, &err);
	put_page(&out, items, &page);
	json_decref(items);
	app_reply_json(q, 200, &out);
	return 0;
}
