/* worker: what it says, line by line. */
#include <inttypes.h>
#include <string.h>
#include "conf/config.h"
#include "engine/line.h"
#include "engine/ring.h"
#include "engine/worker_int.h"
#include "json/jtext.h"
#include "wire/loop.h"

#define BAD_LINES 100
#define UNREAD (64u << 20) /* answers that it does not read */
#define FLOOD (4u << 20)   /* what a paused task may still say */

static void
bad_line(struct worker *w, const struct err *err)
{
	struct err why;

	ring_say(w->conf.log, w->label, "a bad line: %s", err->text);
	if (++w->bad < BAD_LINES)
		return;
	err_set(&why, ERR_PROTO, "it wrote %d bad lines; the last: %.120s",
	    BAD_LINES, err->text);
	worker_die(w, &why);
}

static const char *
member(const json_t *o, const char *name)
{
	return jtext_cstring(json_object_get(o, name));
}

static int
on_ready(struct worker *w, const json_t *o, struct err *err)
{
	json_int_t protocol =
	    json_integer_value(json_object_get(o, "protocol"));

	if (w->state != STARTING)
		return err_set(err, ERR_PROTO, "ready twice");
	if (protocol != WORKER_PROTOCOL) {
		err_set(err, ERR_PROTO, "it speaks protocol %lld, not %d",
		    (long long)protocol, WORKER_PROTOCOL);
		worker_die(w, err);
		return 0;
	}
	watch_stop(w->timer);
	w->state = READY;
	w->ready_once = true;
	ring_say(w->conf.log, w->label, "ready");
	w->conf.ops->ready(w->conf.arg, w, o);
	return 0;
}

static int
on_failed(struct worker *w, const json_t *o, struct err *err)
{
	const char *message = member(o, "message");

	(void)err;
	err_set(&w->why, ERR_SYS, "%.220s",
	    message != NULL ? message : "it can't start");
	worker_die(w, &w->why);
	return 0;
}

static int
on_log(struct worker *w, const json_t *o, struct err *err)
{
	const char *text = member(o, "text"), *level = member(o, "level");

	if (text == NULL)
		return err_set(err, ERR_PROTO, "log: no text");
	ring_say(w->conf.log, w->label, "%.16s%s%.8000s",
	    level != NULL ? level : "", level != NULL ? ": " : "", text);
	return 0;
}

static int
on_ask(struct worker *w, const json_t *o, struct err *err)
{
	json_int_t ask = json_integer_value(json_object_get(o, "ask"));
	json_int_t run = json_integer_value(json_object_get(o, "run"));

	if (ask <= 0)
		return err_set(err, ERR_PROTO, "ask: not a positive number");
	if (w->out.len - w->out_at > UNREAD) {
		err_set(err, ERR_LIMIT, "it asks, and reads no answers");
		worker_die(w, err);
		return 0;
	}
	if (w->conf.ops->ask != NULL)
		w->conf.ops->ask(w->conf.arg, w, (uint64_t)ask,
		    run > 0 ? worker_task(w, (uint64_t)run) : NULL, o);
	else
		worker_result(w, (uint64_t)ask, NULL, "unavailable",
		    "there is no such service");
	return 0;
}

static int
on_op(struct worker *w, const json_t *o, struct err *err)
{
	static const struct {
		const char *op;
		int (*on)(struct worker *, const json_t *, struct err *);
	} rows[] = {
		{ "ready", on_ready },
		{ "failed", on_failed },
		{ "log", on_log },
		{ "ask", on_ask },
	};
	const char *op = member(o, "op");

	for (size_t i = 0; op != NULL && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].op, op) == 0)
			return rows[i].on(w, o, err);
	return err_set(err, ERR_PROTO, "%.40s: no such op",
	    op != NULL ? op : "(none)");
}

/* A canceled one is over when the worker says so; the rest is not heard. */
static void
on_canceled(struct task *t, const struct line *l)
{
	const char *op = l->rest != NULL ? member(l->rest, "op") : NULL;

	if (op != NULL && (strcmp(op, "end") == 0 || strcmp(op, "reply") == 0))
		task_over(t);
}

static void
flooded(struct task *t)
{
	const struct task_ops *ops = t->ops;
	void *arg = t->arg;
	struct err why;

	err_set(&why, ERR_DENIED, /* the worker lives on */
	    "its readers are slow, and it went on all the same");
	task_cancel(t);
	ops->gone(arg, &why);
}

static int
on_task(struct worker *w, const struct line *l, size_t n, struct err *err)
{
	struct task *t = worker_task(w, l->run);
	int r;

	if (t == NULL)
		return err_set(err, ERR_PROTO, "%" PRIu64 ": no such run",
		    l->run);
	if (t->ops == NULL) {
		on_canceled(t, l);
		return 0;
	}
	r = t->ops->line(t->arg, l, err);
	if (r == 1 && t->ops != NULL)
		task_over(t);
	if (r == 1) /* or it was canceled by it: its end is waited for */
		return 0;
	if (t->ops != NULL && t->paused && (t->flood += n) > FLOOD)
		flooded(t);
	return r;
}

static void
on_line(struct worker *w, const char *text, size_t n)
{
	struct line l;
	struct err err;
	const char *op;
	int r;

	if (n > 0 && text[n - 1] == '\r')
		n--;
	if (n == 0)
		return;
	if (line_read(&l, text, n, &w->scratch, &err) < 0) {
		bad_line(w, &err);
		return;
	}
	op = l.rest != NULL ? member(l.rest, "op") : NULL;
	if (l.run != 0 && (op == NULL || strcmp(op, "ask") != 0))
		r = on_task(w, &l, n, &err);
	else
		r = on_op(w, l.rest, &err);
	json_decref(l.rest);
	if (r < 0)
		bad_line(w, &err);
}

void
worker_bytes(struct worker *w, const char *at, size_t n)
{
	const char *end = at + n, *nl;
	struct err why;

	while (w->state != DYING &&
	    (nl = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		if (w->in.len > 0) {
			str_add(&w->in, at, (size_t)(nl - at));
			on_line(w, w->in.at, w->in.len);
			str_cut(&w->in, 0);
		} else {
			on_line(w, at, (size_t)(nl - at));
		}
		at = nl + 1;
	}
	if (w->state == DYING)
		return;
	str_add(&w->in, at, (size_t)(end - at));
	if (w->in.len > w->conf.config->worker_line) {
		err_set(&why, ERR_LIMIT,
		    "it wrote a line of more than %" PRIu64
		    " bytes (worker_line)",
		    w->conf.config->worker_line);
		worker_die(w, &why);
	}
}
