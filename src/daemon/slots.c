#include <stdbool.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/str.h"
#include "daemon/slots.h"

struct slots {
	uint32_t first, n;
	bool taken[SLOTS_INSTANCE];
};

struct slots *
slots_new(unsigned instance, uint32_t n)
{
	struct slots *s = xcalloc(1, sizeof *s);

	s->first = 1 + instance * SLOTS_INSTANCE;
	s->n = n < SLOTS_INSTANCE ? n : SLOTS_INSTANCE;
	return s;
}

void
slots_free(struct slots *s)
{
	free(s);
}

int
slots_take(struct slots *s, uint32_t *slot, struct err *err)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->taken[i])
			continue;
		s->taken[i] = true;
		*slot = s->first + i;
		return 0;
	}
	return err_set(err, ERR_LIMIT, "all %u id slots are in use", s->n);
}

void
slots_give(struct slots *s, uint32_t slot)
{
	if (slot >= s->first && slot - s->first < s->n)
		s->taken[slot - s->first] = false;
}

uint32_t
slots_end(const struct slots *s)
{
	return s->first + s->n;
}
