#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/str.h"
#include "daemon/boxes.h"
#include "wire/loop.h"

#define BUCKETS 256

struct boxes {
	TAILQ_HEAD(, live) all; /* oldest first */
	LIST_HEAD(, live) bucket[BUCKETS];
	uint32_t n;
	struct broker_id *page;
	uint32_t npage;
};

struct boxes *
boxes_new(void)
{
	struct boxes *b = xcalloc(1, sizeof *b);

	TAILQ_INIT(&b->all);
	return b;
}

void
boxes_free(struct boxes *b)
{
	struct live *l;

	while ((l = TAILQ_FIRST(&b->all)) != NULL)
		boxes_remove(b, l);
	free(b->page);
	free(b);
}

struct live *
boxes_add(struct boxes *b, const uint8_t id[BROKER_ID])
{
	struct live *l = xcalloc(1, sizeof *l);

	l->oom = l->netns = -1;
	memcpy(l->id, id, BROKER_ID);
	hex_put(l->name, id, BROKER_ID);
	TAILQ_INSERT_TAIL(&b->all, l, next);
	LIST_INSERT_HEAD(&b->bucket[id[0] % BUCKETS], l, same);
	b->n++;
	return l;
}

void
boxes_remove(struct boxes *b, struct live *l)
{
	TAILQ_REMOVE(&b->all, l, next);
	LIST_REMOVE(l, same);
	b->n--;
	watch_free(l->end);
	watch_free(l->memory);
	if (l->oom >= 0)
		close(l->oom);
	if (l->netns >= 0)
		close(l->netns);
	free(l->layer);
	free(l);
}

struct live *
boxes_find(const struct boxes *b, const uint8_t id[BROKER_ID])
{
	struct live *l;

	LIST_FOREACH(l, &b->bucket[id[0] % BUCKETS], same)
	if (memcmp(l->id, id, BROKER_ID) == 0)
		return l;
	return NULL;
}

struct live *
boxes_next(const struct boxes *b, const struct live *after)
{
	return after == NULL ? TAILQ_FIRST(&b->all) : TAILQ_NEXT(after, next);
}

uint32_t
boxes_count(const struct boxes *b)
{
	return b->n;
}

bool
boxes_stand_on(const struct boxes *b, const uint8_t digest[BROKER_DIGEST])
{
	struct live *l;

	TAILQ_FOREACH(l, &b->all, next)
		for (size_t i = 0; i < l->nlayer; i++)
			if (memcmp(l->layer[i], digest, BROKER_DIGEST) == 0)
				return true;
	return false;
}

static void
take_page(struct boxes *b)
{
	struct live *l;

	b->page = xrealloc(b->page, (b->n + 1) * sizeof *b->page);
	b->npage = 0;
	TAILQ_FOREACH(l, &b->all, next)
		memcpy(b->page[b->npage++].id, l->id, BROKER_ID);
}

void
boxes_page(struct boxes *b, uint32_t from, struct broker_live *out)
{
	memset(out, 0, sizeof *out);
	if (from == 0)
		take_page(b);
	out->total = b->npage;
	while (out->n < BROKER_PAGE && from < b->npage)
		out->at[out->n++] = b->page[from++];
}
