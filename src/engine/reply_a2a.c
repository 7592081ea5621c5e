#include "engine/reply_a2a.h"

#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "engine/a2a_part.h"
#include "engine/a2a_shape.h"
#include "engine/event.h"
#include "engine/feed.h"
#include "engine/line.h"
#include "engine/reply.h"

struct told { /* a message of the run, and what has been told of it */
	const struct message *message;
	bool begun, ended;
};

struct a2a {
	struct reply reply;
	bool modern;
	int history;
	char *id, *prefix;
	char *task, *context;
	json_t *base, *asked;
	struct told *told;
	unsigned ntold;
	const char *state;
	char *why;          /* plain; of a failure */
	int64_t at_s, last; /* last: of the events printed */
};

static struct a2a *
a2a_of(const struct reply *r)
{
	return (struct a2a *)r;
}

static void
a2a_open(struct reply *r, const void *arg)
{
	const struct a2a_arg *given = arg;
	struct a2a *a = a2a_of(r);

	a->modern = given->modern;
	a->history = given->history;
	a->id = xstrdup(given->id);
	a->prefix =
	    xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", given->id);
	a->task = xstrdup(given->task);
	a->base = json_incref(given->base);
	a->asked = json_incref(given->message);
	a->state = "submitted";
	a->last = -1;
}

/* ---- pieces ---- */

/* An answer: what a task is for.  All else is said on the way. */
static bool
is_answer(const struct message *m)
{
	return m->kind == MSG_MESSAGE || m->kind == MSG_OTHER;
}

static json_t *
context_of(const struct a2a *a)
{
	return json_string(a->context != NULL ? a->context : "");
}

static json_t *
said(const struct a2a *a, const char *id, json_t *parts)
{
	return json_pack("{s:s,s:s,s:s,s:o,s:s,s:o}", "kind", "message",
	    "messageId", id, "role", "agent", "parts", parts, "taskId", a->task,
	    "contextId", context_of(a));
}

/* A message on the way; NULL: there is nothing in it. */
static json_t *
message_of(const struct a2a *a, const struct message *m)
{
	json_t *parts = a2a_parts(m), *v;

	if (m->kind == MSG_ERROR && m->text.len > 0)
		json_array_append_new(parts,
		    json_pack("{s:s,s:o}", "kind", "text", "text",
			a2a_text(&m->text)));
	if (json_array_size(parts) == 0) {
		json_decref(parts);
		return NULL;
	}
	v = said(a, m->id, parts);
	json_object_set_new(v, "metadata", json_pack("{s:s}", "type", m->type));
	return v;
}

static json_t *
status_of(const struct a2a *a, json_t *message)
{
	auto_str struct str at = { 0 };
	json_t *s;

	a2a_time(&at, (long long)a->at_s * 1000);
	s = json_pack("{s:s,s:s}", "state", a->state, "timestamp",
	    str_text(&at));
	if (message == NULL && a->why != NULL)
		message = said(a, a->task,
		    json_pack("[{s:s,s:s}]", "kind", "text", "text", a->why));
	if (message != NULL)
		json_object_set_new(s, "message", message);
	return s;
}

/* ---- the task ---- */

static json_t *
list_of(const json_t *base, const char *name)
{
	const json_t *v = json_object_get(base, name);

	return json_is_array(v) ? json_copy((json_t *)v) : json_array();
}

/*
 * What a run that has completed leaves the task in, if it is not over: a
 * question leaves it input-required; a message may also say so itself.
 */
static const char *
open_state(const struct a2a *a)
{
	const struct message *m =
	    a->ntold > 0 ? a->told[a->ntold - 1].message : NULL;
	const char *said, *state = NULL;
	json_t *meta;

	if (m == NULL || m->kind == MSG_MCP_APPROVAL_REQUEST)
		return m != NULL ? "input-required" : NULL;
	if (m->metadata.len == 0)
		return NULL;
	meta = json_loadb(m->metadata.at, m->metadata.len, 0, NULL);
	said = json_string_value(json_object_get(meta, "task_state"));
	if (json_is_true(json_object_get(meta, "input_required")))
		state = "input-required";
	else if (said != NULL)
		state = a2a_state(said);
	json_decref(meta);
	return state;
}

/* The question, where it was one. */
static json_t *
last_question(const struct a2a *a)
{
	bool asks = strcmp(a->state, "input-required") == 0 ||
	    strcmp(a->state, "auth-required") == 0;

	return asks && a->ntold > 0
	    ? message_of(a, a->told[a->ntold - 1].message)
	    : NULL;
}

json_t *
a2a_task(const struct reply *r)
{
	const struct a2a *a = a2a_of(r);
	json_t *artifacts = list_of(a->base, "artifacts"), *v;
	json_t *history = list_of(a->base, "history");

	json_array_append(history, a->asked);
	for (unsigned i = 0; i < a->ntold; i++) {
		const struct told *t = &a->told[i];

		if (is_answer(t->message)) {
			if (t->message->nparts > 0)
				json_array_append_new(artifacts,
				    json_pack("{s:s,s:s,s:o}", "artifactId",
					t->message->id, "name", "response",
					"parts", a2a_parts(t->message)));
		} else if (t->ended &&
		    (v = message_of(a, t->message)) != NULL) {
			json_array_append_new(history, v);
		}
	}
	v = json_pack("{s:s,s:s,s:o,s:o,s:o,s:o}", "kind", "task", "id",
	    a->task, "contextId", context_of(a), "status",
	    status_of(a, last_question(a)), "history", history, "artifacts",
	    artifacts);
	return v;
}

void
a2a_trim(json_t *task, int history, bool artifacts)
{
	json_t *list = json_object_get(task, "history"), *last;
	size_t n = json_array_size(list);

	if (!artifacts)
		json_object_del(task, "artifacts");
	if (history == 0) {
		json_object_del(task, "history");
	} else if (history > 0 && n > (size_t)history) {
		last = json_array();
		for (size_t i = n - (size_t)history; i < n; i++)
			json_array_append(last, json_array_get(list, i));
		json_object_set_new(task, "history", last);
	}
}

void
a2a_answer(struct str *out, const char *id, bool modern, const json_t *result)
{
	json_t *shaped = modern ? a2a_modern_result(result) : NULL;

	str_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
	escape_json(out, shaped != NULL ? shaped : result);
	str_putc(out, '}');
	json_decref(shaped);
}

bool
a2a_is_final(const char *state)
{
	return strcmp(state, "completed") == 0 ||
	    strcmp(state, "failed") == 0 || strcmp(state, "canceled") == 0 ||
	    strcmp(state, "rejected") == 0;
}

const char *
a2a_task_state(const struct reply *r)
{
	return a2a_of(r)->state;
}

int64_t
a2a_last(const struct reply *r)
{
	return a2a_of(r)->last;
}

bool
a2a_is_modern(const struct reply *r)
{
	return a2a_of(r)->modern;
}

const char *
a2a_prefix(const struct reply *r)
{
	return a2a_of(r)->prefix;
}

/* ---- the stream ---- */

static struct str *
begin(struct a2a *a, struct feed *f)
{
	struct str *s = feed_begin(f, NULL, (uint64_t)++a->last);

	if (s != NULL)
		str_puts(s, a->prefix);
	return s;
}

static void
end(struct feed *f, struct str *s)
{
	str_putc(s, '}');
	feed_end(f);
}

/* result is taken. */
static void
say(struct a2a *a, struct feed *f, json_t *result)
{
	struct str *s = begin(a, f);
	json_t *shaped;

	if (s != NULL) {
		shaped =
		    a->modern ? a2a_modern_result(result) : json_incref(result);
		escape_json(s, shaped);
		json_decref(shaped);
		end(f, s);
	}
	json_decref(result);
}

static void
say_status(struct a2a *a, struct feed *f, json_t *message, bool last)
{
	say(a, f,
	    json_pack("{s:s,s:s,s:o,s:o,s:b}", "kind", "status-update",
		"taskId", a->task, "contextId", context_of(a), "status",
		status_of(a, message), "final", last));
}

static void
puts_escaped(struct str *s, const char *text)
{
	escape_text(s, text, strlen(text));
}

/* A piece of an artifact, as far as its parts: the most frequent event. */
static struct str *
begin_piece(struct a2a *a, struct feed *f, const struct told *t)
{
	struct str *s = begin(a, f);

	if (s == NULL)
		return NULL;
	str_puts(s,
	    a->modern ? "{\"artifactUpdate\":{\"taskId\":\""
		      : "{\"kind\":\"artifact-update\",\"taskId\":\"");
	puts_escaped(s, a->task);
	str_puts(s, "\",\"contextId\":\"");
	puts_escaped(s, a->context != NULL ? a->context : "");
	str_puts(s, "\",\"artifact\":{\"artifactId\":\"");
	str_puts(s, t->message->id);
	str_puts(s, "\",\"name\":\"response\",\"parts\":[");
	return s;
}

static void
end_piece(struct a2a *a, struct feed *f, struct str *s, struct told *t,
    bool last)
{
	str_printf(s, "]},\"append\":%s,\"lastChunk\":%s}%s",
	    t->begun ? "true" : "false", last ? "true" : "false",
	    a->modern ? "}" : "");
	end(f, s);
}

static void
say_text(struct a2a *a, struct feed *f, struct told *t, struct slice text,
    bool last)
{
	struct str *s = begin_piece(a, f, t);

	if (s != NULL) {
		str_puts(s,
		    a->modern ? "{\"text\":\""
			      : "{\"kind\":\"text\",\"text\":\"");
		str_add(s, text.at, text.len);
		str_puts(s, "\"}");
		end_piece(a, f, s, t, last);
	}
	t->begun = true;
}

static void
say_part(struct a2a *a, struct feed *f, struct told *t, const struct part *p)
{
	json_t *part = a2a_part(p), *wrap, *shaped;
	struct str *s;

	if (part == NULL)
		return;
	s = begin_piece(a, f, t);
	if (s != NULL) {
		wrap = json_pack("{s:[O]}", "parts", part);
		shaped = a->modern ? a2a_modern(wrap) : json_incref(wrap);
		escape_json(s,
		    json_array_get(json_object_get(shaped, "parts"), 0));
		json_decref(shaped);
		json_decref(wrap);
		end_piece(a, f, s, t, false);
	}
	t->begun = true;
	json_decref(part);
}

static struct told *
told_of(struct a2a *a, const struct message *m)
{
	for (unsigned i = a->ntold; i > 0; i--)
		if (a->told[i - 1].message == m)
			return &a->told[i - 1];
	if (m->kind == MSG_HEARTBEAT)
		return NULL;
	a->told = xrealloc(a->told, (a->ntold + 1) * sizeof *a->told);
	a->told[a->ntold] = (struct told){ .message = m };
	return &a->told[a->ntold++];
}

static void
part_event(struct a2a *a, struct feed *f, const struct event *e)
{
	struct told *t = told_of(a, e->message);
	const struct part *p = e->part;

	if (t == NULL || !is_answer(e->message))
		return;
	if (!part_kinds[p->type].grows) {
		if (e->kind == EV_PART_END)
			say_part(a, f, t, p);
	} else if (e->text.at != NULL && e->text.len > 0) {
		say_text(a, f, t, e->text, false);
	}
}

/* The end of an artifact needs a part, too. */
static void
message_end(struct a2a *a, struct feed *f, const struct event *e)
{
	struct told *t = told_of(a, e->message);
	json_t *m;

	if (t == NULL)
		return;
	t->ended = true;
	if (is_answer(e->message)) {
		if (t->begun)
			say_text(a, f, t, (struct slice){ "", 0 }, true);
	} else if (e->message->kind != MSG_MCP_APPROVAL_REQUEST &&
	    (m = message_of(a, e->message)) != NULL) {
		say_status(a, f, m, false);
	}
}

static const char *
end_state(const struct a2a *a, enum run_status status)
{
	switch (status) {
	case RUN_COMPLETED:
		return open_state(a) != NULL ? open_state(a) : "completed";
	case RUN_CANCELED:
		return "canceled";
	case RUN_REJECTED:
		return "rejected";
	default:
		return "failed";
	}
}

static void
run_ended(struct a2a *a, struct feed *f, const struct event *e)
{
	a->state = end_state(a, e->status);
	a->at_s = e->now_s;
	if (e->status != RUN_COMPLETED && e->why != NULL)
		a->why = xstrdup(e->why);
	say_status(a, f, last_question(a), true);
}

static void
run_created(struct a2a *a, struct feed *f, const struct event *e)
{
	json_t *task;

	a->context = xstrdup(e->run->session_id);
	a->at_s = e->run->created_at;
	json_object_set_new(a->asked, "taskId", json_string(a->task));
	json_object_set_new(a->asked, "contextId", context_of(a));
	task = a2a_task(&a->reply);
	a2a_trim(task, a->history, true);
	say(a, f, task);
}

static void
a2a_event(struct reply *r, const struct event *e, struct feed *f)
{
	struct a2a *a = a2a_of(r);

	switch (e->kind) {
	case EV_CREATED:
		run_created(a, f, e);
		break;
	case EV_STARTED:
		a->state = "working";
		say_status(a, f, NULL, false);
		break;
	case EV_MESSAGE:
		(void)told_of(a, e->message);
		break;
	case EV_DELTA:
	case EV_VALUE:
	case EV_PART_END:
		part_event(a, f, e);
		break;
	case EV_MESSAGE_END:
		message_end(a, f, e);
		break;
	case EV_END:
		run_ended(a, f, e);
		break;
	}
}

static void
a2a_whole(const struct reply *r, struct str *json)
{
	const struct a2a *a = a2a_of(r);
	json_t *task = a2a_task(r);

	a2a_trim(task, a->history, true);
	a2a_answer(json, a->id, a->modern, task);
	json_decref(task);
}

static void
a2a_drop(struct reply *r)
{
	struct a2a *a = a2a_of(r);

	json_decref(a->base);
	json_decref(a->asked);
	free(a->id);
	free(a->prefix);
	free(a->task);
	free(a->context);
	free(a->why);
	free(a->told);
}

const struct reply_kind reply_a2a = {
	.name = "a2a",
	.size = sizeof(struct a2a),
	.open = a2a_open,
	.event = a2a_event,
	.whole = a2a_whole,
	.drop = a2a_drop,
};
