#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "manager/table.h"

/*
 * FNV-1a.  Names come from getrandom, or are sessions, whose number a tenant's
 * own limits bound: nobody gains by colliding.
 */
static uint64_t
hash(const void *key, size_t len)
{
	const uint8_t *b = key;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

static struct table_node **
bucket_of(const struct table *t, const void *key, size_t len)
{
	return &t->bucket[hash(key, len) & (t->nbucket - 1)];
}

static void
grow(struct table *t)
{
	struct table old = *t;

	t->nbucket = old.nbucket > 0 ? old.nbucket * 2 : 64;
	t->bucket = xcalloc(t->nbucket, sizeof *t->bucket);
	for (size_t i = 0; i < old.nbucket; i++) {
		struct table_node *n = old.bucket[i], *next;

		for (; n != NULL; n = next) {
			struct table_node **b = bucket_of(t, n->key, n->len);

			next = n->next;
			n->next = *b;
			*b = n;
		}
	}
	free(old.bucket);
}

void
table_free(struct table *t)
{
	free(t->bucket);
	*t = (struct table){ 0 };
}

void
table_add(struct table *t, struct table_node *n, const void *key, size_t len,
    void *thing)
{
	struct table_node **b;

	if (t->n >= t->nbucket)
		grow(t);
	b = bucket_of(t, key, len);
	*n = (struct table_node){ *b, key, len, thing };
	*b = n;
	t->n++;
}

void
table_remove(struct table *t, struct table_node *n)
{
	struct table_node **at;

	if (n->thing == NULL || t->nbucket == 0)
		return;
	for (at = bucket_of(t, n->key, n->len); *at != NULL; at = &(*at)->next)
		if (*at == n) {
			*at = n->next;
			n->thing = NULL;
			t->n--;
			return;
		}
}

void *
table_find(const struct table *t, const void *key, size_t len)
{
	struct table_node *n;

	if (t->nbucket == 0)
		return NULL;
	for (n = *bucket_of(t, key, len); n != NULL; n = n->next)
		if (n->len == len && memcmp(n->key, key, len) == 0)
			return n->thing;
	return NULL;
}
