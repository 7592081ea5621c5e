#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "config.h"
#include "engine/model_client.h"
#include "engine/trace.h"
#include "json/jtext.h"
#include "wire/loop.h"
#include "wire/model.h"

#define BATCH 256               /* spans; sent at once then */
#define WAIT_MS 1000            /* or after so long */
#define PENDING_MOST (4u << 20) /* bytes that wait for the collector */
#define TEXT_MOST 256           /* of an attribute */

struct span {
	struct tracer *of;
	char name[96], context[TRACEPARENT], parent[17];
	enum span_kind kind;
	uint64_t start_ns;
	struct str attributes;
	bool failed;
	char why[TEXT_MOST];
};

struct tracer {
	struct loop *loop;
	struct model_client *models;
	char *service;
	struct str pending; /* spans, commas between */
	unsigned n;
	uint64_t lost;
	struct watch *timer;
	struct model_call *call;
	unsigned status;
};

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- sending ---- */

static void send_batch(struct tracer *);

static void
on_head(void *arg, unsigned status, unsigned retry_after)
{
	struct tracer *t = arg;

	(void)retry_after;
	t->status = status;
}

static void
on_bytes(void *arg, const uint8_t *bytes, size_t n)
{
	struct tracer *t = arg;

	(void)bytes;
	model_call_took(t->call, n);
}

static void
on_done(void *arg, const struct err *err)
{
	struct tracer *t = arg;
	auto_free char *status = xasprintf("%u", t->status);

	t->call = NULL;
	if (err != NULL || t->status / 100 != 2)
		log_say(LOG_NOTE, "spans not taken", "status", status, "error",
		    err != NULL ? err->text : NULL, NULL);
	if (t->n > 0)
		watch_arm(t->timer, WAIT_MS);
}

static const struct model_call_ops ops = { on_head, on_bytes, on_done };

static void
put_head(struct tracer *t, struct str *body)
{
	str_puts(body,
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
	    "{\"key\":\"service.name\",\"value\":{\"stringValue\":");
	jtext_quote_text(body, t->service);
	str_puts(body,
	    "}},{\"key\":\"service.version\",\"value\":"
	    "{\"stringValue\":\"" PACKAGE_VERSION "\"}}]},"
	    "\"scopeSpans\":[{\"scope\":{\"name\":\"hutch\"},"
	    "\"spans\":[");
}

static void
send_batch(struct tracer *t)
{
	auto_str struct str body = { 0 };
	struct model_want w = { .op = MODEL_TRACES,
		.name = "",
		.ops = &ops,
		.arg = t };
	struct err err;

	if (t->call != NULL || t->n == 0)
		return;
	put_head(t, &body);
	str_add(&body, t->pending.at, t->pending.len);
	str_puts(&body, "]}]}]}");
	str_cut(&t->pending, 0);
	t->n = 0;
	t->status = 0;
	w.body = body.at;
	w.nbody = body.len;
	t->call = model_call_start(t->models, &w, &err);
	if (t->call == NULL)
		log_err(LOG_NOTE, &err, "spans not sent", NULL);
}

static void
on_timer(void *arg, int what)
{
	(void)what;
	send_batch(arg);
}

struct tracer *
tracer_new(struct loop *loop, struct model_client *models, const char *service)
{
	struct tracer *t = xcalloc(1, sizeof *t);

	t->loop = loop;
	t->models = models;
	t->service = xstrdup(service);
	t->timer = watch_timer(loop, on_timer, t);
	return t;
}

void
tracer_free(struct tracer *t)
{
	if (t == NULL)
		return;
	if (t->call != NULL)
		model_call_cancel(t->call);
	watch_free(t->timer);
	str_free(&t->pending);
	free(t->service);
	free(t);
}

/* ---- one span ---- */

/* 00-TRACE-SPAN-FLAGS: lower-case digits, neither id all zeros. */
static bool
well_formed(const char *p)
{
	static const int lines[] = { 2, 35, 52 };
	size_t zeros = 0;

	if (p == NULL || strlen(p) < TRACEPARENT - 1 ||
	    (p[TRACEPARENT - 1] != '\0' && memcmp(p, "00", 2) == 0) ||
	    memcmp(p, "ff", 2) == 0)
		return false;
	for (int i = 0; i < TRACEPARENT - 1; i++) {
		bool line = false;

		for (int k = 0; k < 3; k++)
			line = line || lines[k] == i;
		if (line ? p[i] != '-'
			 : strchr("0123456789abcdef", p[i]) == NULL)
			return false;
	}
	zeros = strspn(p + 3, "0");
	return zeros < 32 && strspn(p + 36, "0") < 16;
}

static void
random_hex(char *out, size_t n)
{
	uint8_t bytes[16];

	if (getrandom(bytes, n, 0) != (ssize_t)n)
		abort();
	bytes[0] |= 1; /* never all zeros */
	hex_put(out, bytes, n);
}

struct span *
span_begin(struct tracer *t, const char *parent, enum span_kind kind,
    const char *name)
{
	struct span *s;
	char trace[33], id[17];

	if (t == NULL)
		return NULL;
	if (well_formed(parent)) {
		if (((parent[54] <= '9' ? parent[54] - '0'
					: parent[54] - 'a' + 10) &
			1) == 0)
			return NULL;
		memcpy(trace, parent + 3, 32);
		trace[32] = '\0';
	} else {
		parent = NULL;
		random_hex(trace, 16);
	}
	s = xcalloc(1, sizeof *s);
	s->of = t;
	s->kind = kind;
	s->start_ns = now_ns();
	random_hex(id, 8);
	snprintf(s->name, sizeof s->name, "%s", name);
	snprintf(s->context, sizeof s->context, "00-%s-%s-01", trace, id);
	if (parent != NULL)
		memcpy(s->parent, parent + 36, 16);
	return s;
}

const char *
span_traceparent(const struct span *s)
{
	return s != NULL ? s->context : "";
}

static void
put_key(struct span *s, const char *key)
{
	str_printf(&s->attributes, "%s{\"key\":\"%s\",\"value\":{",
	    s->attributes.len > 0 ? "," : "", key);
}

void
span_text(struct span *s, const char *key, const char *text)
{
	if (s == NULL || text == NULL || *text == '\0')
		return;
	put_key(s, key);
	str_puts(&s->attributes, "\"stringValue\":");
	jtext_quote(&s->attributes, text, strnlen(text, TEXT_MOST));
	str_puts(&s->attributes, "}}");
}

void
span_number(struct span *s, const char *key, int64_t n)
{
	if (s == NULL)
		return;
	put_key(s, key);
	str_printf(&s->attributes, "\"intValue\":\"%lld\"}}", (long long)n);
}

void
span_fail(struct span *s, const char *type, const char *why)
{
	if (s == NULL || s->failed)
		return;
	s->failed = true;
	span_text(s, "error.type", type);
	snprintf(s->why, sizeof s->why, "%s", why != NULL ? why : "");
}

static void
put_span(struct span *s, struct str *out)
{
	str_printf(out, "{\"traceId\":\"%.32s\",\"spanId\":\"%.16s\",",
	    s->context + 3, s->context + 36);
	if (*s->parent != '\0')
		str_printf(out, "\"parentSpanId\":\"%s\",", s->parent);
	str_puts(out, "\"name\":");
	jtext_quote_text(out, s->name);
	str_printf(out,
	    ",\"kind\":%d,\"startTimeUnixNano\":\"%llu\","
	    "\"endTimeUnixNano\":\"%llu\",\"attributes\":[",
	    (int)s->kind, (unsigned long long)s->start_ns,
	    (unsigned long long)now_ns());
	str_add(out, str_text(&s->attributes), s->attributes.len);
	str_puts(out, "],\"status\":{");
	if (s->failed) {
		str_puts(out, "\"code\":2,\"message\":");
		jtext_quote_text(out, s->why);
	}
	str_puts(out, "}}");
}

void
span_end(struct span *s)
{
	struct tracer *t;

	if (s == NULL)
		return;
	t = s->of;
	if (t->pending.len > PENDING_MOST) {
		if (t->lost++ == 0)
			log_say(LOG_WARN,
			    "spans are lost: the collector is "
			    "too slow",
			    NULL);
	} else {
		if (t->n++ > 0)
			str_putc(&t->pending, ',');
		else if (t->call == NULL)
			watch_arm(t->timer, WAIT_MS);
		put_span(s, &t->pending);
		if (t->n >= BATCH)
			send_batch(t);
	}
	str_free(&s->attributes);
	free(s);
}
