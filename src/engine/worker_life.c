#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "conf/config.h"
#include "engine/ring.h"
#include "engine/worker_int.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "wire/loop.h"

#define LEAVE_MS 5000       /* from shutdown to its end */
#define FILL_MS 120000      /* a sandbox and all that goes into it */
#define OUT_HIGH (1u << 20) /* it does not read: no more tasks */

/* ---- the end ---- */

static void
task_free(struct task *t)
{
	struct worker *w = t->w;

	TAILQ_REMOVE(&w->bucket[t->number % BUCKETS], t, in_bucket);
	TAILQ_REMOVE(&w->all, t, all);
	if (t->ops == NULL)
		TAILQ_REMOVE(&w->canceled, t, in_canceled);
	w->ntask--;
	free(t);
}

static void
tell_tasks(struct worker *w)
{
	struct task *t;

	while ((t = TAILQ_FIRST(&w->all)) != NULL) {
		const struct task_ops *ops = t->ops;
		void *arg = t->arg;

		task_free(t);
		if (ops != NULL)
			ops->gone(arg, &w->why);
	}
}

static void
over(void *arg)
{
	struct worker *w = arg;

	tell_tasks(w);
	w->conf.ops->ended(w->conf.arg, w, &w->why);
}

void
worker_die(struct worker *w, const struct err *why)
{
	if (w->state == DYING)
		return;
	w->state = DYING;
	w->why = *why;
	ring_say(w->conf.log, w->label, "ended: %s", why->text);
	loop_post(w->conf.box.loop, over, w);
}

void
worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	loop_unpost(w->conf.box.loop, w);
	if (w->state != DYING)
		err_set(&w->why, ERR_BUSY, "the agent is being stopped");
	w->state = DYING;
	tell_tasks(w);
	box_free(w->box);
	watch_free(w->timer);
	watch_free(w->cancel_timer);
	ring_close(w->stderr_log);
	str_free(&w->in);
	str_free(&w->scratch);
	str_free(&w->out);
	free(w);
}

/* ---- to it ---- */

static void
push(void *arg)
{
	struct worker *w = arg;
	size_t n;

	while (w->out_at < w->out.len && (n = box_room(w->box)) > 0) {
		if (n > w->out.len - w->out_at)
			n = w->out.len - w->out_at;
		box_input(w->box, w->out.at + w->out_at, n);
		w->out_at += n;
	}
	if (w->out_at == w->out.len) {
		str_cut(&w->out, 0);
		w->out_at = 0;
	}
}

static void
send_line(struct worker *w, const char *op, uint64_t run,
    const struct str *rest)
{
	str_printf(&w->out, "{\"op\":\"%s\"", op);
	if (run != 0)
		str_printf(&w->out, ",\"run\":%" PRIu64, run);
	if (rest != NULL)
		str_add(&w->out, str_text(rest), rest->len);
	str_puts(&w->out, "}\n");
	push(w);
}

static void
send_init(struct worker *w)
{
	auto_str struct str rest = { 0 };

	str_printf(&rest, ",\"protocol\":%d,\"name\":", WORKER_PROTOCOL);
	jtext_quote_text(&rest, w->conf.name);
	str_puts(&rest, ",\"options\":");
	if (w->conf.options != NULL)
		jtext_write(&rest, w->conf.options);
	else
		str_puts(&rest, "{}");
	send_line(w, "init", 0, &rest);
}

void
worker_result(struct worker *w, uint64_t ask, json_t *value, const char *code,
    const char *message)
{
	auto_str struct str rest = { 0 };

	str_printf(&rest, ",\"ask\":%" PRIu64, ask);
	if (code != NULL) {
		str_puts(&rest, ",\"error\":{\"code\":");
		jtext_quote_text(&rest, code);
		str_puts(&rest, ",\"message\":");
		jtext_quote_text(&rest, message);
		str_putc(&rest, '}');
	} else {
		str_puts(&rest, ",\"value\":");
		if (value != NULL)
			jtext_write(&rest, value);
		else
			str_puts(&rest, "null");
	}
	json_decref(value);
	if (w->state == READY || w->state == STARTING)
		send_line(w, "result", 0, &rest);
}

/* ---- leaving ---- */

static void
maybe_go(struct worker *w)
{
	if (!w->leaving || w->ntask > 0 || w->state != READY)
		return;
	w->state = GOING;
	send_line(w, "shutdown", 0, NULL);
	watch_arm(w->timer, LEAVE_MS);
}

void
worker_leave(struct worker *w)
{
	struct err why;

	if (w->leaving)
		return;
	w->leaving = true;
	if (w->state == STARTING) {
		err_set(&why, ERR_BUSY, "not wanted any more");
		worker_die(w, &why);
	}
	maybe_go(w);
}

static void
late(void *arg, int what)
{
	struct worker *w = arg;
	struct err why;

	(void)what;
	if (w->state == GOING && !w->killed) {
		w->killed = true; /* its end is told by the box */
		box_kill(w->box);
		watch_arm(w->timer, LEAVE_MS);
		return;
	}
	if (w->state == GOING)
		err_set(&why, ERR_TIMEOUT, "it did not leave in time");
	else
		err_set(&why, ERR_TIMEOUT,
		    "it was not ready within %u seconds (init_timeout)",
		    w->conf.config->init_timeout);
	worker_die(w, &why);
}

/* ---- tasks ---- */

struct task *
worker_ask(struct worker *w, const char *op, const struct str *rest,
    const struct task_ops *ops, void *arg)
{
	struct task *t = xcalloc(1, sizeof *t);

	t->w = w;
	t->number = ++w->last;
	t->ops = ops;
	t->arg = arg;
	TAILQ_INSERT_TAIL(&w->bucket[t->number % BUCKETS], t, in_bucket);
	TAILQ_INSERT_TAIL(&w->all, t, all);
	w->ntask++;
	send_line(w, op, t->number, rest);
	return t;
}

struct task *
worker_task(struct worker *w, uint64_t number)
{
	struct task *t;

	TAILQ_FOREACH(t, &w->bucket[number % BUCKETS], in_bucket)
		if (t->number == number)
			return t;
	return NULL;
}

void
task_over(struct task *t)
{
	struct worker *w = t->w;

	task_free(t);
	maybe_go(w);
}

static void
not_canceled(void *arg, int what)
{
	struct worker *w = arg;
	struct task *t = TAILQ_FIRST(&w->canceled);
	struct err why;

	(void)what;
	if (t == NULL)
		return;
	if (clock_left(t->end_by) > 0) {
		watch_arm(w->cancel_timer, clock_left(t->end_by));
		return;
	}
	err_set(&why, ERR_TIMEOUT,
	    "a canceled run was not ended within %u seconds (cancel_timeout)",
	    w->conf.config->cancel_timeout);
	worker_die(w, &why);
}

void
task_cancel(struct task *t)
{
	struct worker *w = t->w;
	int64_t ms = (int64_t)w->conf.config->cancel_timeout * 1000;

	if (t->ops == NULL)
		return;
	t->ops = NULL;
	t->end_by = clock_ms() + ms;
	if (TAILQ_EMPTY(&w->canceled))
		watch_arm(w->cancel_timer, ms);
	TAILQ_INSERT_TAIL(&w->canceled, t, in_canceled);
	if (w->state != DYING)
		send_line(w, "cancel", t->number, NULL);
}

void
task_pause(struct task *t, bool on)
{
	if (t->paused == on || t->ops == NULL)
		return;
	t->paused = on;
	t->flood = 0;
	send_line(t->w, on ? "pause" : "resume", t->number, NULL);
}

void
task_for(struct task *t, int tenant)
{
	t->tenant = tenant;
}

int
task_tenant(const struct task *t)
{
	return t->tenant;
}

static void
output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct worker *w = arg;

	box_took(w->box, n);
	if (stream == 2)
		ring_bytes(w->stderr_log, bytes, n);
	else if (w->state != DYING)
		worker_bytes(w, (const char *)bytes, n);
}

/* ---- its life ---- */

static void
box_ready(void *arg)
{
	struct worker *w = arg;
	struct err why;

	if (w->state == DYING)
		return;
	if (box_run(w->box, &w->conf.program, &why) < 0) {
		worker_die(w, &why);
		return;
	}
	watch_arm(w->timer, (int64_t)w->conf.config->init_timeout * 1000);
	send_init(w);
}

static void
box_ended(void *arg, const struct guest_done *done, const struct err *gone)
{
	struct worker *w = arg;
	struct err why;

	if (gone != NULL)
		why = *gone;
	else if (done->err != NULL && !done->has_exit)
		why = *done->err;
	else if (done->exit < 0)
		err_set(&why, ERR_SYS, "its process was ended by signal %d",
		    -done->exit);
	else if (done->exit == 127 && done->err != NULL)
		why = *done->err;
	else
		err_set(&why, ERR_SYS, "its process ended with status %d",
		    done->exit);
	worker_die(w, &why);
}

static const struct box_ops box_ops = { .ready = box_ready,
	.output = output,
	.room = push,
	.ended = box_ended };

struct worker *
worker_new(const struct worker_conf *conf)
{
	struct worker *w = xcalloc(1, sizeof *w);

	w->conf = *conf;
	w->conf.box.ops = &box_ops;
	w->conf.box.arg = w;
	w->conf.box.agent = conf->name;
	w->conf.program.input = true;
	TAILQ_INIT(&w->all);
	TAILQ_INIT(&w->canceled);
	for (size_t i = 0; i < BUCKETS; i++)
		TAILQ_INIT(&w->bucket[i]);
	snprintf(w->label, sizeof w->label, "worker-%u", conf->number);
	w->stderr_log = ring_open(conf->log, w->label);
	w->started_ms = clock_ms();
	w->timer = watch_timer(conf->box.loop, late, w);
	w->cancel_timer = watch_timer(conf->box.loop, not_canceled, w);
	watch_arm(w->timer,
	    (int64_t)conf->config->init_timeout * 1000 + FILL_MS);
	w->box = box_new(&w->conf.box);
	return w;
}

bool
worker_is_ready(const struct worker *w)
{
	return w->state == READY;
}

bool
worker_was_ready(const struct worker *w)
{
	return w->ready_once;
}

bool
worker_takes(const struct worker *w)
{
	return w->state == READY && !w->leaving &&
	    w->out.len - w->out_at < OUT_HIGH;
}

unsigned
worker_load(const struct worker *w)
{
	return w->ntask;
}

unsigned
worker_number(const struct worker *w)
{
	return w->conf.number;
}

int64_t
worker_started_ms(const struct worker *w)
{
	return w->started_ms;
}

const char *
worker_sandbox(const struct worker *w)
{
	return box_id(w->box);
}

bool
worker_leaves(const struct worker *w)
{
	return w->leaving;
}
