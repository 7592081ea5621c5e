/*
 * caps: down to a set of capabilities, and no way back up.
 */
#ifndef ISOLATOR_CAPS_H
#define ISOLATOR_CAPS_H

#include <stdint.h>

struct err;

#define CAPS(n) (UINT64_C(1) << (n)) /* CAP_* to a bit */

/* Effective, permitted and bounding become keep; inheritable and ambient
 * nothing; no_new_privs.  For the calling process, which is root of its user
 * namespace. */
int caps_keep(uint64_t keep, struct err *);

#endif
