#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "guest.pb-c.h"
#include "guest/guest.h"
#include "guest/request.h"
#include "wire/frame.h"

/* Texts of one Call frame together; the rest of it has room enough then. */
#define CALL_TEXT (192 * 1024)

static int
put(struct str *out, const Guest__Request *r, struct err *err)
{
	size_t n = guest__request__get_packed_size(r);
	uint8_t head[FRAME_HEAD];

	if (n > FRAME_MAX)
		return err_set(err, ERR_LIMIT,
		    "a request of %zu bytes; %d are allowed", n, FRAME_MAX);
	frame_head(head, n);
	str_add(out, head, sizeof head);
	guest__request__pack(r, str_extend(out, n));
	return 0;
}

/* For what is small by its kind. */
static void
put_small(struct str *out, const Guest__Request *r)
{
	struct err err;

	if (put(out, r, &err) < 0)
		abort();
}

int
request_setup(struct str *out, const struct guest_conf *conf, struct err *err)
{
	Guest__Request r = GUEST__REQUEST__INIT;
	Guest__Setup s = GUEST__SETUP__INIT;

	r.kind_case = GUEST__REQUEST__KIND_SETUP;
	r.setup = &s;
	s.generation = conf->generation;
	s.cwd = (char *)(uintptr_t)conf->cwd;
	while (conf->env != NULL && conf->env[s.n_env] != NULL)
		s.n_env++;
	s.env = (char **)(uintptr_t)conf->env;
	return put(out, &r, err);
}

/* The Call frame that is being filled. */
struct filling {
	struct str *out;
	Guest__Request r;
	Guest__Call call;
	Guest__Arg arg[REQUEST_ARGS];
	Guest__List list[REQUEST_ARGS];
	Guest__Arg *at[REQUEST_ARGS];
	ProtobufCBinaryData *item; /* of all lists */
	size_t items;
	size_t text;
};

static int
flush_call(struct filling *f, bool more, struct err *err)
{
	f->call.more = more;
	if (put(f->out, &f->r, err) < 0)
		return -1;
	/* What follows carries arguments only. */
	guest__call__init(&f->call);
	f->call.args = f->at;
	f->text = 0;
	return 0;
}

static Guest__Arg *
add_arg(struct filling *f, const char *name)
{
	Guest__Arg *a = &f->arg[f->call.n_args];

	guest__arg__init(a);
	a->name = (char *)(uintptr_t)name;
	f->at[f->call.n_args++] = a;
	return a;
}

static int
add_text(struct filling *f, const struct guest_arg *g, struct err *err)
{
	const uint8_t *at = g->text;
	size_t left = g->len;

	for (;;) {
		size_t n =
		    left < CALL_TEXT - f->text ? left : CALL_TEXT - f->text;
		Guest__Arg *a = add_arg(f, g->name);

		a->value_case = GUEST__ARG__VALUE_TEXT;
		a->text.data = (uint8_t *)(uintptr_t)at;
		a->text.len = n;
		f->text += n;
		at += n;
		left -= n;
		if (left == 0)
			return 0;
		if (flush_call(f, true, err) < 0)
			return -1;
	}
}

static void
add_list(struct filling *f, const struct guest_arg *g)
{
	Guest__List *l = &f->list[f->call.n_args];
	Guest__Arg *a = add_arg(f, g->name);

	guest__list__init(l);
	l->text = f->item + f->items;
	for (; g->list[l->n_text] != NULL; l->n_text++) {
		ProtobufCBinaryData *d = &f->item[f->items++];

		d->data = (uint8_t *)(uintptr_t)g->list[l->n_text];
		d->len = strlen(g->list[l->n_text]);
	}
	a->value_case = GUEST__ARG__VALUE_LIST;
	a->list = l;
}

static int
add(struct filling *f, const struct guest_arg *g, struct err *err)
{
	Guest__Arg *a;

	switch (g->type) {
	case ARG_TEXT:
		return add_text(f, g, err);
	case ARG_LIST:
		add_list(f, g);
		return 0;
	case ARG_INT:
		a = add_arg(f, g->name);
		a->value_case = GUEST__ARG__VALUE_NUM;
		a->num = g->num;
		return 0;
	case ARG_BOOL:
		a = add_arg(f, g->name);
		a->value_case = GUEST__ARG__VALUE_FLAG;
		a->flag = g->num != 0;
		return 0;
	}
	return err_set(err, ERR_INVALID, "%s: no such type", g->name);
}

/* Whether it can be sent at all; how many entries its lists have together. */
static int
check_call(const struct guest_request *q, size_t *items, struct err *err)
{
	size_t n = 0, text = 0, entries = 0;

	for (; q->arg != NULL && q->arg[n].name != NULL; n++) {
		const struct guest_arg *a = &q->arg[n];

		if (a->type == ARG_TEXT)
			text += a->len;
		for (size_t i = 0; a->type == ARG_LIST && a->list[i] != NULL;
		     i++)
			entries++;
	}
	if (n > REQUEST_ARGS)
		return err_set(err, ERR_LIMIT, "%zu arguments", n);
	if (text > REQUEST_TEXT)
		return err_set(err, ERR_LIMIT,
		    "arguments of %zu bytes; %u are allowed", text,
		    REQUEST_TEXT);
	*items = entries;
	return 0;
}

static int
fill_call(struct filling *f, uint32_t call, const struct guest_request *q,
    uint32_t credit, struct err *err)
{
	guest__request__init(&f->r);
	f->r.call = call;
	f->r.kind_case = GUEST__REQUEST__KIND_RUN;
	f->r.run = &f->call;
	guest__call__init(&f->call);
	f->call.tool = (char *)(uintptr_t)q->tool;
	f->call.args = f->at;
	f->call.answer_ms = q->answer_ms;
	f->call.work_ms = q->work_ms;
	f->call.cap = q->cap;
	f->call.credit = credit;
	for (size_t i = 0; q->arg != NULL && q->arg[i].name != NULL; i++)
		if (add(f, &q->arg[i], err) < 0)
			return -1;
	return flush_call(f, false, err);
}

int
request_call(struct str *out, uint32_t call, const struct guest_request *q,
    uint32_t credit, struct err *err)
{
	struct filling f = { .out = out };
	auto_free ProtobufCBinaryData *item = NULL;
	size_t items = 0, before = out->len;

	if (check_call(q, &items, err) < 0)
		return -1;
	f.item = item = xcalloc(items, sizeof *item);
	if (fill_call(&f, call, q, credit, err) < 0) {
		str_cut(out, before);
		return -1;
	}
	return 0;
}

void
request_input(struct str *out, uint32_t call, const void *bytes, size_t n,
    bool eof)
{
	Guest__Request r = GUEST__REQUEST__INIT;
	Guest__Input i = GUEST__INPUT__INIT;

	r.call = call;
	r.kind_case = GUEST__REQUEST__KIND_INPUT;
	r.input = &i;
	i.data.data = (uint8_t *)(uintptr_t)bytes;
	i.data.len = n;
	i.eof = eof;
	put_small(out, &r);
}

void
request_credit(struct str *out, uint32_t call, uint32_t bytes)
{
	Guest__Request r = GUEST__REQUEST__INIT;
	Guest__Credit c = GUEST__CREDIT__INIT;

	r.call = call;
	r.kind_case = GUEST__REQUEST__KIND_CREDIT;
	r.credit = &c;
	c.bytes = bytes;
	put_small(out, &r);
}

void
request_cancel(struct str *out, uint32_t call)
{
	Guest__Request r = GUEST__REQUEST__INIT;
	Guest__Cancel c = GUEST__CANCEL__INIT;

	r.call = call;
	r.kind_case = GUEST__REQUEST__KIND_CANCEL;
	r.cancel = &c;
	put_small(out, &r);
}

void
request_detach(struct str *out, uint32_t call)
{
	Guest__Request r = GUEST__REQUEST__INIT;
	Guest__Detach d = GUEST__DETACH__INIT;

	r.call = call;
	r.kind_case = GUEST__REQUEST__KIND_DETACH;
	r.detach = &d;
	put_small(out, &r);
}

void
request_resize(struct str *out, uint32_t call, unsigned rows, unsigned cols)
{
	Guest__Request r = GUEST__REQUEST__INIT;
	Guest__Resize z = GUEST__RESIZE__INIT;

	r.call = call;
	r.kind_case = GUEST__REQUEST__KIND_RESIZE;
	r.resize = &z;
	z.rows = rows;
	z.cols = cols;
	put_small(out, &r);
}
