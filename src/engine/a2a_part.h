/*
 * a2a_part: parts of our messages as A2A's, in 0.3's shape.  Pure.
 */
#ifndef ENGINE_A2A_PART_H
#define ENGINE_A2A_PART_H

#include <jansson.h>
#include "engine/event.h"

/* Escaped text as a string. */
json_t *a2a_text(const struct str *);
json_t *a2a_part(const struct part *); /* NULL: there is nothing in it */
json_t *a2a_parts(const struct message *);

#endif
