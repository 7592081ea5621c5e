/*
 * table: things found by a name of theirs, in constant time.
 *
 * The node lives in the thing and points at a key in it; a thing may be in
 * several tables by several nodes.  Names are bytes.
 */
#ifndef MANAGER_TABLE_H
#define MANAGER_TABLE_H

#include <stddef.h>

struct table_node {
	struct table_node *next;
	const void *key;
	size_t len;
	void *thing;
};

struct table {
	struct table_node **bucket;
	size_t nbucket, n;
};

void table_free(struct table *); /* of what is in it, nothing */
void table_add(struct table *, struct table_node *, const void *key, size_t len,
    void *thing);
void table_remove(struct table *, struct table_node *); /* if it is in it */
void *table_find(const struct table *, const void *key, size_t len);

#endif
