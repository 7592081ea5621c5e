#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/work.h"
#include "wire/loop.h"

/* More than the cap that an honest agent keeps, for its marker. */
#define SLACK 4096
/* The agent answers in time by itself; when it doesn't, we do. */
#define GRACE_MS 1000

struct work {
	struct work_request want;
	struct guest_arg args[WORK_ARGS + 1];
	work_fn *fn;
	void *arg;
	struct wait *wait;
	struct watch *late;
	struct sandbox *sandbox; /* held */
	struct guest_call *call;
	struct work_outcome got;
	size_t cap;
	size_t sent; /* of the input */
	bool told;   /* that it has ended */
};

int64_t
work_patience_ms(const struct app *a)
{
	int64_t all = (int64_t)a->config->timeout * 1000;

	return all > 4000 ? all - 2000 : all / 2;
}

static void
end(struct work *w)
{
	if (w->wait != NULL)
		manager_forget(w->wait);
	if (w->call != NULL)
		guest_detach(w->call);
	watch_free(w->late);
	if (w->sandbox != NULL)
		sandbox_drop(w->sandbox);
	str_free(&w->got.out);
	str_free(&w->got.errs);
	free(w);
}

static void
tell(struct work *w)
{
	w->got.sandbox = w->sandbox;
	w->got.waited_s =
	    (unsigned)((clock_ms() - w->want.started_ms + 500) / 1000);
	w->fn(w->arg, &w->got);
	end(w);
}

/* ---- what the tool says ---- */

static void
output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct work *w = arg;
	struct str *to = stream == 2 ? &w->got.errs : &w->got.out;
	size_t room = w->cap + SLACK - to->len;

	/* The agent keeps to the cap; one that doesn't can't fill us. */
	if (n > 0 && room > 0)
		str_add(to, b, n < room ? n : room);
	guest_took(w->call, n);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct work *w = arg;

	w->call = NULL;
	w->got.tool_err = d->err;
	w->got.running = d->running;
	w->got.has_exit = d->has_exit;
	w->got.exit = d->exit;
	w->got.cut = d->cut_out;
	tell(w);
}

static void
entry(void *arg, const struct guest_entry *e)
{
	struct work *w = arg;

	if (w->want.entry != NULL)
		w->want.entry(w->arg, e);
}

/* As much of the input as it may take now. */
static void
room(void *arg)
{
	struct work *w = arg;
	size_t left = w->want.input_len - w->sent, n;

	if (w->want.input == NULL || w->call == NULL || w->told)
		return;
	n = guest_room(w->call);
	n = n < left ? n : left;
	if (n > 0)
		guest_input(w->call, (const char *)w->want.input + w->sent, n);
	w->sent += n;
	if (w->sent == w->want.input_len) {
		w->told = true;
		guest_input_end(w->call);
	}
}

static const struct guest_sink sink = { .output = output,
	.entry = entry,
	.room = room,
	.done = done };

static void
too_late(void *arg, int what)
{
	struct work *w = arg;
	struct err err;

	(void)what;
	if (w->call == NULL) {
		err_set(&err, ERR_TIMEOUT, "the sandbox was not ready in time");
		w->got.err = &err;
	} else
		w->got.running = true;
	tell(w);
}

/* ---- from the sandbox to the call ---- */

static uint32_t
work_ms(const struct work *w)
{
	const struct config *c = w->want.app->config;
	const struct conf_type *t =
	    conf_type_find(c, sandbox_record(w->sandbox)->type);

	if (w->want.work_ms > 0)
		return w->want.work_ms;
	return t != NULL ? t->work_timeout * 1000 : 0;
}

static int
call(struct work *w, struct err *err)
{
	struct guest *g = sandbox_guest(w->sandbox);
	int64_t left =
	    clock_left(w->want.started_ms + work_patience_ms(w->want.app));
	struct guest_request r = {
		.tool = w->want.tool,
		.arg = w->want.arg,
		.answer_ms = left > 0 ? (uint32_t)left : 1,
		.work_ms = work_ms(w),
		.cap = (uint32_t)w->cap,
		.sink = &sink,
		.sink_arg = w,
	};

	if (g == NULL)
		return err_set(err, ERR_BUSY, "the sandbox has ended");
	w->call = guest_call(g, &r, err);
	if (w->call == NULL)
		return -1;
	room(w);
	return 0;
}

static void
warmed(void *arg, struct sandbox *sb, const struct err *err)
{
	struct work *w = arg;
	struct err why;

	w->wait = NULL;
	if (sb == NULL) {
		w->got.err = err;
		tell(w);
	} else if (call(w, &why) < 0) {
		w->got.err = &why;
		tell(w);
	}
}

/* An interpreter joins what is complete. */
static bool
is_cell(const struct work *w)
{
	return strcmp(w->want.tool, "run_ipython_cell") == 0;
}

static void
ready(void *arg, struct sandbox *sb, const struct err *err)
{
	struct work *w = arg;
	struct err why;

	w->wait = NULL;
	if (sb == NULL) {
		w->got.err = err;
		tell(w);
		return;
	}
	sandbox_hold(sb);
	w->sandbox = sb;
	if (is_cell(w))
		w->wait = manager_warm(w->want.app->manager, sb, warmed, w);
	if (w->wait == NULL && call(w, &why) < 0) {
		w->got.err = &why;
		tell(w);
	}
}

struct work *
work_start(const struct work_request *r, work_fn *fn, void *arg,
    struct err *err)
{
	struct work *w = xcalloc(1, sizeof *w);
	const struct config *c = r->app->config;

	w->want = *r;
	for (size_t i = 0; i < WORK_ARGS && r->arg[i].name != NULL; i++)
		w->args[i] = r->arg[i];
	w->want.arg = w->args;
	w->fn = fn;
	w->arg = arg;
	w->cap = r->cap > 0 ? r->cap : c->output_cap;
	w->wait = is_cell(w) ? manager_ready(r->app->manager, r->tenant,
				   r->identity, false, ready, w, err)
			     : manager_reach(r->app->manager, r->tenant,
				   r->identity, ready, w, err);
	if (w->wait == NULL) {
		free(w);
		return NULL;
	}
	w->late = watch_timer(r->app->loop, too_late, w);
	watch_arm(w->late,
	    clock_left(r->started_ms + work_patience_ms(r->app)) + GRACE_MS);
	return w;
}

void
work_forget(struct work *w)
{
	end(w);
}
