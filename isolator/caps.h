/*
 * caps: down to a set of capabilities, and no way back up.
 */
#ifndef ISOLATOR_CAPS_H
#define ISOLATOR_CAPS_H

#include <stdint.h>

struct err;

#define CAPS(n) (UINT64_C(1) << (n)) /* CAP_* to a bit */

/* The bounding set, for whoever still has CAP_SETPCAP. */
int caps_bound(uint64_t keep, struct err *);
/* Effective and permitted become keep; inheritable and ambient nothing;
 * no_new_privs. */
int caps_set(uint64_t keep, struct err *);
/* Both. */
int caps_keep(uint64_t keep, struct err *);

#endif
