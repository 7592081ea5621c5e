#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "engine/event.h"
#include "engine/reply_responses.h"
#include "engine/responses_int.h"

/* ---- the response object ---- */

static void
put_error(struct str *out, const struct responses *r)
{
	if (r->why == NULL) {
		str_puts(out, "null");
		return;
	}
	str_printf(out,
	    "{\"code\":\"%s\",\"message\":", openai_error_code(r->code));
	put_plain(out, r->why);
	str_puts(out, ",\"type\":");
	put_plain(out, r->code != NULL ? r->code : "server_error");
	str_puts(out, ",\"param\":null}");
}

static const char *const reasons[] = { "max_output_tokens", "max_messages",
	"content_filter" };

/* Only what the schema has a word for; else the error says why. */
static const char *
reason_of(const struct responses *r)
{
	if (r->code == NULL || strcmp(r->status, "incomplete") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (strcmp(r->code, reasons[i]) == 0)
			return reasons[i];
	return NULL;
}

static void
put_usage(struct str *out, const struct responses *r)
{
	struct usage u;

	if (!openai_usage(&u, str_text(&r->usage))) {
		str_puts(out, "null");
		return;
	}
	str_printf(out,
	    "{\"input_tokens\":%lld,\"input_tokens_details\":"
	    "{\"cached_tokens\":%lld,\"cache_write_tokens\":%lld},"
	    "\"output_tokens\":%lld,\"output_tokens_details\":"
	    "{\"reasoning_tokens\":%lld},\"total_tokens\":%lld}",
	    (long long)u.input, (long long)u.cached, (long long)u.written,
	    (long long)u.output, (long long)u.reasoning, (long long)u.total);
}

void
responses_print_output(const struct reply *reply, struct str *out)
{
	const struct responses *r = (const struct responses *)reply;

	str_putc(out, '[');
	for (unsigned i = 0; i < r->nitems; i++) {
		if (i > 0)
			str_putc(out, ',');
		item_put(out, &r->item[i]);
	}
	str_putc(out, ']');
}

void
responses_print(const struct reply *reply, const struct run_facts *run,
    struct str *out)
{
	const struct responses *r = (const struct responses *)reply;
	const char *reason = reason_of(r);

	str_puts(out, "{\"id\":");
	put_plain(out, run->id);
	str_printf(out,
	    ",\"object\":\"response\",\"created_at\":%lld,\"status\":\"%s\"",
	    (long long)run->created_at, r->status);
	if (r->completed_at != 0)
		str_printf(out, ",\"completed_at\":%lld",
		    (long long)r->completed_at);
	else
		str_puts(out, ",\"completed_at\":null");
	str_puts(out, ",\"error\":");
	put_error(out, r);
	if (reason != NULL)
		str_printf(out, ",\"incomplete_details\":{\"reason\":\"%s\"}",
		    reason);
	else
		str_puts(out, ",\"incomplete_details\":null");
	str_puts(out, ",\"model\":");
	put_plain(out, run->model[0] != '\0' ? run->model : run->agent);
	str_puts(out, ",\"output\":");
	responses_print_output(reply, out);
	str_puts(out, ",\"usage\":");
	put_usage(out, r);
	if (r->echo.len > 0) {
		str_putc(out, ',');
		str_add(out, r->echo.at, r->echo.len);
	}
	str_putc(out, '}');
}

const char *
responses_status(const struct reply *reply)
{
	return ((const struct responses *)reply)->status;
}

/* ---- the run's events ---- */

static void
on_message(struct tell *t, const struct event *ev)
{
	int kind = item_kind_of(ev->message);

	/* of a call nothing is known yet */
	if (kind == ITEM_MESSAGE || kind == ITEM_REASONING)
		item_begin(t, ev->message, (enum item_kind)kind);
}

static void
on_more(struct tell *t, const struct event *ev)
{
	struct item *it = item_for(t, ev->message);

	if (it == NULL)
		return;
	if (it->kind == ITEM_FUNCTION_CALL || it->kind == ITEM_MCP_CALL)
		call_more(t, it);
	else if (item_has_parts(it->kind) && part_kinds[ev->part->type].grows)
		part_more(t, it, ev->part, ev->text);
}

static void
on_part_end(struct tell *t, const struct event *ev)
{
	struct item *it = item_for(t, ev->message);

	if (it != NULL && item_has_parts(it->kind))
		part_end(t, it, ev->part, ev->text);
}

static void
on_message_end(struct tell *t, const struct event *ev)
{
	struct item *it;

	if (ev->message->kind == MSG_MCP_CALL_OUTPUT &&
	    item_of(t->r, ev->message) == NULL &&
	    join_output(t, ev->message, true))
		return;
	it = item_for(t, ev->message);
	if (it != NULL)
		item_finish(t, it, false);
}

/* clang-format off */
static const struct {
	const char *status, *event;
} ends[RUN_STATUSES] = {
	[RUN_COMPLETED]	 = { "completed",  "response.completed" },
	[RUN_FAILED]	 = { "failed",	   "response.failed" },
	[RUN_REJECTED]	 = { "failed",	   "response.failed" },
	/* there is no event for it: what the stream has is incomplete */
	[RUN_CANCELED]	 = { "cancelled",  "response.incomplete" },
	[RUN_INCOMPLETE] = { "incomplete", "response.incomplete" },
};
/* clang-format on */

static void
on_end(struct tell *t, const struct event *ev)
{
	struct responses *r = t->r;
	bool whole = ev->status == RUN_COMPLETED;

	for (unsigned i = 0; i < r->nitems; i++)
		item_finish(t, &r->item[i], true);
	r->status = ends[ev->status].status != NULL ? ends[ev->status].status
						    : "failed";
	if (whole)
		r->completed_at = ev->now_s;
	else if (ev->status != RUN_CANCELED)
		r->why =
		    xstrdup(ev->why != NULL ? ev->why : "The run has failed.");
	r->code = ev->code != NULL ? xstrdup(ev->code) : NULL;
	if (ev->usage != NULL)
		str_puts(&r->usage, ev->usage);
	if (reason_of(r) != NULL) {
		free(r->why);
		r->why = NULL;
	}
	tell_response(t,
	    ends[ev->status].event != NULL ? ends[ev->status].event
					   : "response.failed");
}

static void
on_created(struct tell *t, const struct event *ev)
{
	(void)ev;
	tell_response(t, "response.created");
	if (t->r->background)
		tell_response(t, "response.queued");
}

static void
on_started(struct tell *t, const struct event *ev)
{
	(void)ev;
	t->r->status = "in_progress";
	tell_response(t, "response.in_progress");
}

static void (*const on[])(struct tell *, const struct event *) = {
	[EV_CREATED] = on_created,
	[EV_STARTED] = on_started,
	[EV_MESSAGE] = on_message,
	[EV_DELTA] = on_more,
	[EV_VALUE] = on_more,
	[EV_PART_END] = on_part_end,
	[EV_MESSAGE_END] = on_message_end,
	[EV_END] = on_end,
};

/* ---- the kind ---- */

static void
responses_open(struct reply *reply, const void *arg)
{
	struct responses *r = (struct responses *)reply;
	const struct responses_ask *ask = arg;

	r->background = ask != NULL && ask->background;
	r->status = r->background ? "queued" : "in_progress";
	if (ask != NULL && ask->echo != NULL)
		str_puts(&r->echo, ask->echo);
}

static void
responses_event(struct reply *reply, const struct event *ev, struct feed *feed)
{
	struct tell t = { (struct responses *)reply, feed };

	t.r->run = ev->run;
	on[ev->kind](&t, ev);
}

/* A whole Response, and upstream's member with a copy of it (spec 3.4). */
static void
responses_whole(const struct reply *reply, struct str *json)
{
	const struct responses *r = (const struct responses *)reply;
	auto_str struct str one = { 0 };

	responses_print(reply, r->run, &one);
	str_add(json, one.at, one.len - 1);
	str_puts(json, ",\"response\":");
	str_add(json, one.at, one.len);
	str_putc(json, '}');
}

static void
responses_drop(struct reply *reply)
{
	struct responses *r = (struct responses *)reply;

	for (unsigned i = 0; i < r->nitems; i++)
		free(r->item[i].part);
	free(r->item);
	free(r->of);
	free(r->code);
	free(r->why);
	str_free(&r->echo);
	str_free(&r->usage);
}

const struct reply_kind reply_responses = {
	.name = "responses",
	.size = sizeof(struct responses),
	.open = responses_open,
	.event = responses_event,
	.whole = responses_whole,
	.drop = responses_drop,
};
