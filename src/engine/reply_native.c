/*
 * The native stream of spec 2: every member present, in its order, one event a
 * number.
 */
#include <stdbool.h>
#include <string.h>
#include "base/str.h"
#include "engine/escape.h"
#include "engine/event.h"
#include "engine/feed.h"
#include "engine/reply.h"

struct native {
	struct reply reply;
	struct event end; /* .run is NULL until it has come */
};

#define put(s, literal) str_add((s), (literal), sizeof(literal) - 1)

static void
put_number(struct str *s, uint64_t n)
{
	char b[24], *at = b + sizeof b;

	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	str_add(s, at, (size_t)(b + sizeof b - at));
}

static void
put_quoted(struct str *s, const char *escaped, size_t n)
{
	str_putc(s, '"');
	str_add(s, escaped, n);
	str_putc(s, '"');
}

static void
put_raw(struct str *s, const struct str *json)
{
	if (json->len > 0)
		str_add(s, json->at, json->len);
	else
		put(s, "null");
}

static void
put_status(struct str *s, enum run_status status)
{
	const char *name = run_status_name(status);

	put_quoted(s, name, strlen(name));
}

/* ---- parts ---- */

/* Up to the member that tells the part's value. */
static void
part_head(struct str *s, const struct message *m, const struct part *p,
    uint64_t seq, const char *status, const char *delta)
{
	const char *type = part_kinds[p->type].name;

	put(s, "{\"sequence_number\":");
	put_number(s, seq);
	put(s, ",\"object\":\"content\",\"status\":\"");
	str_puts(s, status);
	put(s, "\",\"error\":null,\"type\":\"");
	str_puts(s, type);
	put(s, "\",\"index\":");
	put_number(s, p->index);
	put(s, ",\"delta\":");
	str_puts(s, delta);
	put(s, ",\"msg_id\":\"");
	str_puts(s, m->id);
	str_putc(s, '"');
}

static void
part_fields(struct str *s, const struct part *p)
{
	const struct part_kind *kind = &part_kinds[p->type];

	for (int i = 0; kind->field[i] != NULL; i++) {
		put(s, ",\"");
		str_puts(s, kind->field[i]);
		put(s, "\":");
		if (kind->grows)
			put_quoted(s, str_text(&p->field[i]), p->field[i].len);
		else
			put_raw(s, &p->field[i]);
	}
	str_putc(s, '}');
}

/* A part that came whole tells that it is no delta; one that grew, nothing. */
static const char *
delta_of(const struct part *p)
{
	return p->type == PART_DATA ? "false" : "null";
}

static const char *
end_status(const struct message *m, const struct part *p)
{
	return p->completed ? "completed" : run_status_name(m->status);
}

void
native_part(struct str *s, const struct event *ev, const struct part *p)
{
	if (ev->kind == EV_PART_END)
		part_head(s, ev->message, p, p->seq, end_status(ev->message, p),
		    delta_of(p));
	else
		part_head(s, ev->message, p, ev->seq, "in_progress", "false");
	part_fields(s, p);
}

/* Within its message: as in its last event, but for data, which upstream puts
 * there anew. */
static void
part_within(struct str *s, const struct message *m, const struct part *p)
{
	if (p->type == PART_DATA)
		put(s,
		    "{\"sequence_number\":null,\"object\":\"content\","
		    "\"status\":null,\"error\":null,\"type\":\"data\","
		    "\"index\":null,\"delta\":false,\"msg_id\":null");
	else
		part_head(s, m, p, p->seq, end_status(m, p), delta_of(p));
	part_fields(s, p);
}

/* The hot one: what is known of its size is asked for once. */
static void
put_delta(struct str *s, const struct event *ev)
{
	const struct part *p = ev->part;

	str_need(s, ev->text.len + 256);
	part_head(s, ev->message, p, ev->seq, "in_progress", "true");
	put(s, ",\"");
	str_puts(s, part_kinds[p->type].field[0]);
	put(s, "\":\"");
	str_add(s, ev->text.at, ev->text.len);
	put(s, "\"}");
}

/* ---- messages ---- */

void
native_message(struct str *s, const struct message *m)
{
	put(s, "{\"sequence_number\":");
	put_number(s, m->seq);
	put(s, ",\"object\":\"message\",\"status\":");
	put_status(s, m->status);
	put(s, ",\"error\":null,\"id\":");
	put_quoted(s, m->id, strlen(m->id));
	put(s, ",\"type\":");
	put_quoted(s, m->type, strlen(m->type));
	put(s, ",\"role\":");
	if (*m->role != '\0')
		put_quoted(s, m->role, strlen(m->role));
	else
		put(s, "null");
	put(s, ",\"content\":");
	if (m->status == RUN_IN_PROGRESS)
		put(s, "null");
	else {
		str_putc(s, '[');
		for (unsigned i = 0; i < m->nparts; i++) {
			if (i > 0)
				str_putc(s, ',');
			part_within(s, m, &m->part[i]);
		}
		str_putc(s, ']');
	}
	put(s, ",\"code\":");
	if (m->code.len > 0)
		put_quoted(s, m->code.at, m->code.len);
	else
		put(s, "null");
	put(s, ",\"message\":");
	if (m->text.len > 0)
		put_quoted(s, m->text.at, m->text.len);
	else
		put(s, "null");
	put(s, ",\"usage\":");
	put_raw(s, &m->usage);
	put(s, ",\"metadata\":");
	put_raw(s, &m->metadata);
	str_putc(s, '}');
}

/* ---- the response ---- */

static void
put_error(struct str *s, const struct event *ev)
{
	if (ev->kind != EV_END || ev->status == RUN_COMPLETED ||
	    (ev->code == NULL && ev->why == NULL)) {
		put(s, "null");
		return;
	}
	put(s, "{\"code\":");
	escape_quote(s, ev->code != NULL ? ev->code : "AGENT_ERROR");
	put(s, ",\"message\":");
	escape_quote(s, ev->why != NULL ? ev->why : "");
	str_putc(s, '}');
}

/* Nothing in a completed one is an empty list; else it is nothing. */
static void
put_output(struct str *s, const struct event *ev)
{
	if (ev->kind != EV_END ||
	    (ev->noutput == 0 && ev->status != RUN_COMPLETED)) {
		put(s, "null");
		return;
	}
	str_putc(s, '[');
	for (size_t i = 0; i < ev->noutput; i++) {
		if (i > 0)
			str_putc(s, ',');
		native_message(s, ev->output[i]);
	}
	str_putc(s, ']');
}

static void
put_response(struct str *s, const struct event *ev)
{
	enum run_status status = ev->kind == EV_CREATED ? RUN_CREATED
	    : ev->kind == EV_STARTED                    ? RUN_IN_PROGRESS
							: ev->status;

	put(s, "{\"sequence_number\":");
	put_number(s, ev->seq);
	put(s, ",\"object\":\"response\",\"status\":");
	put_status(s, status);
	put(s, ",\"error\":");
	put_error(s, ev);
	put(s, ",\"id\":");
	escape_quote(s, ev->run->id);
	put(s, ",\"created_at\":");
	put_number(s, (uint64_t)ev->run->created_at);
	put(s, ",\"completed_at\":");
	if (ev->kind == EV_END && status == RUN_COMPLETED)
		put_number(s, (uint64_t)ev->now_s);
	else
		put(s, "null");
	put(s, ",\"output\":");
	put_output(s, ev);
	put(s, ",\"usage\":");
	str_puts(s, ev->usage != NULL ? ev->usage : "null");
	put(s, ",\"session_id\":");
	escape_quote(s, ev->run->session_id);
	str_putc(s, '}');
}

/* ---- the encoder ---- */

static void
native_event(struct reply *reply, const struct event *ev, struct feed *feed)
{
	struct native *n = (struct native *)reply;
	struct str *s;

	if (ev->kind == EV_END)
		n->end = *ev;
	if ((s = feed_begin(feed, NULL, ev->seq)) == NULL)
		return;
	switch (ev->kind) {
	case EV_DELTA:
		put_delta(s, ev);
		break;
	case EV_VALUE:
	case EV_PART_END:
		native_part(s, ev, ev->part);
		break;
	case EV_MESSAGE:
	case EV_MESSAGE_END:
		native_message(s, ev->message);
		break;
	default:
		put_response(s, ev);
	}
	feed_end(feed);
}

static void
native_whole(const struct reply *reply, struct str *json)
{
	const struct native *n = (const struct native *)reply;

	if (n->end.run != NULL)
		put_response(json, &n->end);
}

const struct reply_kind reply_native = {
	.name = "native",
	.size = sizeof(struct native),
	.event = native_event,
	.whole = native_whole,
};
