#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "base/uuid.h"
#include "engine/run_int.h"

#define OPEN_MOST 256 /* messages open at once */
/* Both are looked through for a line. */
#define PARTS_MOST 4096 /* of a message */
#define ENDED_MOST 1024 /* messages whose end may be said twice */
/* What an empty one counts, so that their number is bounded with the bytes. */
#define MESSAGE_COST 512
#define PART_COST 160

static void
emit_part(struct run *r, enum event_kind kind, struct item *it, struct part *p,
    struct slice text)
{
	struct event ev = { .kind = kind,
		.message = &it->m,
		.part = p,
		.text = text };

	if (kind == EV_PART_END)
		p->seq = r->seq;
	run_emit(r, &ev);
}

static void
emit_message(struct run *r, enum event_kind kind, struct item *it)
{
	struct event ev = { .kind = kind, .message = &it->m };

	it->m.seq = r->seq;
	run_emit(r, &ev);
}

/* ---- messages ---- */

static struct item *
newest_answer(struct run *r)
{
	struct item *it;

	TAILQ_FOREACH_REVERSE(it, &r->open, items, link)
	if (it->m.kind == MSG_MESSAGE)
		return it;
	return NULL;
}

/* Without a label: the newest open one that has none, of this type if any. */
static struct item *
find_open(struct run *r, struct slice label, const char *type)
{
	struct item *it;

	TAILQ_FOREACH_REVERSE(it, &r->open, items, link)
	{
		if (it->nlabel != label.len)
			continue;
		if (label.len > 0 &&
		    memcmp(it->label, label.at, label.len) != 0)
			continue;
		if (label.len == 0 && type != NULL &&
		    strcmp(it->m.type, type) != 0)
			continue;
		return it;
	}
	return NULL;
}

static bool
was_ended(const struct run *r, struct slice label)
{
	const struct item *it;
	unsigned n = 0;

	TAILQ_FOREACH_REVERSE(it, &r->done, items, link)
	{
		if (n++ == ENDED_MOST)
			break;
		if (it->nlabel == label.len && label.len > 0 &&
		    memcmp(it->label, label.at, label.len) == 0)
			return true;
	}
	return false;
}

static bool
is_output(enum message_kind kind)
{
	return kind == MSG_PLUGIN_CALL_OUTPUT ||
	    kind == MSG_FUNCTION_CALL_OUTPUT ||
	    kind == MSG_COMPONENT_CALL_OUTPUT || kind == MSG_MCP_CALL_OUTPUT;
}

static void
set(struct str *to, struct slice from)
{
	if (from.at == NULL)
		return;
	str_cut(to, 0);
	str_add(to, from.at, from.len);
}

/* Not announced yet: what it has to say goes with that.  NULL: over. */
static struct item *
new_item(struct run *r, const struct run_message *say)
{
	const char *type = say->type != NULL ? say->type : "message";
	struct item *it;

	if (!run_charge(r, MESSAGE_COST + say->label.len))
		return NULL;
	if (r->nopen == OPEN_MOST) {
		run_stop(r, RUN_FAILED, "RESPONSE_ERROR",
		    "too many messages are open at once");
		return NULL;
	}
	it = xcalloc(1, sizeof *it + say->label.len);
	strcpy(it->m.id, "msg_");
	uuid_put(it->m.id + 4);
	it->m.kind = message_kind_of(type);
	strncpy(it->m.type, type, sizeof it->m.type - 1);
	strncpy(it->m.role,
	    say->role != NULL           ? say->role
		: is_output(it->m.kind) ? "tool"
					: "assistant",
	    sizeof it->m.role - 1);
	it->m.status = RUN_IN_PROGRESS;
	it->m.number = r->nmessage++;
	it->nlabel = say->label.len;
	if (say->label.len > 0)
		memcpy(it->label, say->label.at, say->label.len);
	TAILQ_INSERT_TAIL(&r->open, it, link);
	r->nopen++;
	if (it->m.kind == MSG_MESSAGE)
		r->answer = it;
	return it;
}

static struct item *
begin(struct run *r, struct slice label)
{
	struct run_message say = { .label = label };
	struct item *it = new_item(r, &say);

	if (it != NULL)
		emit_message(r, EV_MESSAGE, it);
	return it;
}

static void
end_parts(struct run *r, struct item *it, bool completed)
{
	for (unsigned i = 0; i < it->m.nparts; i++) {
		struct part *p = &it->m.part[i];

		if (p->completed)
			continue;
		p->completed = completed;
		emit_part(r, EV_PART_END, it, p, (struct slice){ "", 0 });
	}
}

void
run_end_item(struct run *r, struct item *it, enum run_status status)
{
	/* Its parts say so too. */
	it->m.status = status;
	end_parts(r, it, status == RUN_COMPLETED);
	TAILQ_REMOVE(&r->open, it, link);
	TAILQ_INSERT_TAIL(&r->done, it, link);
	r->nopen--;
	if (r->answer == it)
		r->answer = newest_answer(r);
	if (it->m.kind != MSG_HEARTBEAT) {
		if ((r->noutput & (r->noutput - 1)) == 0)
			r->output = xrealloc(r->output,
			    (r->noutput > 0 ? 2 * r->noutput : 1) *
				sizeof *r->output);
		r->output[r->noutput++] = &it->m;
	}
	emit_message(r, EV_MESSAGE_END, it);
}

void
run_message(struct run *r, const struct run_message *say)
{
	struct item *it;
	bool ends = say->status != RUN_IN_PROGRESS &&
	    say->status != RUN_CREATED && say->status != RUN_QUEUED;

	if (run_deaf(r))
		return;
	it = find_open(r, say->label, say->type);
	/* Its end is said twice. */
	if (it == NULL && ends && was_ended(r, say->label))
		return;
	if (!run_charge(r,
		say->usage.len + say->metadata.len + say->code.len +
		    say->text.len))
		return;
	if (it == NULL) {
		if ((it = new_item(r, say)) == NULL)
			return;
		set(&it->m.usage, say->usage);
		set(&it->m.metadata, say->metadata);
		set(&it->m.code, say->code);
		set(&it->m.text, say->text);
		emit_message(r, EV_MESSAGE, it);
	} else {
		set(&it->m.usage, say->usage);
		set(&it->m.metadata, say->metadata);
		set(&it->m.code, say->code);
		set(&it->m.text, say->text);
	}
	if (ends && !run_deaf(r))
		run_end_item(r, it, say->status);
}

/* ---- parts ---- */

static struct part *
new_part(struct run *r, struct item *it, enum part_type type, int given)
{
	unsigned n = it->m.nparts;
	struct part *p;

	if (!run_charge(r, PART_COST))
		return NULL;
	if (n == PARTS_MOST) {
		run_stop(r, RUN_FAILED, "RESPONSE_ERROR",
		    "a message has too many parts");
		return NULL;
	}
	if ((n & (n - 1)) == 0)
		it->m.part = xrealloc(it->m.part,
		    (n > 0 ? 2 * n : 1) * sizeof *it->m.part);
	p = &it->m.part[it->m.nparts++];
	*p = (struct part){ .type = type, .index = n, .given = given };
	return p;
}

static struct part *
open_part(struct item *it, enum part_type type)
{
	for (unsigned i = it->m.nparts; i-- > 0;)
		if (it->m.part[i].type == type && !it->m.part[i].completed)
			return &it->m.part[i];
	return NULL;
}

static struct part *
given_part(struct item *it, enum part_type type, int given)
{
	for (unsigned i = it->m.nparts; i-- > 0;)
		if (it->m.part[i].given == given && it->m.part[i].type == type)
			return &it->m.part[i];
	return NULL;
}

static void
add_text(struct run *r, struct item *it, struct part *p, struct slice text)
{
	if (!run_charge(r, text.len))
		return;
	str_add(&p->field[0], text.at, text.len);
	p->delta = true;
	emit_part(r, EV_DELTA, it, p, text);
}

void
run_text(struct run *r, struct slice text)
{
	struct item *it;
	struct part *p;

	if (run_deaf(r) || text.len == 0)
		return;
	if ((it = r->answer) == NULL &&
	    (it = begin(r, (struct slice){ NULL, 0 })) == NULL)
		return;
	if ((p = open_part(it, PART_TEXT)) == NULL &&
	    (p = new_part(r, it, PART_TEXT, -1)) == NULL)
		return;
	add_text(r, it, p, text);
}

/*
 * The whole value.  What it adds to what was there, of text that grows; of a
 * value that is another one there is no such thing.
 */
static struct slice
replace(struct part *p, const struct run_content *say)
{
	struct str *text = &p->field[0];
	size_t old = text->len;
	bool on = say->value[0].len >= old &&
	    (old == 0 || memcmp(text->at, say->value[0].at, old) == 0);

	for (int i = 0; i < PART_FIELDS; i++) {
		str_cut(&p->field[i], 0);
		set(&p->field[i], say->value[i]);
	}
	if (!part_kinds[p->type].grows || !on)
		return (struct slice){ NULL, 0 };
	return (struct slice){ str_text(text) + old, text->len - old };
}

static size_t
weight(const struct run_content *say)
{
	size_t n = 0;

	for (int i = 0; i < PART_FIELDS; i++)
		n += say->value[i].len;
	return n;
}

static void
say_part(struct run *r, struct item *it, struct part *p,
    const struct run_content *say)
{
	struct slice more = { "", 0 };
	bool grows = part_kinds[p->type].grows;

	if (say->valued && say->delta && grows) {
		if (say->value[0].len > 0)
			add_text(r, it, p, say->value[0]);
	} else if (say->valued) {
		if (!run_charge(r, weight(say)))
			return;
		more = replace(p, say);
		if (!say->completed)
			emit_part(r, EV_VALUE, it, p, more);
	}
	if (!say->completed || run_deaf(r))
		return;
	p->completed = true;
	emit_part(r, EV_PART_END, it, p, more);
}

void
run_content(struct run *r, const struct run_content *say)
{
	struct item *it;
	struct part *p;

	if (run_deaf(r))
		return;
	it = find_open(r, say->label, NULL);
	if (it == NULL && (it = begin(r, say->label)) == NULL)
		return;
	p = say->index < 0 ? open_part(it, say->type)
			   : given_part(it, say->type, say->index);
	if (p == NULL && !say->valued)
		return;
	if (p == NULL && (p = new_part(r, it, say->type, say->index)) == NULL)
		return;
	if (!p->completed)
		say_part(r, it, p, say);
}

void
run_usage(struct run *r, struct slice json)
{
	if (!run_deaf(r))
		set(&r->usage, json);
}
