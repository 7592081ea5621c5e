/*
 * drive: turn a loop until something is so, with a deadline.
 */
#ifndef TESTS_LIB_DRIVE_H
#define TESTS_LIB_DRIVE_H

#include <stdbool.h>
#include "wire/loop.h"

/* False: it was not so after ms milliseconds. */
bool drive(struct loop *, bool (*so)(void *), void *arg, int ms);
/* Until *flag; five seconds at most. */
bool drive_flag(struct loop *, const bool *flag);
/* For so long, whatever happens: to see that nothing does. */
void drive_for(struct loop *, int ms);

#endif
