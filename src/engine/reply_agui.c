#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "engine/agui.h"
#include "engine/reply_agui.h"

static struct agui *
agui_of(struct reply *r)
{
	return (struct agui *)r;
}

static void
agui_open(struct reply *r, const void *arg)
{
	const struct agui_arg *a = arg;
	struct agui *g = agui_of(r);

	g->modern = a != NULL && a->modern;
	g->parent_run =
	    a != NULL && a->parent_run != NULL ? xstrdup(a->parent_run) : NULL;
}

/* ---- printing ---- */

struct str *
agui_begin(struct agui *g, struct feed *f, const char *type)
{
	struct str *s = feed_begin(f, NULL, g->seq++);

	if (s == NULL)
		return NULL;
	str_puts(s, "{\"type\":\"");
	str_puts(s, type);
	str_putc(s, '"');
	return s;
}

void
agui_end(struct feed *f, struct str *s)
{
	str_putc(s, '}');
	feed_end(f);
}

void
agui_member(struct str *s, const char *name, const char *value, size_t n)
{
	str_puts(s, ",\"");
	str_puts(s, name);
	str_puts(s, "\":\"");
	str_add(s, value, n);
	str_putc(s, '"');
}

void
agui_member_plain(struct str *s, const char *name, const char *text)
{
	str_puts(s, ",\"");
	str_puts(s, name);
	str_puts(s, "\":\"");
	escape_text(s, text, strlen(text));
	str_putc(s, '"');
}

void
agui_member_json(struct str *s, const char *name, const json_t *value)
{
	str_puts(s, ",\"");
	str_puts(s, name);
	str_puts(s, "\":");
	escape_json(s, value);
}

/* An event that has nothing but an id. */
static void
say_id(struct agui *g, struct feed *f, const char *type, const char *name,
    const char *id)
{
	struct str *s = agui_begin(g, f, type);

	if (s == NULL)
		return;
	agui_member(s, name, id, strlen(id));
	agui_end(f, s);
}

/* ---- what has begun ---- */

struct agui_open *
agui_open_of(struct agui *g, const struct event *e, enum agui_shows as)
{
	struct agui_open *o;

	for (unsigned i = 0; i < g->nopen; i++)
		if (g->open[i]->message == e->message->number &&
		    g->open[i]->part == e->part->index)
			return g->open[i];
	g->open = xrealloc(g->open, (g->nopen + 1) * sizeof *g->open);
	o = xcalloc(1, sizeof *o);
	o->message = e->message->number;
	o->part = e->part->index;
	o->as = as;
	if (e->part->index == 0)
		snprintf(o->id, sizeof o->id, "%s", e->message->id);
	else
		snprintf(o->id, sizeof o->id, "%s_%u", e->message->id,
		    e->part->index);
	g->open[g->nopen++] = o;
	return o;
}

static void
open_free(struct agui_open *o)
{
	str_free(&o->call);
	str_free(&o->before);
	str_free(&o->said);
	free(o);
}

void
agui_open_drop(struct agui *g, struct agui_open *o)
{
	for (unsigned i = 0; i < g->nopen; i++) {
		if (g->open[i] != o)
			continue;
		g->open[i] = g->open[--g->nopen];
		open_free(o);
		return;
	}
}

void
agui_say_end(struct agui *g, struct feed *f, struct agui_open *o)
{
	if (!o->begun || o->ended)
		return;
	o->ended = true;
	switch (o->as) {
	case AS_TEXT:
		say_id(g, f, "TEXT_MESSAGE_END", "messageId", o->id);
		break;
	case AS_REASONING:
		say_id(g, f, "REASONING_MESSAGE_END", "messageId", o->id);
		say_id(g, f, "REASONING_END", "messageId", o->id);
		break;
	case AS_CALL:
		say_id(g, f, "TOOL_CALL_END", "toolCallId", str_text(&o->call));
		break;
	}
}

/* ---- text and reasoning ---- */

static const char *
text_role(const struct message *m)
{
	if (strcmp(m->role, "user") == 0 || strcmp(m->role, "system") == 0)
		return m->role;
	return "assistant";
}

static void
say_start(struct agui *g, struct feed *f, const struct event *e,
    struct agui_open *o)
{
	struct str *s;

	if (o->begun && !o->ended)
		return;
	if (o->ended) /* a call came between: a message of its own */
		snprintf(o->id, sizeof o->id, "%s_%u.%u", e->message->id,
		    o->part, ++g->again);
	o->begun = true;
	o->ended = false;
	if (o->as == AS_REASONING) {
		say_id(g, f, "REASONING_START", "messageId", o->id);
		s = agui_begin(g, f, "REASONING_MESSAGE_START");
	} else {
		snprintf(g->holder, sizeof g->holder, "%s", o->id);
		s = agui_begin(g, f, "TEXT_MESSAGE_START");
	}
	if (s == NULL)
		return;
	agui_member(s, "messageId", o->id, strlen(o->id));
	agui_member_plain(s, "role",
	    o->as == AS_REASONING ? "reasoning" : text_role(e->message));
	agui_end(f, s);
}

static void
say_text(struct agui *g, struct feed *f, const struct event *e,
    struct agui_open *o, const char *text, size_t n)
{
	struct str *s;

	if (n == 0)
		return;
	say_start(g, f, e, o);
	s = agui_begin(g, f,
	    o->as == AS_REASONING ? "REASONING_MESSAGE_CONTENT"
				  : "TEXT_MESSAGE_CONTENT");
	if (s == NULL)
		return;
	agui_member(s, "messageId", o->id, strlen(o->id));
	agui_member(s, "delta", text, n);
	agui_end(f, s);
}

static void
text_event(struct agui *g, struct feed *f, const struct event *e)
{
	struct agui_open *o = agui_open_of(g, e,
	    e->message->kind == MSG_REASONING ? AS_REASONING : AS_TEXT);

	/* A value that takes back what was said can't be told: none is left. */
	if (e->text.at != NULL)
		say_text(g, f, e, o, e->text.at, e->text.len);
	if (e->kind != EV_PART_END)
		return;
	agui_say_end(g, f, o);
	agui_open_drop(g, o);
}

static void
part_event(struct agui *g, struct feed *f, const struct event *e)
{
	if (e->message->kind == MSG_HEARTBEAT)
		return;
	if (part_kinds[e->part->type].grows)
		text_event(g, f, e);
	else if (e->part->type == PART_DATA)
		agui_data_event(g, f, e);
	else
		agui_media_event(g, f, e);
}

static void
message_end(struct agui *g, struct feed *f, const struct event *e)
{
	struct str *s;

	for (unsigned i = g->nopen; i > 0; i--) {
		if (g->open[i - 1]->message != e->message->number)
			continue;
		agui_say_end(g, f, g->open[i - 1]);
		agui_open_drop(g, g->open[i - 1]);
	}
	if (e->message->kind != MSG_ERROR)
		return;
	s = agui_begin(g, f, "CUSTOM");
	if (s == NULL)
		return;
	str_puts(s, ",\"name\":\"error\",\"value\":{\"messageId\":\"");
	str_puts(s, e->message->id);
	str_putc(s, '"');
	agui_member(s, "code", str_text(&e->message->code),
	    e->message->code.len);
	agui_member(s, "message", str_text(&e->message->text),
	    e->message->text.len);
	str_putc(s, '}');
	agui_end(f, s);
}

/* ---- the run ---- */

static void
run_started(struct agui *g, struct feed *f, const struct event *e)
{
	struct str *s = agui_begin(g, f, "RUN_STARTED");

	if (s == NULL)
		return;
	agui_member_plain(s, "threadId", e->run->session_id);
	agui_member_plain(s, "runId", e->run->id);
	if (g->modern)
		str_puts(s, ",\"protocolVersion\":\"1.0\"");
	if (g->parent_run != NULL)
		agui_member_plain(s, "parentRunId", g->parent_run);
	agui_end(f, s);
}

static void
usage(struct agui *g, struct str *s, const struct event *e)
{
	json_t *all = e->usage != NULL ? json_loads(e->usage, 0, NULL) : NULL;
	const json_t *in = json_object_get(all, "input_tokens");
	const json_t *out = json_object_get(all, "output_tokens");

	if (g->modern && json_is_integer(in) && json_is_integer(out) &&
	    json_integer_value(in) >= 0 && json_integer_value(out) >= 0) {
		str_putc(s, ',');
		str_printf(s,
		    "\"usage\":[{\"inputTokens\":%lld,\"outputTokens\":%lld,"
		    "\"totalTokens\":%lld",
		    (long long)json_integer_value(in),
		    (long long)json_integer_value(out),
		    (long long)(json_integer_value(in) +
			json_integer_value(out)));
		if (e->run->model[0] != '\0')
			agui_member_plain(s, "model", e->run->model);
		str_puts(s, "}]");
	}
	json_decref(all);
}

static void
run_finished(struct agui *g, struct feed *f, const struct event *e)
{
	struct str *s = agui_begin(g, f, "RUN_FINISHED");

	if (s == NULL)
		return;
	agui_member_plain(s, "threadId", e->run->session_id);
	agui_member_plain(s, "runId", e->run->id);
	if (e->status == RUN_CANCELED) {
		str_puts(s, ",\"result\":\"agent run canceled\"");
		if (g->modern)
			str_puts(s, ",\"outcome\":{\"type\":\"cancelled\"}");
	}
	usage(g, s, e);
	agui_end(f, s);
}

static void
run_ended(struct agui *g, struct feed *f, const struct event *e)
{
	struct str *s;

	while (g->nopen > 0) {
		agui_say_end(g, f, g->open[g->nopen - 1]);
		agui_open_drop(g, g->open[g->nopen - 1]);
	}
	g->end = e->status;
	if (e->status == RUN_COMPLETED || e->status == RUN_CANCELED) {
		run_finished(g, f, e);
		return;
	}
	s = agui_begin(g, f, "RUN_ERROR");
	if (s == NULL)
		return;
	agui_member_plain(s, "message",
	    e->why != NULL ? e->why : run_status_name(e->status));
	agui_member_plain(s, "code",
	    e->code != NULL ? e->code : run_status_name(e->status));
	usage(g, s, e);
	agui_end(f, s);
}

static void
agui_event(struct reply *r, const struct event *e, struct feed *f)
{
	struct agui *g = agui_of(r);

	switch (e->kind) {
	case EV_CREATED:
		run_started(g, f, e);
		break;
	case EV_DELTA:
	case EV_VALUE:
	case EV_PART_END:
		part_event(g, f, e);
		break;
	case EV_MESSAGE_END:
		message_end(g, f, e);
		break;
	case EV_END:
		run_ended(g, f, e);
		break;
	case EV_STARTED:
	case EV_MESSAGE:
		break;
	}
}

/* AG-UI is a stream; who holds a run without one learns how it ended. */
static void
agui_whole(const struct reply *r, struct str *json)
{
	str_printf(json, "{\"status\":\"%s\"}",
	    run_status_name(((const struct agui *)r)->end));
}

static void
agui_drop(struct reply *r)
{
	struct agui *g = agui_of(r);

	for (unsigned i = 0; i < g->nopen; i++)
		open_free(g->open[i]);
	free(g->open);
	free(g->parent_run);
}

const struct reply_kind reply_agui = {
	.name = "agui",
	.size = sizeof(struct agui),
	.open = agui_open,
	.event = agui_event,
	.whole = agui_whole,
	.drop = agui_drop,
};
