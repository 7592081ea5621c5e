#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"
#include "isolator/idmap.h"
#include "isolator/ns.h"

struct idmap {
	struct ns *ns;
	uint32_t id_base, slots;
	int *rest, *plain; /* by slot; -1: not made yet */
};

static int *
none(uint32_t slots)
{
	int *at = xmalloc(slots * sizeof *at);

	memset(at, 0xff, slots * sizeof *at);
	return at;
}

struct idmap *
idmap_new(struct ns *ns, uint32_t id_base, uint32_t slots)
{
	struct idmap *m = xcalloc(1, sizeof *m);

	m->ns = ns;
	m->id_base = id_base;
	m->slots = slots;
	m->rest = none(slots);
	m->plain = none(slots);
	return m;
}

void
idmap_free(struct idmap *m)
{
	if (m == NULL)
		return;
	for (uint32_t i = 0; i < m->slots; i++) {
		if (m->rest[i] >= 0)
			close(m->rest[i]);
		if (m->plain[i] >= 0)
			close(m->plain[i]);
	}
	free(m->rest);
	free(m->plain);
	free(m);
}

uint32_t
idmap_first(const struct idmap *m, uint32_t slot)
{
	return m->id_base + slot * IDMAP_COUNT;
}

int
idmap_check(const struct idmap *m, uint32_t slot, struct err *err)
{
	if (slot >= m->slots)
		return err_set(err, ERR_INVALID, "id slot %u of %u", slot,
		    m->slots);
	return 0;
}

static int
get(struct idmap *m, int *at, uint32_t inside, uint32_t slot, struct err *err)
{
	if (idmap_check(m, slot, err) < 0)
		return -1;
	if (at[slot] < 0)
		at[slot] = ns_user(m->ns, inside, inside, idmap_first(m, slot),
		    IDMAP_COUNT, err);
	return at[slot];
}

int
idmap_rest(struct idmap *m, uint32_t slot, struct err *err)
{
	return get(m, m->rest, m->id_base, slot, err);
}

int
idmap_plain(struct idmap *m, uint32_t slot, struct err *err)
{
	return get(m, m->plain, 0, slot, err);
}
