/*
 * idmap: which ids a sandbox has, and the user namespaces that say so to
 * idmapped mounts.
 *
 * Slot k is a range of 65,536 ids.  Files at rest belong to slot 0; a mount
 * for slot k shows them as k's.  The namespaces are made at a slot's first use
 * and kept: they are ours alone, no process ever lives in one.
 */
#ifndef ISOLATOR_IDMAP_H
#define ISOLATOR_IDMAP_H

#include <stdint.h>

struct err;
struct ns;
struct idmap;

#define IDMAP_COUNT 65536u

struct idmap *idmap_new(struct ns *, uint32_t id_base, uint32_t slots);
void idmap_free(struct idmap *);

/* The first id outside, of a slot below slots. */
uint32_t idmap_first(const struct idmap *, uint32_t slot);
int idmap_check(const struct idmap *, uint32_t slot, struct err *);
/* Borrowed descriptors: slot 0 to slot; 0..65535 ("plain") to slot. */
int idmap_rest(struct idmap *, uint32_t slot, struct err *);
int idmap_plain(struct idmap *, uint32_t slot, struct err *);

#endif
