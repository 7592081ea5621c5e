#include "engine/call.h"

#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "base/utf8.h"
#include "conf/config.h"
#include "engine/inner.h"
#include "engine/line.h"
#include "json/jtext.h"

struct agent_call {
	struct deployment *d;
	struct task *task;
	const struct call_ops *ops;
	void *arg;
	bool started;
};

static void
call_free(struct agent_call *c)
{
	struct engine *e = c->d->e;

	c->d->ncalls--;
	e->njobs--;
	free(c);
	engine_check_drained(e);
}

static void
over(struct agent_call *c, const struct err *why)
{
	const struct call_ops *ops = c->ops;
	void *arg = c->arg;

	call_free(c);
	ops->end(arg, why);
}

/* ---- base64 ---- */

static int
digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;

	return at != NULL ? (int)(at - digits) : -1;
}

static int
decode(struct str *out, const char *text, struct err *err)
{
	unsigned bits = 0, have = 0;

	for (; *text != '\0' && *text != '='; text++) {
		int v = digit(*text);

		if (v < 0)
			return err_set(err, ERR_PROTO, "it is no base64");
		bits = bits << 6 | (unsigned)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			str_putc(out, (char)(bits >> have & 0xff));
		}
	}
	return 0;
}

static void
encode(struct str *out, const void *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i += 3) {
		unsigned left = n - i < 3 ? (unsigned)(n - i) : 3;
		unsigned v = (unsigned)b[i] << 16;

		if (left > 1)
			v |= (unsigned)b[i + 1] << 8;
		if (left > 2)
			v |= b[i + 2];
		for (unsigned k = 0; k < 4; k++)
			str_putc(out,
			    k <= left ? digits[v >> (18 - 6 * k) & 63] : '=');
	}
}

/* ---- what comes back ---- */

static int
status_of(const json_t *o, struct err *err)
{
	const json_t *v = json_object_get(o, "status");
	json_int_t n = json_integer_value(v);

	if (v == NULL)
		return 200;
	if (n < 200 || n > 599)
		return err_set(err, ERR_PROTO, "status: not from 200 to 599");
	return (int)n;
}

static int
start(struct agent_call *c, const json_t *o, struct err *err)
{
	const char *type = jtext_cstring(json_object_get(o, "type"));
	int status = status_of(o, err);

	if (c->started)
		return err_set(err, ERR_PROTO, "it has been started");
	if (status < 0)
		return -1;
	c->started = true;
	c->ops->start(c->arg, status, type != NULL ? type : "",
	    json_object_get(o, "headers"));
	return 0;
}

/* Bytes of either member; text's mark is taken off. */
static int
piece(struct agent_call *c, const json_t *o, const char *text,
    const char *coded, struct err *err)
{
	auto_str struct str bytes = { 0 };
	const char *base64 = jtext_cstring(json_object_get(o, coded));
	size_t n = 0;
	const char *plain = jtext_string(json_object_get(o, text), &n);

	if (!c->started)
		return err_set(err, ERR_PROTO, "it has not been started");
	if (base64 != NULL && decode(&bytes, base64, err) < 0)
		return -1;
	if (plain != NULL)
		str_add(&bytes, plain, n);
	if (bytes.len > 0)
		c->ops->data(c->arg, bytes.at, bytes.len);
	return 0;
}

static int
on_reply(struct agent_call *c, const json_t *o, struct err *err)
{
	if (start(c, o, err) < 0 || piece(c, o, "body", "body64", err) < 0)
		return -1;
	over(c, NULL);
	return 1;
}

static int
on_start(struct agent_call *c, const json_t *o, struct err *err)
{
	return start(c, o, err);
}

static int
on_data(struct agent_call *c, const json_t *o, struct err *err)
{
	return piece(c, o, "text", "data64", err);
}

static int
on_end(struct agent_call *c, const json_t *o, struct err *err)
{
	const char *status = jtext_cstring(json_object_get(o, "status"));
	struct err why;

	(void)err;
	if (c->started &&
	    (status == NULL || strcmp(status, "completed") == 0)) {
		over(c, NULL);
		return 1;
	}
	err_set(&why, ERR_SYS, "the endpoint ended %s",
	    c->started ? "before its answer was whole" : "without an answer");
	over(c, &why);
	return 1;
}

static int
on_line(void *arg, const struct line *l, struct err *err)
{
	static const struct {
		const char *op;
		int (*on)(struct agent_call *, const json_t *, struct err *);
	} rows[] = {
		{ "reply", on_reply },
		{ "start", on_start },
		{ "data", on_data },
		{ "end", on_end },
	};
	const char *op = l->rest != NULL
	    ? jtext_cstring(json_object_get(l->rest, "op"))
	    : NULL;

	for (size_t i = 0; op != NULL && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].op, op) == 0)
			return rows[i].on(arg, l->rest, err);
	return err_set(err, ERR_PROTO, "no answer to a call");
}

static void
on_gone(void *arg, const struct err *told)
{
	struct agent_call *c = arg;
	struct err why = *told;

	err_wrap(&why, "the agent's process is gone");
	over(c, &why);
}

static const struct task_ops task_ops = { on_line, on_gone };

/* ---- asking ---- */

static void
put(struct str *out, const char *name, const char *text)
{
	str_printf(out, ",\"%s\":", name);
	jtext_quote_text(out, text);
}

static void
put_call(struct str *out, const struct call_ask *ask)
{
	put(out, "name", ask->name);
	put(out, "method", ask->method);
	put(out, "path", ask->path);
	put(out, "query", ask->query);
	str_puts(out, ",\"headers\":");
	jtext_write(out, ask->headers);
	if (utf8_span(ask->body, ask->n) == ask->n) {
		str_puts(out, ",\"body\":");
		jtext_quote(out, ask->body, ask->n);
		return;
	}
	str_puts(out, ",\"body64\":\"");
	encode(out, ask->body, ask->n);
	str_putc(out, '"');
}

struct agent_call *
deployment_call(struct deployment *d, const struct call_ask *ask,
    const struct call_ops *ops, void *arg, struct err *err)
{
	auto_str struct str rest = { 0 };
	struct worker *w = fleet_pick(d);
	struct agent_call *c;

	if (d->stopping || d->e->draining) {
		err_set(err, ERR_DENIED, "the agent is being stopped");
		return NULL;
	}
	if (d->ncalls >= d->e->conf.config->agent_runs) {
		err_set(err, ERR_LIMIT, "the agent has %u calls already",
		    d->ncalls);
		return NULL;
	}
	if (w == NULL) {
		err_set(err, ERR_DENIED, "the agent is not ready");
		return NULL;
	}
	c = xcalloc(1, sizeof *c);
	c->d = d;
	c->ops = ops;
	c->arg = arg;
	d->ncalls++;
	d->e->njobs++;
	put_call(&rest, ask);
	c->task = worker_ask(w, "call", &rest, &task_ops, c);
	task_for(c->task, d->tenant); /* it asks for the agent itself */
	return c;
}

void
agent_call_cancel(struct agent_call *c)
{
	if (c == NULL)
		return;
	task_cancel(c->task);
	call_free(c);
}

void
agent_call_pause(struct agent_call *c, bool on)
{
	task_pause(c->task, on);
}
