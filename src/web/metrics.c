#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/metrics.h"
#include "wire/broker.h"
#include "wire/loop.h"

#define ASKED_MOST 2000 /* sandboxes whose usage is told */
#define PATIENCE_MS 5000

enum figure { CPU, MEMORY, MEMORY_PEAK, PIDS, OOM, FIGURES };

/* clang-format off */
static const struct {
	const char *name, *type, *help;
} figures[] = {
	[CPU]	      = { "hutch_sandbox_cpu_seconds_total",  "counter", "Processor time of a sandbox." },
	[MEMORY]      = { "hutch_sandbox_memory_bytes",	      "gauge",	 "Memory of a sandbox now, files of a tmpfs included." },
	[MEMORY_PEAK] = { "hutch_sandbox_memory_peak_bytes",  "gauge",	 "The most it has had." },
	[PIDS]	      = { "hutch_sandbox_pids",		      "gauge",	 "Processes and threads of a sandbox." },
	[OOM]	      = { "hutch_sandbox_oom_kills_total",    "counter", "Kills because of its memory limit." },
};
/* clang-format on */

struct one { /* a sandbox whose usage has been asked for */
	struct scrape *of;
	struct wait *wait;
	char id[64], type[32];
	int tenant;
	bool told;
	double value[FIGURES];
};

struct scrape {
	struct http_req *q;
	struct watch *late;
	struct one *one;
	size_t n, open;
};

/* ---- text ---- */

static void
head(struct str *out, const char *name, const char *type, const char *help)
{
	str_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_label(struct str *out, const char *name, const char *value)
{
	str_printf(out, "%s=\"", name);
	for (; *value != '\0'; value++)
		if (*value == '\n')
			str_puts(out, "\\n");
		else if (*value == '"' || *value == '\\')
			str_printf(out, "\\%c", *value);
		else
			str_putc(out, *value);
	str_putc(out, '"');
}

static void
single(struct str *out, const char *name, const char *type, const char *help,
    double value)
{
	head(out, name, type, help);
	str_printf(out, "%s %.15g\n", name, value);
}

static void
put_creations(struct str *out, const struct manager_counts *c)
{
	head(out, "hutch_sandbox_create_seconds", "histogram",
	    "From the request to the agent's word.");
	for (unsigned i = 0; i < MANAGER_BUCKETS; i++)
		str_printf(out,
		    "hutch_sandbox_create_seconds_bucket{le=\"%g\"} %" PRIu64
		    "\n",
		    manager_bucket_ms[i] / 1e3, c->bucket[i]);
	str_printf(out,
	    "hutch_sandbox_create_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
	    "hutch_sandbox_create_seconds_sum %.6f\n"
	    "hutch_sandbox_create_seconds_count %" PRIu64 "\n",
	    c->creates, (double)c->create_us / 1e6, c->creates);
	head(out, "hutch_sandbox_create_step_seconds_total", "counter",
	    "Time that creations took, by step.");
	for (unsigned i = 0; i < MANAGER_STEPS; i++)
		str_printf(out,
		    "hutch_sandbox_create_step_seconds_total{step=\"%s\"} "
		    "%.6f\n",
		    manager_step_name(i), (double)c->step_us[i] / 1e6);
}

static void
put_counts(struct str *out, struct app *a)
{
	struct manager_counts c;

	manager_counts(a->manager, &c);
	head(out, "hutch_sandboxes", "gauge", "Records of sandboxes by state.");
	for (int s = 0; s < REC_STATES; s++)
		str_printf(out, "hutch_sandboxes{state=\"%s\"} %u\n",
		    record_state_name((enum record_state)s), c.by_state[s]);
	head(out, "hutch_pool_sandboxes", "gauge",
	    "Sandboxes made ahead: ready to be taken, and on their way.");
	str_printf(out,
	    "hutch_pool_sandboxes{state=\"warm\"} %u\n"
	    "hutch_pool_sandboxes{state=\"making\"} %u\n",
	    c.pool_warm, c.pool_making);
	single(out, "hutch_sandboxes_created_total", "counter",
	    "Sandboxes that came to be.", (double)c.created);
	single(out, "hutch_sandboxes_failed_total", "counter",
	    "Sandboxes that could not be made.", (double)c.failed);
	single(out, "hutch_sandboxes_reaped_total", "counter",
	    "Ended for idleness.", (double)c.reaped);
	single(out, "hutch_sandboxes_restored_total", "counter",
	    "Made again for an old id.", (double)c.restored);
	single(out, "hutch_sandboxes_released_total", "counter",
	    "Ended because a client said so.", (double)c.released);
	single(out, "hutch_sandboxes_died_total", "counter",
	    "Ended by themselves.", (double)c.died);
	put_creations(out, &c);
}

static void
put_figure(struct str *out, const struct scrape *s, enum figure f)
{
	const struct app *a = app_of(s->q);

	head(out, figures[f].name, figures[f].type, figures[f].help);
	for (size_t i = 0; i < s->n; i++) {
		const struct one *o = &s->one[i];

		if (!o->told)
			continue;
		str_printf(out, "%s{", figures[f].name);
		put_label(out, "sandbox", o->id);
		str_putc(out, ',');
		put_label(out, "type", o->type);
		str_putc(out, ',');
		put_label(out, "tenant", app_tenant_name(a, o->tenant));
		str_printf(out, "} %.15g\n", o->value[f]);
	}
}

static void
reply(struct scrape *s)
{
	auto_str struct str out = { 0 };
	struct app *a = app_of(s->q);

	put_counts(&out, a);
	for (int f = 0; f < FIGURES; f++)
		put_figure(&out, s, (enum figure)f);
	single(&out, "hutch_front_generation", "gauge",
	    "How many fronts this daemon has started.", a->generation);
	single(&out, "hutch_front_uptime_seconds", "gauge",
	    "Age of this front.", (double)(clock_ms() - a->started_ms) / 1000);
	http_reply(s->q, 200, "text/plain; version=0.0.4; charset=utf-8",
	    out.at, out.len);
}

/* ---- asking ---- */

static void
closed(struct http_req *q)
{
	struct scrape *s = http_req_data(q);

	for (size_t i = 0; i < s->n; i++)
		if (s->one[i].wait != NULL)
			manager_forget(s->one[i].wait);
	watch_free(s->late);
	free(s->one);
	free(s);
}

static void
used(void *arg, const struct broker_usage *u, const struct err *err)
{
	struct one *o = arg;
	struct scrape *s = o->of;

	(void)err; /* it has just ended: it is left out */
	o->wait = NULL;
	if (u != NULL) {
		o->told = true;
		o->value[CPU] = (double)u->cpu_us / 1e6;
		o->value[MEMORY] = (double)u->memory;
		o->value[MEMORY_PEAK] = (double)u->memory_peak;
		o->value[PIDS] = (double)u->pids;
		o->value[OOM] = (double)u->oom_kills;
	}
	if (--s->open > 0)
		return;
	watch_stop(s->late);
	reply(s);
}

/* What has not been told by now is left out. */
static void
too_late(void *arg, int what)
{
	struct scrape *s = arg;

	(void)what;
	for (size_t i = 0; i < s->n; i++)
		if (s->one[i].wait != NULL)
			manager_forget(take_ptr(&s->one[i].wait));
	reply(s);
}

static void
ask(struct scrape *s, struct sandbox *sb)
{
	const struct record *r = sandbox_record(sb);
	struct one *o = &s->one[s->n];
	struct err err;

	if (sandbox_guest(sb) == NULL)
		return;
	*o = (struct one){ .of = s, .tenant = r->tenant };
	memcpy(o->id, r->id, sizeof o->id);
	memcpy(o->type, r->type, sizeof o->type);
	o->wait = manager_usage(app_of(s->q)->manager, sb, used, o, &err);
	if (o->wait == NULL)
		return;
	s->n++;
	s->open++;
}

int
metrics_get(struct http_req *q, struct err *err)
{
	struct scrape *s = xcalloc(1, sizeof *s);
	struct app *a = app_of(q);
	struct sandbox *sb = NULL;

	(void)err;
	s->q = q;
	s->one = xcalloc(ASKED_MOST, sizeof *s->one);
	http_req_set_data(q, s);
	http_req_on_closed(q, closed);
	s->late = watch_timer(a->loop, too_late, s);
	while (s->n < ASKED_MOST &&
	    (sb = manager_next(a->manager, -1, sb)) != NULL)
		ask(s, sb);
	if (s->open == 0)
		reply(s);
	else
		watch_arm(s->late, PATIENCE_MS);
	return 0;
}
