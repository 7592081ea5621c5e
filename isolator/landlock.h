/*
 * landlock: a second wall around what may be written, for profiles that ask.
 *
 * Mounts already say it; this also covers what no mount can: files of /proc
 * that a process owns, its own memory among them.
 */
#ifndef ISOLATOR_LANDLOCK_H
#define ISOLATOR_LANDLOCK_H

#include <stddef.h>

struct err;

/* Writing only below these directories, for this process and its children; no
 * signals and no abstract sockets out.  A kernel without it: nothing. */
int landlock_write_below(const char *const *at, size_t n, struct err *);

#endif
