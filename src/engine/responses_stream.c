#include <stdlib.h>
#include <string.h>
#include "engine/event.h"
#include "engine/feed.h"
#include "engine/pick.h"
#include "engine/reply_responses.h"
#include "engine/responses_int.h"

/* Begins an event; NULL: it need not be printed.  It is counted either way. */
static struct str *
begin(struct tell *t, const char *type)
{
	uint64_t seq = t->r->seq++;
	struct str *out;

	if (t->feed == NULL)
		return NULL;
	out = feed_begin(t->feed, type, seq);
	if (out == NULL)
		return NULL;
	str_printf(out, "{\"type\":\"%s\",\"sequence_number\":%llu", type,
	    (unsigned long long)seq);
	return out;
}

static void
end(struct tell *t, struct str *out)
{
	str_putc(out, '}');
	feed_end(t->feed);
}

void
tell_response(struct tell *t, const char *type)
{
	struct str *out = begin(t, type);

	if (out == NULL)
		return;
	str_puts(out, ",\"response\":");
	responses_print(&t->r->reply, t->r->run, out);
	end(t, out);
}

static void
tell_item(struct tell *t, const struct item *it, bool begun)
{
	struct str *out = begin(t,
	    begun ? "response.output_item.added" : "response.output_item.done");

	if (out == NULL)
		return;
	str_printf(out, ",\"output_index\":%u,\"item\":", it->index);
	if (begun)
		item_put_begun(out, it);
	else
		item_put(out, it);
	end(t, out);
}

/* One about an item: at: its content_index, or -1. */
static struct str *
begin_item(struct tell *t, const char *type, const struct item *it, int at)
{
	struct str *out = begin(t, type);

	if (out == NULL)
		return NULL;
	str_printf(out, ",\"item_id\":\"%s\",\"output_index\":%u", it->id,
	    it->index);
	if (at >= 0)
		str_printf(out, ",\"content_index\":%d", at);
	return out;
}

static void
tell_state(struct tell *t, const char *type, const struct item *it)
{
	struct str *out = begin_item(t, type, it, -1);

	if (out != NULL)
		end(t, out);
}

/* ---- items ---- */

struct item *
item_of(struct responses *r, const struct message *m)
{
	return m->number < r->nof && r->of[m->number] >= 0
	    ? &r->item[r->of[m->number]]
	    : NULL;
}

static void
note_item(struct responses *r, const struct message *m, unsigned index)
{
	unsigned room = r->nof > 0 ? r->nof : 8;

	while (room <= m->number)
		room *= 2;
	if (room > r->nof) {
		r->of = xrealloc(r->of, room * sizeof *r->of);
		for (unsigned i = r->nof; i < room; i++)
			r->of[i] = -1;
		r->nof = room;
	}
	r->of[m->number] = (int)index;
}

/* The pointer is good until the next item is added. */
static struct item *
add_item(struct tell *t, enum item_kind kind, const struct message *m,
    unsigned image)
{
	struct responses *r = t->r;
	struct item *it;

	if ((r->nitems & (r->nitems - 1)) == 0)
		r->item = xrealloc(r->item,
		    (r->nitems > 0 ? r->nitems * 2 : 1) * sizeof *r->item);
	it = &r->item[r->nitems];
	*it = (struct item){ .kind = kind,
		.message = m,
		.index = r->nitems,
		.image = image,
		.open = true };
	item_name(it, r->run->id);
	r->nitems++;
	tell_item(t, it, true);
	return it;
}

static void
end_item(struct tell *t, struct item *it, bool cut)
{
	if (!it->open)
		return;
	it->open = false;
	it->cut = cut;
	tell_item(t, it, false);
}

/* ---- parts of messages and reasoning ---- */

static const struct {
	const char *type, *delta, *done;
} words[] = {
	{ "output_text", "response.output_text.delta",
	    "response.output_text.done" },
	{ "refusal", "response.refusal.delta", "response.refusal.done" },
	{ "reasoning_text", "response.reasoning_text.delta",
	    "response.reasoning_text.done" },
};

static size_t
word(const struct item *it, const struct part *p)
{
	const char *type = item_part_type(it, p);
	size_t i = 0;

	while (i < 2 && strcmp(words[i].type, type) != 0)
		i++;
	return i;
}

static struct item_part *
part_of(struct tell *t, struct item *it, const struct part *p)
{
	struct item_part *ip;
	struct str *out;

	if (p->index >= it->nparts) {
		it->part =
		    xrealloc(it->part, (p->index + 1) * sizeof *it->part);
		for (unsigned i = it->nparts; i <= p->index; i++)
			it->part[i] = (struct item_part){ 0 };
		it->nparts = p->index + 1;
	}
	ip = &it->part[p->index];
	if (ip->added)
		return ip;
	ip->added = true;
	ip->at = it->nadded++;
	out = begin_item(t, "response.content_part.added", it, (int)ip->at);
	if (out != NULL) {
		str_puts(out, ",\"part\":");
		item_put_part(out, it, p, true);
		end(t, out);
	}
	return ip;
}

static void
tell_delta(struct tell *t, const struct item *it, unsigned at, size_t w,
    struct slice text)
{
	struct str *out;

	if (text.len == 0)
		return;
	out = begin_item(t, words[w].delta, it, (int)at);
	if (out == NULL)
		return;
	str_puts(out, ",\"delta\":");
	put_text(out, text);
	if (w == 0)
		str_puts(out, ",\"logprobs\":[]");
	end(t, out);
}

static void
tell_done(struct tell *t, const struct item *it, unsigned at, size_t w,
    struct slice text)
{
	struct str *out = begin_item(t, words[w].done, it, (int)at);

	if (out == NULL)
		return;
	str_puts(out, w == 1 ? ",\"refusal\":" : ",\"text\":");
	put_text(out, text);
	if (w == 0)
		str_puts(out, ",\"logprobs\":[]");
	end(t, out);
}

void
part_more(struct tell *t, struct item *it, const struct part *p,
    struct slice more)
{
	struct item_part *ip = part_of(t, it, p);

	tell_delta(t, it, ip->at, word(it, p), more);
}

/* An item of its own: it is there when it is complete. */
static void
picture(struct tell *t, const struct message *m, unsigned part)
{
	struct item *it = add_item(t, ITEM_IMAGE, m, part);

	tell_state(t, "response.image_generation_call.in_progress", it);
	tell_state(t, "response.image_generation_call.completed", it);
	end_item(t, it, false);
}

void
part_end(struct tell *t, struct item *it, const struct part *p,
    struct slice rest)
{
	auto_str struct str text = { 0 };
	struct item_part *ip;
	struct str *out;
	size_t w = word(it, p);

	if (it->kind == ITEM_MESSAGE && part_is_picture(p)) {
		picture(t, it->message, p->index);
		return;
	}
	ip = part_of(t, it, p);
	if (ip->done)
		return;
	ip->done = true;
	openai_part_text(&text, p);
	tell_delta(t, it, ip->at, w,
	    part_kinds[p->type].grows ? rest : slice_of(&text));
	tell_done(t, it, ip->at, w, slice_of(&text));
	out = begin_item(t, "response.content_part.done", it, (int)ip->at);
	if (out == NULL)
		return;
	str_puts(out, ",\"part\":");
	item_put_part(out, it, p, false);
	end(t, out);
}

/* An error is a message that says it; it has no parts in the run. */
static void
error_text(struct tell *t, struct item *it)
{
	static const char *const types[] = { "response.content_part.added",
		"response.content_part.done" };
	const struct message *m = it->message;
	struct str *out;

	for (int i = 0; i < 2; i++) {
		out = begin_item(t, types[i], it, 0);
		if (out == NULL)
			continue;
		str_puts(out, ",\"part\":");
		item_put_error(out, m, i == 0);
		end(t, out);
		if (i > 0)
			break;
		tell_delta(t, it, 0, 0, slice_of(&m->text));
		tell_done(t, it, 0, 0, slice_of(&m->text));
	}
}

/* ---- calls ---- */

static const char *
arguments_event(const struct item *it, bool done)
{
	static const char *const names[2][2] = {
		{ "response.function_call_arguments.delta",
		    "response.function_call_arguments.done" },
		{ "response.mcp_call_arguments.delta",
		    "response.mcp_call_arguments.done" },
	};

	return names[it->kind == ITEM_MCP_CALL][done];
}

void
call_more(struct tell *t, struct item *it)
{
	auto_str struct str args = { 0 };
	struct slice more;
	struct str *out;

	openai_member_text(&args, openai_data(it->message), "arguments");
	more = told_more(&it->told, slice_of(&args));
	if (more.len == 0)
		return;
	out = begin_item(t, arguments_event(it, false), it, -1);
	if (out == NULL)
		return;
	str_puts(out, ",\"delta\":");
	put_text(out, more);
	end(t, out);
}

static void
call_end(struct tell *t, struct item *it)
{
	struct slice data = openai_data(it->message);
	struct str *out;

	call_more(t, it);
	out = begin_item(t, arguments_event(it, true), it, -1);
	if (out == NULL)
		return;
	str_puts(out, ",\"name\":\"");
	openai_member_text(out, data, "name");
	str_puts(out, "\",\"arguments\":\"");
	openai_member_text(out, data, "arguments");
	str_puts(out, "\"");
	end(t, out);
}

static void
tools_end(struct tell *t, struct item *it)
{
	struct slice error = pick(openai_data(it->message), "error");

	tell_state(t,
	    error.at == NULL || slice_is(error, "null")
		? "response.mcp_list_tools.completed"
		: "response.mcp_list_tools.failed",
	    it);
}

static bool
same_call(const struct message *a, const struct message *b)
{
	struct slice x = pick_text(openai_data(a), "call_id"),
		     y = pick_text(openai_data(b), "call_id");

	return x.at != NULL && x.len == y.len && memcmp(x.at, y.at, x.len) == 0;
}

/* What an MCP server answered belongs to its call's item. */
bool
join_output(struct tell *t, const struct message *m, bool over)
{
	struct responses *r = t->r;

	for (unsigned i = r->nitems; i-- > 0;) {
		struct item *it = &r->item[i];

		if (!it->open || it->kind != ITEM_MCP_CALL ||
		    !same_call(it->message, m))
			continue;
		if (over) {
			it->output = m;
			tell_state(t, "response.mcp_call.completed", it);
			end_item(t, it, m->status != RUN_COMPLETED);
		}
		return true;
	}
	return false;
}

/* The item of a message that shows data: begun when there is some. */
struct item *
item_for(struct tell *t, const struct message *m)
{
	struct item *it = item_of(t->r, m);
	int kind = item_kind_of(m);

	if (it != NULL || kind < 0 || m->nparts == 0)
		return it;
	if (m->kind == MSG_MCP_CALL_OUTPUT && join_output(t, m, false))
		return NULL;
	it = add_item(t, (enum item_kind)kind, m, 0);
	note_item(t->r, m, it->index);
	if (kind == ITEM_MCP_CALL)
		tell_state(t, "response.mcp_call.in_progress", it);
	if (kind == ITEM_MCP_TOOLS)
		tell_state(t, "response.mcp_list_tools.in_progress", it);
	return it;
}

void
item_begin(struct tell *t, const struct message *m, enum item_kind kind)
{
	note_item(t->r, m, add_item(t, kind, m, 0)->index);
}

void
item_finish(struct tell *t, struct item *it, bool cut)
{
	if (!it->open)
		return;
	switch (it->kind) {
	case ITEM_MESSAGE:
	case ITEM_REASONING:
		if (it->message->kind == MSG_ERROR && it->nadded == 0)
			error_text(t, it);
		break;
	case ITEM_FUNCTION_CALL:
		call_end(t, it);
		break;
	case ITEM_MCP_CALL:
		if (!it->waits)
			call_end(t, it);
		if (!cut && it->message->status == RUN_COMPLETED) {
			it->waits = true;
			return;
		}
		tell_state(t,
		    it->waits ? "response.mcp_call.completed"
			      : "response.mcp_call.failed",
		    it);
		cut &= !it->waits;
		break;
	case ITEM_MCP_TOOLS:
		tools_end(t, it);
		break;
	default:
		break;
	}
	end_item(t, it, cut);
}
