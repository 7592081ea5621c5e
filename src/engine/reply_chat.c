#include <stdlib.h>
#include <string.h>
#include "engine/feed.h"
#include "engine/openai.h"
#include "engine/pick.h"
#include "engine/reply_chat.h"

struct call {
	const struct message *message;
	struct told told;
	bool begun, answered;
	unsigned index; /* begun: of the choice's tool_calls */
};

struct chat {
	struct reply reply;
	bool usage_wanted;
	uint64_t seq;
	const struct run_facts *run;
	const struct message **message; /* all that were announced */
	unsigned nmessages;
	/* whose text was told last: content, reasoning */
	const struct message *last[2];
	struct call *call;
	unsigned ncalls, nbegun;
	enum run_status status;
	char *code, *why;
	struct str usage;
};

/* clang-format off */
enum voice { MUTE, CONTENT, REASONING, CALL, OUTPUT };

static const enum voice voices[MSG_KINDS] = {
	[MSG_MESSAGE]			= CONTENT,
	[MSG_REASONING]			= REASONING,
	[MSG_PLUGIN_CALL]		= CALL,
	[MSG_PLUGIN_CALL_OUTPUT]	= OUTPUT,
	[MSG_FUNCTION_CALL]		= CALL,
	[MSG_FUNCTION_CALL_OUTPUT]	= OUTPUT,
	[MSG_COMPONENT_CALL]		= CALL,
	[MSG_COMPONENT_CALL_OUTPUT]	= OUTPUT,
	[MSG_MCP_CALL]			= CALL,
	[MSG_MCP_CALL_OUTPUT]		= OUTPUT,
	[MSG_ERROR]			= CONTENT,
	[MSG_OTHER]			= CONTENT,
};
/* clang-format on */

static const char *
field_of(const struct message *m, const struct part *p)
{
	if (voices[m->kind] == REASONING)
		return "reasoning_content";
	return p->type == PART_REFUSAL ? "refusal" : "content";
}

/* ---- chunks ---- */

struct tell {
	struct chat *c;
	struct feed *feed;
};

static struct str *
begin(struct tell *t)
{
	const struct run_facts *run = t->c->run;
	struct str *out;

	if (t->feed == NULL)
		return NULL;
	out = feed_begin(t->feed, NULL, t->c->seq++);
	if (out == NULL)
		return NULL;
	str_puts(out, "{\"id\":");
	put_plain(out, run->id);
	str_printf(out,
	    ",\"object\":\"chat.completion.chunk\",\"created\":%lld,"
	    "\"model\":",
	    (long long)run->created_at);
	put_plain(out, run->model[0] != '\0' ? run->model : run->agent);
	str_puts(out, ",\"system_fingerprint\":null,\"choices\":[");
	return out;
}

static void
end(struct tell *t, struct str *out)
{
	str_putc(out, ']');
	if (t->c->usage_wanted)
		str_puts(out, ",\"usage\":null");
	str_putc(out, '}');
	feed_end(t->feed);
}

static struct str *
begin_delta(struct tell *t)
{
	struct str *out = begin(t);

	if (out != NULL)
		str_puts(out, "{\"index\":0,\"delta\":{");
	return out;
}

static void
end_delta(struct tell *t, struct str *out, const char *finish)
{
	if (out == NULL)
		return;
	str_puts(out, "},\"logprobs\":null,\"finish_reason\":");
	if (finish != NULL)
		str_printf(out, "\"%s\"}", finish);
	else
		str_puts(out, "null}");
	end(t, out);
}

static void
tell_text(struct tell *t, const struct message *m, const char *field,
    struct slice text)
{
	const struct message **last;
	struct str *out;

	if (text.len == 0 || (out = begin_delta(t)) == NULL)
		return;
	str_printf(out, "\"%s\":\"", field);
	last = &t->c->last[voices[m->kind] == REASONING];
	/* an empty line between two messages */
	if (*last != NULL && *last != m)
		str_puts(out, "\\n\\n");
	*last = m;
	str_add(out, text.at, text.len);
	str_putc(out, '"');
	end_delta(t, out, NULL);
}

/* ---- calls ---- */

static struct call *
call_of(struct chat *c, const struct message *m)
{
	for (unsigned i = c->ncalls; i-- > 0;)
		if (c->call[i].message == m)
			return &c->call[i];
	if ((c->ncalls & (c->ncalls - 1)) == 0)
		c->call = xrealloc(c->call,
		    (c->ncalls > 0 ? c->ncalls * 2 : 1) * sizeof *c->call);
	c->call[c->ncalls] = (struct call){ .message = m };
	return &c->call[c->ncalls++];
}

static void
put_call_head(struct str *out, const struct message *m, unsigned index,
    bool whole)
{
	struct slice data = openai_data(m), id = pick_text(data, "call_id");

	if (!whole)
		str_printf(out, "\"index\":%u,", index);
	str_puts(out, "\"id\":");
	put_text(out, id.len > 0 ? id : (struct slice){ m->id, strlen(m->id) });
	str_puts(out, ",\"type\":\"function\",\"function\":{\"name\":\"");
	openai_member_text(out, data, "name");
	str_puts(out, "\",\"arguments\":\"");
}

/* Begins it, or adds what its arguments have more than was told. */
static void
tell_call(struct tell *t, struct call *call)
{
	auto_str struct str args = { 0 };
	struct slice more;
	struct str *out;
	bool first = !call->begun;

	openai_member_text(&args, openai_data(call->message), "arguments");
	more = told_more(&call->told, slice_of(&args));
	if (!first && more.len == 0)
		return;
	if (first) {
		call->begun = true;
		call->index = t->c->nbegun++;
	}
	out = begin_delta(t);
	if (out == NULL)
		return;
	str_puts(out, "\"tool_calls\":[{");
	if (first)
		put_call_head(out, call->message, call->index, false);
	else
		str_printf(out, "\"index\":%u,\"function\":{\"arguments\":\"",
		    call->index);
	if (more.len > 0)
		str_add(out, more.at, more.len);
	str_puts(out, "\"}}]");
	end_delta(t, out, NULL);
}

static void
answered(struct chat *c, const struct message *m)
{
	struct slice id = pick_text(openai_data(m), "call_id"), other;

	for (unsigned i = 0; i < c->ncalls; i++) {
		other = pick_text(openai_data(c->call[i].message), "call_id");
		if (id.at != NULL && other.len == id.len &&
		    memcmp(other.at, id.at, id.len) == 0)
			c->call[i].answered = true;
	}
}

static bool
calls_open(const struct chat *c)
{
	for (unsigned i = 0; i < c->ncalls; i++)
		if (!c->call[i].answered)
			return true;
	return false;
}

/* ---- the run's events ---- */

static void
on_created(struct tell *t, const struct event *ev)
{
	struct str *out = begin_delta(t);

	(void)ev;
	if (out == NULL)
		return;
	str_puts(out,
	    "\"role\":\"assistant\",\"content\":\"\",\"refusal\":null");
	end_delta(t, out, NULL);
}

static void
on_message(struct tell *t, const struct event *ev)
{
	struct chat *c = t->c;

	if ((c->nmessages & (c->nmessages - 1)) == 0)
		c->message = xrealloc(c->message,
		    (c->nmessages > 0 ? c->nmessages * 2 : 1) *
			sizeof *c->message);
	c->message[c->nmessages++] = ev->message;
}

static void
on_more(struct tell *t, const struct event *ev)
{
	const struct message *m = ev->message;

	switch (voices[m->kind]) {
	case CONTENT:
	case REASONING:
		if (part_kinds[ev->part->type].grows)
			tell_text(t, m, field_of(m, ev->part), ev->text);
		break;
	case CALL:
		/* of others it is not known yet who is to make them */
		if (m->kind == MSG_FUNCTION_CALL && openai_data(m).at != NULL)
			tell_call(t, call_of(t->c, m));
		break;
	default:
		break;
	}
}

static void
on_part_end(struct tell *t, const struct event *ev)
{
	auto_str struct str text = { 0 };
	const struct message *m = ev->message;

	if (voices[m->kind] != CONTENT && voices[m->kind] != REASONING) {
		on_more(t, ev);
		return;
	}
	if (!part_kinds[ev->part->type].grows && t->feed != NULL)
		openai_part_text(&text, ev->part);
	tell_text(t, m, field_of(m, ev->part),
	    part_kinds[ev->part->type].grows ? ev->text : slice_of(&text));
}

static void
on_message_end(struct tell *t, const struct event *ev)
{
	const struct message *m = ev->message;

	if (voices[m->kind] == CALL && openai_data(m).at != NULL)
		call_of(t->c, m);
	else if (voices[m->kind] == OUTPUT)
		answered(t->c, m);
	else if (m->kind == MSG_ERROR && m->nparts == 0)
		tell_text(t, m, "content", slice_of(&m->text));
}

static const char *
finish_of(const struct chat *c)
{
	if (c->status == RUN_INCOMPLETE)
		return c->code != NULL && strcmp(c->code, "content_filter") == 0
		    ? "content_filter"
		    : "length";
	return calls_open(c) ? "tool_calls" : "stop";
}

bool
chat_failed(const struct reply *reply)
{
	const struct chat *c = (const struct chat *)reply;

	return c->status != RUN_COMPLETED && c->status != RUN_INCOMPLETE;
}

static void
put_error(struct str *out, const struct chat *c)
{
	const char *code = c->code != NULL ? c->code : "server_error";
	bool canceled = c->status == RUN_CANCELED;

	str_puts(out, "{\"error\":{\"message\":");
	put_plain(out,
	    c->why != NULL ? c->why
		: canceled ? "The run was canceled."
			   : "The run has failed.");
	str_printf(out, ",\"type\":\"%s\",\"param\":null,\"code\":",
	    canceled ? "canceled" : "server_error");
	put_plain(out, canceled ? "canceled" : code);
	str_puts(out, "}}");
}

static void
put_usage(struct str *out, const struct chat *c)
{
	struct usage u;

	openai_usage(&u, str_text(&c->usage));
	str_printf(out,
	    "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,"
	    "\"total_tokens\":%lld,"
	    "\"prompt_tokens_details\":{\"cached_tokens\":%lld},"
	    "\"completion_tokens_details\":{\"reasoning_tokens\":%lld}}",
	    (long long)u.input, (long long)u.output, (long long)u.total,
	    (long long)u.cached, (long long)u.reasoning);
}

static void
tell_end(struct tell *t)
{
	struct chat *c = t->c;
	struct str *out;

	for (unsigned i = 0; i < c->ncalls; i++)
		if (!c->call[i].answered)
			tell_call(t, &c->call[i]);
	end_delta(t, begin_delta(t), finish_of(c));
	if (!c->usage_wanted)
		return;
	out = begin(t);
	if (out == NULL)
		return;
	str_puts(out, "],\"usage\":");
	put_usage(out, c);
	str_putc(out, '}');
	feed_end(t->feed);
}

static void
on_end(struct tell *t, const struct event *ev)
{
	struct chat *c = t->c;

	c->status = ev->status;
	c->code = ev->code != NULL ? xstrdup(ev->code) : NULL;
	c->why = ev->why != NULL ? xstrdup(ev->why) : NULL;
	if (ev->usage != NULL)
		str_puts(&c->usage, ev->usage);
	if (t->feed == NULL)
		return;
	if (chat_failed(&c->reply)) {
		auto_str struct str error = { 0 };

		put_error(&error, c);
		feed_put(t->feed, NULL, c->seq++, error.at, error.len);
	} else {
		tell_end(t);
	}
	feed_put(t->feed, NULL, c->seq++, "[DONE]", 6);
}

static void (*const on[])(struct tell *, const struct event *) = {
	[EV_CREATED] = on_created,
	[EV_MESSAGE] = on_message,
	[EV_DELTA] = on_more,
	[EV_VALUE] = on_more,
	[EV_PART_END] = on_part_end,
	[EV_MESSAGE_END] = on_message_end,
	[EV_END] = on_end,
};

static void
chat_event(struct reply *reply, const struct event *ev, struct feed *feed)
{
	struct tell t = { (struct chat *)reply, feed };

	t.c->run = ev->run;
	if (on[ev->kind] != NULL)
		on[ev->kind](&t, ev);
}

/* ---- the whole ---- */

/* All text of one field; how many bytes it has. */
static size_t
gather(const struct chat *c, const char *field, struct str *out)
{
	const struct message *last = NULL;
	auto_str struct str text = { 0 };

	for (unsigned i = 0; i < c->nmessages; i++) {
		const struct message *m = c->message[i];

		if (voices[m->kind] != CONTENT && voices[m->kind] != REASONING)
			continue;
		str_cut(&text, 0);
		for (unsigned k = 0; k < m->nparts; k++)
			if (strcmp(field_of(m, &m->part[k]), field) == 0)
				openai_part_text(&text, &m->part[k]);
		if (m->kind == MSG_ERROR && m->nparts == 0 &&
		    strcmp(field, "content") == 0)
			str_add(&text, str_text(&m->text), m->text.len);
		if (text.len > 0 && last != NULL)
			str_puts(out, "\\n\\n");
		if (text.len > 0)
			last = m;
		str_add(out, str_text(&text), text.len);
	}
	return out->len;
}

static void
put_field(struct str *out, const struct chat *c, const char *field, bool always)
{
	auto_str struct str text = { 0 };

	if (gather(c, field, &text) > 0) {
		str_printf(out, ",\"%s\":", field);
		put_text(out, slice_of(&text));
	} else if (always) {
		str_printf(out, ",\"%s\":null", field);
	}
}

static void
put_calls(struct str *out, const struct chat *c)
{
	bool any = false;

	if (!calls_open(c))
		return;
	str_puts(out, ",\"tool_calls\":[");
	for (unsigned i = 0; i < c->ncalls; i++) {
		if (c->call[i].answered)
			continue;
		str_puts(out, any ? ",{" : "{");
		any = true;
		put_call_head(out, c->call[i].message, 0, true);
		openai_member_text(out, openai_data(c->call[i].message),
		    "arguments");
		str_puts(out, "\"}}");
	}
	str_putc(out, ']');
}

static void
chat_whole(const struct reply *reply, struct str *out)
{
	const struct chat *c = (const struct chat *)reply;

	if (chat_failed(reply)) {
		put_error(out, c);
		return;
	}
	str_puts(out, "{\"id\":");
	put_plain(out, c->run->id);
	str_printf(out,
	    ",\"object\":\"chat.completion\",\"created\":%lld,\"model\":",
	    (long long)c->run->created_at);
	put_plain(out,
	    c->run->model[0] != '\0' ? c->run->model : c->run->agent);
	str_puts(out,
	    ",\"system_fingerprint\":null,\"choices\":[{\"index\":0,"
	    "\"message\":{\"role\":\"assistant\"");
	put_field(out, c, "content", true);
	put_field(out, c, "refusal", true);
	put_field(out, c, "reasoning_content", false);
	put_calls(out, c);
	str_printf(out,
	    ",\"annotations\":[]},\"logprobs\":null,\"finish_reason\":\"%s\"}]"
	    ",\"usage\":",
	    finish_of(c));
	put_usage(out, c);
	str_putc(out, '}');
}

static void
chat_open(struct reply *reply, const void *arg)
{
	const struct chat_ask *ask = arg;

	((struct chat *)reply)->usage_wanted = ask != NULL && ask->usage;
}

static void
chat_drop(struct reply *reply)
{
	struct chat *c = (struct chat *)reply;

	free(c->message);
	free(c->call);
	free(c->code);
	free(c->why);
	str_free(&c->usage);
}

const struct reply_kind reply_chat = {
	.name = "chat",
	.size = sizeof(struct chat),
	.open = chat_open,
	.event = chat_event,
	.whole = chat_whole,
	.drop = chat_drop,
};
