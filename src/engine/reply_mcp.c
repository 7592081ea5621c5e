#include "engine/reply_mcp.h"

#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "engine/escape.h"
#include "engine/event.h"
#include "engine/feed.h"
#include "engine/part_json.h"
#include "engine/reply.h"

struct mcp {
	struct reply reply;
	char *id, *progress;
	bool modern, failed;
	unsigned steps;
	uint64_t seq;
	struct str content; /* items, a comma between two */
	struct str session; /* escaped */
};

static struct mcp *
mcp_of(const struct reply *r)
{
	return (struct mcp *)r;
}

static void
mcp_open(struct reply *r, const void *arg)
{
	const struct mcp_arg *a = arg;
	struct mcp *m = mcp_of(r);

	m->id = xstrdup(a->id);
	m->progress = a->progress != NULL ? xstrdup(a->progress) : NULL;
	m->modern = a->modern;
}

/* ---- progress: a step for each message ---- */

static void
step_text(struct str *s, const struct message *m)
{
	json_t *data = NULL;
	const char *name;

	if (m->nparts > 0 && m->part[0].type == PART_DATA)
		data = json_loadb(str_text(&m->part[0].field[0]),
		    m->part[0].field[0].len, 0, NULL);
	name = json_string_value(json_object_get(data, "name"));
	escape_text(s, m->type, strlen(m->type));
	if (name != NULL) {
		str_puts(s, ": ");
		escape_text(s, name, strlen(name));
	}
	json_decref(data);
}

static void
say_progress(struct mcp *m, struct feed *f, const struct event *e)
{
	struct str *s;

	m->steps++;
	if (m->progress == NULL || (s = feed_begin(f, NULL, m->seq++)) == NULL)
		return;
	str_printf(s,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
	    "\"params\":{\"progressToken\":%s,\"progress\":%u,\"message\":\"",
	    m->progress, m->steps);
	step_text(s, e->message);
	str_puts(s, "\"}}");
	feed_end(f);
}

/* ---- the content ---- */

static void
begin_item(struct mcp *m)
{
	if (m->content.len > 0)
		str_putc(&m->content, ',');
}

static void
add_text(struct mcp *m, const char *escaped, size_t n)
{
	begin_item(m);
	str_puts(&m->content, "{\"type\":\"text\",\"text\":\"");
	str_add(&m->content, escaped, n);
	str_puts(&m->content, "\"}");
}

/* Bytes as an item; else a link to them. */
static void
add_media(struct mcp *m, const char *type, const char *mime, const char *text)
{
	struct place at = place_of(text, mime);
	json_t *item;

	if (at.base64 != NULL)
		item = json_pack("{s:s,s:s,s:o}", "type", type, "data",
		    at.base64, "mimeType", json_stringn(at.mime, at.nmime));
	else
		item = json_pack("{s:s,s:s,s:s}", "type", "resource_link",
		    "uri", at.url, "name", type);
	begin_item(m);
	escape_json(&m->content, item);
	json_decref(item);
}

static void
add_part(struct mcp *m, const struct part *p)
{
	auto_free char *mime = part_mime(p);
	json_t *value;

	if (part_kinds[p->type].grows) {
		if (p->field[0].len > 0)
			add_text(m, p->field[0].at, p->field[0].len);
		return;
	}
	value = part_value(p, 0);
	if (p->type == PART_DATA && value != NULL) {
		struct str text = { 0 }, inside = { 0 };

		escape_json(&text, value);
		escape_text(&inside, str_text(&text), text.len);
		add_text(m, str_text(&inside), inside.len);
		str_free(&text);
		str_free(&inside);
	} else if (json_is_string(value)) {
		add_media(m, p->type == PART_AUDIO ? "audio" : "image", mime,
		    json_string_value(value));
	}
	json_decref(value);
}

static void
message_end(struct mcp *m, struct feed *f, const struct event *e)
{
	const struct message *msg = e->message;

	if (msg->kind == MSG_HEARTBEAT)
		return;
	say_progress(m, f, e);
	if (msg->kind == MSG_MESSAGE || msg->kind == MSG_OTHER)
		for (unsigned i = 0; i < msg->nparts; i++)
			add_part(m, &msg->part[i]);
}

static void
mcp_whole(const struct reply *r, struct str *s)
{
	const struct mcp *m = mcp_of(r);

	str_printf(s,
	    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[", m->id);
	str_puts(s, str_text(&m->content));
	str_printf(s, "],\"isError\":%s,\"_meta\":{\"session_id\":\"",
	    m->failed ? "true" : "false");
	str_puts(s, str_text(&m->session));
	str_puts(s, "\"}");
	if (m->modern)
		str_puts(s, ",\"resultType\":\"complete\"");
	str_puts(s, "}}");
}

static void
run_ended(struct mcp *m, struct feed *f, const struct event *e)
{
	struct str why = { 0 };
	struct str *s;

	m->failed = e->status != RUN_COMPLETED;
	if (m->failed) {
		str_puts(&why, run_status_name(e->status));
		if (e->why != NULL) {
			str_puts(&why, ": ");
			escape_text(&why, e->why, strlen(e->why));
		}
		add_text(m, why.at, why.len);
		str_free(&why);
	}
	if ((s = feed_begin(f, NULL, m->seq++)) == NULL)
		return;
	mcp_whole(&m->reply, s);
	feed_end(f);
}

static void
mcp_event(struct reply *r, const struct event *e, struct feed *f)
{
	struct mcp *m = mcp_of(r);

	if (e->kind == EV_CREATED)
		escape_text(&m->session, e->run->session_id,
		    strlen(e->run->session_id));
	else if (e->kind == EV_MESSAGE_END)
		message_end(m, f, e);
	else if (e->kind == EV_END)
		run_ended(m, f, e);
}

static void
mcp_drop(struct reply *r)
{
	struct mcp *m = mcp_of(r);

	free(m->id);
	free(m->progress);
	str_free(&m->content);
	str_free(&m->session);
}

const struct reply_kind reply_mcp = {
	.name = "mcp",
	.size = sizeof(struct mcp),
	.open = mcp_open,
	.event = mcp_event,
	.whole = mcp_whole,
	.drop = mcp_drop,
};
