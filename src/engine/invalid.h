/*
 * invalid: what is wrong with a body, field by field, as FastAPI's clients
 * expect it: {"detail":[{"type","loc","msg","input","ctx"?}]}.
 *
 * A place is a chain of steps that lives on the stack of who looks.  Pure.
 */
#ifndef ENGINE_INVALID_H
#define ENGINE_INVALID_H

#include <jansson.h>
#include <stdbool.h>
#include "base/str.h"

struct place {
	const struct place *up; /* NULL: "body" */
	const char *name;       /* NULL: an index */
	size_t index;
};

struct invalid {
	struct str list; /* of objects, a comma between two */
	unsigned n;      /* no more than INVALID_MAX are told */
};
#define INVALID_MAX 20

/* ctx: a JSON object or NULL.  input NULL: null. */
void invalid_add(struct invalid *, const struct place *, const char *type,
    const char *msg, const json_t *input, const char *ctx);
void invalid_missing(struct invalid *, const struct place *up, const char *name,
    const json_t *in);
/* The whole document, appended; the struct is emptied. */
void invalid_take(struct invalid *, struct str *out);
void invalid_free(struct invalid *);

#endif
