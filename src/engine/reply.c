#include <stdlib.h>
#include "base/str.h"
#include "engine/reply.h"

struct reply *
reply_new(const struct reply_kind *kind, const void *arg)
{
	struct reply *r = xcalloc(1, kind->size);

	r->kind = kind;
	if (kind->open != NULL)
		kind->open(r, arg);
	return r;
}

void
reply_free(struct reply *r)
{
	if (r == NULL)
		return;
	if (r->kind->drop != NULL)
		r->kind->drop(r);
	free(r);
}
