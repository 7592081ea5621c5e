/*
 * pick: a member of a JSON object, found in its text, in place.
 *
 * For values that were made by us (event.h): compact, checked.  Nothing is
 * copied: what comes back points into the object's text.
 */
#ifndef ENGINE_PICK_H
#define ENGINE_PICK_H

#include <stdbool.h>
#include "engine/event.h"

/* The text of the member's value; .at NULL: no object, or it has none. */
struct slice pick(struct slice object, const char *name);
/* The inside of a string, escaped text; .at NULL: absent, or no string. */
struct slice pick_text(struct slice object, const char *name);
bool pick_int(struct slice object, const char *name, int64_t *);

struct slice slice_of(const struct str *);
/* The inside of a JSON string; .at NULL if it is none. */
struct slice slice_inside(struct slice json);
bool slice_is(struct slice, const char *);
bool slice_begins(struct slice, const char *);

#endif
