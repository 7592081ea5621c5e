#include <stdlib.h>
#include <string.h>
#include "agent/call.h"
#include "agent/draft.h"
#include "base/err.h"
#include "base/str.h"

#define ARGS_MAX 16
#define ITEMS_MAX 65536

struct draft_arg {
	char *name;
	enum arg_type type;
	struct str text; /* ARG_TEXT; the items of ARG_LIST, each with a NUL */
	int64_t num;
	struct arg_item *item;
	size_t nitem;
};

struct draft {
	LIST_ENTRY(draft) next;
	uint32_t number;
	char *tool;
	struct call_limits limits;
	struct draft_arg arg[ARGS_MAX];
	struct arg view[ARGS_MAX];
	size_t n;
	size_t bytes;
};

static struct draft *
find(const struct drafts *all, uint32_t number)
{
	struct draft *d;

	LIST_FOREACH(d, &all->list, next)
	if (d->number == number)
		return d;
	return NULL;
}

static struct draft *
begin(struct drafts *all, uint32_t number, const Guest__Call *c,
    struct err *err)
{
	struct draft *d;

	if (all->n >= DRAFTS_MAX) {
		err_set(err, ERR_PROTO, "more than %d calls begun at once",
		    DRAFTS_MAX);
		return NULL;
	}
	d = xcalloc(1, sizeof *d);
	d->number = number;
	d->tool = xstrdup(c->tool);
	d->limits = (struct call_limits){ .answer_ms = c->answer_ms,
		.work_ms = c->work_ms,
		.cap = c->cap,
		.credit = c->credit };
	LIST_INSERT_HEAD(&all->list, d, next);
	all->n++;
	return d;
}

static void
add_list(struct draft_arg *a, const Guest__List *l)
{
	size_t at = 0;

	a->type = ARG_LIST;
	a->nitem = l->n_text;
	a->item = xcalloc(l->n_text, sizeof *a->item);
	for (size_t i = 0; i < l->n_text; i++) {
		str_add(&a->text, l->text[i].data, l->text[i].len);
		str_putc(&a->text, '\0');
		a->item[i].len = l->text[i].len;
	}
	for (size_t i = 0; i < l->n_text; i++) {
		a->item[i].text = a->text.at + at;
		at += a->item[i].len + 1;
	}
}

static void
add_value(struct draft_arg *a, const Guest__Arg *g)
{
	switch (g->value_case) {
	case GUEST__ARG__VALUE_NUM:
		a->type = ARG_INT;
		a->num = g->num;
		break;
	case GUEST__ARG__VALUE_FLAG:
		a->type = ARG_BOOL;
		a->num = g->flag != 0;
		break;
	case GUEST__ARG__VALUE_LIST:
		add_list(a, g->list);
		break;
	default:
		a->type = ARG_TEXT;
		if (g->value_case == GUEST__ARG__VALUE_TEXT)
			str_add(&a->text, g->text.data, g->text.len);
	}
}

static int
add_arg(struct draft *d, const Guest__Arg *g, struct err *err)
{
	struct draft_arg *last = d->n > 0 ? &d->arg[d->n - 1] : NULL;

	if (last != NULL && strcmp(last->name, g->name) == 0) {
		if (last->type != ARG_TEXT ||
		    g->value_case != GUEST__ARG__VALUE_TEXT)
			return err_set(err, ERR_PROTO, "%s: given twice",
			    g->name);
		str_add(&last->text, g->text.data, g->text.len);
		return 0;
	}
	if (d->n == ARGS_MAX)
		return err_set(err, ERR_PROTO, "more than %d arguments",
		    ARGS_MAX);
	if (g->value_case == GUEST__ARG__VALUE_LIST &&
	    g->list->n_text > ITEMS_MAX)
		return err_set(err, ERR_PROTO, "%s: more than %d items",
		    g->name, ITEMS_MAX);
	d->arg[d->n].name = xstrdup(g->name);
	add_value(&d->arg[d->n++], g);
	return 0;
}

struct draft *
drafts_add(struct drafts *all, uint32_t number, const Guest__Call *c,
    struct err *err)
{
	struct draft *d = find(all, number);

	if (d == NULL && (d = begin(all, number, c, err)) == NULL)
		return NULL;
	for (size_t i = 0; i < c->n_args; i++) {
		const Guest__Arg *g = c->args[i];

		if (g->value_case == GUEST__ARG__VALUE_TEXT)
			d->bytes += g->text.len;
		if (d->bytes > DRAFT_BYTES) {
			err_set(err, ERR_PROTO,
			    "arguments of more than %lu "
			    "bytes",
			    DRAFT_BYTES);
			return NULL;
		}
		if (add_arg(d, g, err) < 0)
			return NULL;
	}
	return d;
}

void
drafts_drop(struct drafts *all, struct draft *d)
{
	LIST_REMOVE(d, next);
	all->n--;
	for (size_t i = 0; i < d->n; i++) {
		free(d->arg[i].name);
		free(d->arg[i].item);
		str_free(&d->arg[i].text);
	}
	free(d->tool);
	free(d);
}

void
drafts_clear(struct drafts *all)
{
	while (!LIST_EMPTY(&all->list))
		drafts_drop(all, LIST_FIRST(&all->list));
}

const char *
draft_tool(const struct draft *d)
{
	return d->tool;
}

const struct call_limits *
draft_limits(const struct draft *d)
{
	return &d->limits;
}

struct args
draft_args(struct draft *d)
{
	for (size_t i = 0; i < d->n; i++)
		d->view[i] = (struct arg){ .name = d->arg[i].name,
			.type = d->arg[i].type,
			.text = str_text(&d->arg[i].text),
			.len = d->arg[i].text.len,
			.num = d->arg[i].num,
			.item = d->arg[i].item,
			.nitem = d->arg[i].nitem };
	return (struct args){ d->view, d->n };
}
