/* A2A: the list of tasks, page by page. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/a2a_shape.h"
#include "engine/ask_a2a.h"
#include "engine/reply_a2a.h"
#include "json/jtext.h"
#include "web/a2a_int.h"

#define PAGE 50
#define PAGE_MOST 100

static const char *
text(const json_t *params, const char *name)
{
	const char *v = jtext_cstring(json_object_get(params, name));

	return v != NULL && *v != '\0' ? v : NULL;
}

/* A number in this range; what stands there otherwise if it is absent. */
static long
number(const json_t *params, const char *name, long from, long to,
    long otherwise, struct str *wrong)
{
	const json_t *v = json_object_get(params, name);
	auto_str struct str why = { 0 };

	if (v == NULL || json_is_null(v))
		return otherwise;
	if (json_is_integer(v) && json_integer_value(v) >= from &&
	    json_integer_value(v) <= to)
		return (long)json_integer_value(v);
	str_printf(&why, "must be a number from %ld to %ld", from, to);
	a2a_wrong(wrong, name, str_text(&why));
	return otherwise;
}

/* RFC 3339, in UTC or with an offset; -1: it is none. */
static int64_t
time_of(const char *text)
{
	struct tm tm = { 0 };
	const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t ms;
	int h, m, n = 0;
	double part = 0;
	char sign, *end;

	if (at == NULL)
		return -1;
	if (*at == '.') {
		part = strtod(at, &end);
		at = end;
	}
	ms = (int64_t)timegm(&tm) * 1000 + (int64_t)(part * 1000);
	if (strcmp(at, "Z") == 0 || strcmp(at, "z") == 0)
		return ms;
	if (sscanf(at, "%c%2d:%2d%n", &sign, &h, &m, &n) == 3 &&
	    (size_t)n == strlen(at) && (sign == '+' || sign == '-'))
		return ms - (sign == '+' ? 1 : -1) * (h * 60 + m) * 60000ll;
	return -1;
}

static void
read_filter(const json_t *params, struct a2a_query *q, struct str *wrong)
{
	const char *state = text(params, "status");
	const char *token = text(params, "pageToken");
	const json_t *after = json_object_get(params, "statusTimestampAfter");
	char *end;

	q->context = text(params, "contextId");
	q->limit =
	    (unsigned)number(params, "pageSize", 1, PAGE_MOST, PAGE, wrong);
	if (state != NULL && (q->state = a2a_state(state)) == NULL)
		a2a_wrong(wrong, "status", "is no state of a task");
	if (q->state != NULL && strcmp(q->state, "unknown") == 0)
		q->state = NULL;
	if (token != NULL) {
		q->offset = (unsigned)strtoul(token, &end, 10);
		if (*token < '0' || *token > '9' || *end != '\0' ||
		    strlen(token) > 9)
			a2a_wrong(wrong, "pageToken", "is none of ours");
	}
	if (after == NULL || json_is_null(after))
		return;
	q->after_ms =
	    jtext_cstring(after) != NULL ? time_of(jtext_cstring(after)) : -1;
	if (q->after_ms < 0)
		a2a_wrong(wrong, "statusTimestampAfter",
		    "must be a time as in 2026-01-31T12:00:00Z");
}

void
a2a_list(struct a2a_call *c)
{
	auto_str struct str wrong = { 0 }, next = { 0 };
	struct a2a_query q = { 0 };
	json_t *tasks, *v, *out;
	int64_t total;
	struct err err;
	bool artifacts;
	size_t i;
	int history;

	read_filter(c->params, &q, &wrong);
	history =
	    (int)number(c->params, "historyLength", 0, 100000, -1, &wrong);
	if (wrong.len > 0) {
		a2a_fail_params(c, &wrong);
		return;
	}
	artifacts =
	    json_is_true(json_object_get(c->params, "includeArtifacts"));
	tasks = a2a_desk_list(c->desk, c->who, &q, &total, &err);
	if (tasks == NULL) {
		a2a_fail_err(c, &err);
		return;
	}
	out = json_array();
	json_array_foreach(tasks, i, v) {
		a2a_trim(v, history, artifacts);
		json_array_append_new(out,
		    c->modern ? a2a_modern(v) : json_incref(v));
	}
	json_decref(tasks);
	if ((int64_t)(q.offset + json_array_size(out)) < total)
		str_printf(&next, "%zu", q.offset + json_array_size(out));
	i = json_array_size(out);
	a2a_say(c,
	    json_pack("{s:o,s:s,s:I,s:I}", "tasks", out, "nextPageToken",
		str_text(&next), "pageSize", (json_int_t)i, "totalSize",
		(json_int_t)total));
}
