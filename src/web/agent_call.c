#include "web/agent_call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/call.h"
#include "engine/deployment.h"
#include "json/jtext.h"
#include "web/agent.h"
#include "web/agent_task.h"
#include "web/answer.h"
#include "web/app.h"
#include "web/http.h"

#define RESULT_MAX (8u << 20) /* of a task */

/* ---- which one is meant ---- */

/*
 * "/items/{id}" and "/files/{name:path}": a name in braces is a segment, or
 * with ":path" all the rest.
 */
static bool
fits(const char *pattern, const char *path)
{
	while (*pattern != '\0' && *path != '\0') {
		const char *end = *pattern == '{' ? strchr(pattern, '}') : NULL;

		if (end == NULL) {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		if (*path == '/')
			return false;
		if (end - pattern > 5 && strncmp(end - 5, ":path", 5) == 0)
			return true;
		path += strcspn(path, "/");
		pattern = end + 1;
	}
	return *pattern == *path;
}

static bool
has_method(const json_t *endpoint, const char *method)
{
	const json_t *list = json_object_get(endpoint, "methods"), *v;
	size_t i;

	if (!json_is_array(list))
		return strcmp(method, "POST") == 0;
	json_array_foreach(list, i, v) {
		const char *name = jtext_cstring(v);

		if (name != NULL && strcmp(name, method) == 0)
			return true;
	}
	return false;
}

static const char *
text(const json_t *o, const char *name)
{
	const char *s = jtext_cstring(json_object_get(o, name));

	return s != NULL ? s : "";
}

static bool
is_task(const json_t *endpoint)
{
	return strcmp(text(endpoint, "kind"), "task") == 0;
}

/* ---- the request ---- */

struct calling {
	struct http_req *q;      /* NULL: it has left, or it is a task's */
	struct agent_task *task; /* NULL: a plain endpoint's */
	struct agent_call *call; /* NULL: over */
	int status;
	bool started, paused;
	struct str result; /* of a task */
};

static json_t *
headers_of(const struct http_req *q)
{
	/* What an endpoint may want; the rest is between client and us. */
	static const char *const names[] = { "content-type", "accept",
		"user-agent", "x-request-id", "traceparent", "tracestate",
		"accept-language", "cookie", "last-event-id", "origin" };
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = http_req_header(q, names[i]);

		if (value != NULL)
			json_object_set_new(o, names[i], json_string(value));
	}
	return o;
}

static struct agent_call *
ask(struct http_req *q, struct deployment *d, const char *name,
    const char *path, const struct call_ops *ops, void *arg, struct err *err)
{
	struct call_ask what = { .name = name,
		.method = http_method_name(http_req_method(q)),
		.path = path,
		.query = http_req_query(q) };
	json_t *headers = headers_of(q);
	struct agent_call *c;

	what.headers = headers;
	what.body = http_req_body(q, &what.n);
	c = deployment_call(d, &what, ops, arg, err);
	json_decref(headers);
	return c;
}

/* ---- a plain one ---- */

static void
put_headers(struct http_req *q, const json_t *headers)
{
	/* Framing and CORS are ours. */
	static const char *const ours[] = { "content-length", "content-type",
		"transfer-encoding", "connection", "date", "keep-alive",
		"upgrade", "trailer" };
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)headers, name, v) {
		const char *value = jtext_cstring(v);
		bool bad = value == NULL || strlen(name) > 100 ||
		    strlen(value) > 4096 || *name == '\0' ||
		    strncasecmp(name, "access-control-", 15) == 0;

		for (const char *c = name; *c != '\0' && !bad; c++)
			bad = !isalnum((unsigned char)*c) && *c != '-' &&
			    *c != '_';
		for (const char *c = value; !bad && *c != '\0'; c++)
			bad = (unsigned char)*c < ' ' || *c == 0x7f;
		for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
			bad = bad || strcasecmp(ours[i], name) == 0;
		if (!bad)
			http_reply_header(q, name, value);
	}
}

static bool
type_ok(const char *type)
{
	for (const char *c = type; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			return false;
	return *type != '\0' && strlen(type) <= 200;
}

static void
start(void *arg, int status, const char *type, const json_t *headers)
{
	struct calling *c = arg;

	c->started = true;
	c->status = status;
	if (json_is_object(headers))
		put_headers(c->q, headers);
	if (strcmp(type, "text/event-stream") == 0)
		type = "text/event-stream; charset=utf-8";
	http_reply_start(c->q, status, type_ok(type) ? type : NULL,
	    status == 204 || status == 304 ? 0 : -1);
}

static void
drained(struct http_req *q)
{
	struct calling *c = http_req_data(q);

	if (c->paused && c->call != NULL)
		agent_call_pause(c->call, false);
	c->paused = false;
}

static void
data(void *arg, const void *bytes, size_t n)
{
	struct calling *c = arg;

	http_reply_write(c->q, bytes, n);
	if (!c->paused && http_reply_backlog(c->q) >= APP_OUT_HIGH) {
		c->paused = true;
		agent_call_pause(c->call, true);
		http_reply_on_drained(c->q, drained);
	}
}

static void
end(void *arg, const struct err *why)
{
	struct calling *c = arg;

	c->call = NULL;
	if (why == NULL)
		http_reply_end(c->q);
	else if (c->started)
		http_reply_abort(c->q);
	else
		http_reply_detail(c->q, 502, why->text);
}

static const struct call_ops ops = { start, data, end };

static void
closed(struct http_req *q)
{
	struct calling *c = http_req_data(q);

	agent_call_cancel(c->call);
	free(c);
}

static void
endpoint(struct http_req *q, struct deployment *d, const json_t *e,
    const char *path)
{
	struct calling *c = xcalloc(1, sizeof *c);
	struct err err;

	c->q = q;
	http_req_set_data(q, c);
	http_req_on_closed(q, closed);
	c->call = ask(q, d, text(e, "name"), path, &ops, c, &err);
	if (c->call == NULL)
		agent_fail(q, &err);
}

/* ---- a task ---- */

static void
task_start(void *arg, int status, const char *type, const json_t *headers)
{
	struct calling *c = arg;

	(void)type;
	(void)headers;
	c->status = status;
}

static void
task_data(void *arg, const void *bytes, size_t n)
{
	struct calling *c = arg;

	if (c->result.len <= RESULT_MAX)
		str_add(&c->result, bytes, n);
}

static void
put_reason(struct str *out, const struct calling *c, const struct err *why)
{
	json_t *o = jtext_read(str_text(&c->result), c->result.len, NULL,
	    &(struct err){ 0 });
	const char *detail = jtext_cstring(json_object_get(o, "detail"));

	if (why != NULL)
		jtext_quote_text(out, why->text);
	else if (detail != NULL)
		jtext_quote_text(out, detail);
	else
		jtext_quote(out, str_text(&c->result), c->result.len);
	json_decref(o);
}

static void
task_end(void *arg, const struct err *told)
{
	struct calling *c = arg;
	auto_str struct str reason = { 0 };
	struct err why;

	if (told == NULL && c->result.len > RESULT_MAX) {
		err_set(&why, ERR_LIMIT, "its result is too large");
		told = &why;
	}
	if (told == NULL && c->status < 400) {
		agent_task_end(c->task, "finished",
		    c->result.len > 0 ? str_text(&c->result) : "null");
	} else {
		put_reason(&reason, c, told);
		agent_task_end(c->task, "error", str_text(&reason));
	}
	str_free(&c->result);
	free(c);
}

static const struct call_ops task_ops = { task_start, task_data, task_end };

static void
submit(struct http_req *q, struct deployment *d, const json_t *e,
    const char *path)
{
	const char *queue = text(e, "queue");
	struct calling *c;
	struct str out = { 0 };
	struct err err;
	json_t *body = answer_body(q);

	if (body == NULL)
		return;
	json_decref(body);
	if (*queue == '\0')
		queue = "celery"; /* upstream's word for none */
	c = xcalloc(1, sizeof *c);
	c->task = agent_task_begin(q, d, queue);
	if (c->task == NULL) {
		free(c);
		return;
	}
	str_puts(&out, "{\"task_id\":");
	jtext_quote_text(&out, agent_task_id(c->task));
	c->call = ask(q, d, text(e, "name"), path, &task_ops, c, &err);
	if (c->call == NULL) {
		auto_str struct str reason = { 0 };

		jtext_quote_text(&reason, err.text);
		agent_task_end(c->task, "error", str_text(&reason));
		free(c);
		str_free(&out);
		agent_fail(q, &err);
		return;
	}
	str_puts(&out, ",\"status\":\"submitted\",\"queue\":");
	jtext_quote_text(&out, queue);
	str_puts(&out, ",\"message\":");
	{
		auto_free char *message =
		    xasprintf("Task %s submitted to queue %s",
			agent_task_id(c->task), queue);

		jtext_quote_text(&out, message);
	}
	str_putc(&out, '}');
	agent_task_started(c->task);
	app_reply_json(q, 200, &out);
}

/* ---- which ---- */

static bool
task_status(struct http_req *q, struct deployment *d, const json_t *e,
    const char *path)
{
	const char *own = text(e, "path");
	size_t n = strlen(own);

	if (!is_task(e) || strncmp(path, own, n) != 0 || path[n] != '/' ||
	    path[n + 1] == '\0' || strchr(path + n + 1, '/') != NULL ||
	    http_req_method(q) != HTTP_GET)
		return false;
	agent_task_status(q, d, path + n + 1);
	return true;
}

bool
agent_call(struct http_req *q, struct deployment *d, const char *path)
{
	const char *method = http_method_name(http_req_method(q));
	const json_t *list = deployment_endpoints(d), *e;
	bool named = false;
	size_t i;

	json_array_foreach(list, i, e) {
		if (task_status(q, d, e, path))
			return true;
		if (!fits(text(e, "path"), path))
			continue;
		named = true;
		if (!has_method(e, method))
			continue;
		if (is_task(e))
			submit(q, d, e, path);
		else
			endpoint(q, d, e, path);
		return true;
	}
	if (named)
		http_reply_detail(q, 405, "Method Not Allowed");
	return named;
}
