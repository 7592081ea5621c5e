/*
 * slots: which range of 65536 ids belongs to which sandbox.
 *
 * Slot 0 is where files rest (the same for all daemons of a host); each
 * instance of the daemon owns SLOTS_INSTANCE slots of its own after that.  No
 * two live sandboxes share one.
 */
#ifndef DAEMON_SLOTS_H
#define DAEMON_SLOTS_H

#include <stdint.h>

struct err;
struct slots;

#define SLOTS_INSTANCE 1024
#define SLOTS_REST 0

/* n: how many of the instance's slots may be used. */
struct slots *slots_new(unsigned instance, uint32_t n);
void slots_free(struct slots *);
/* The lowest free one: what was made for a slot is kept with it. */
int slots_take(struct slots *, uint32_t *slot, struct err *);
void slots_give(struct slots *, uint32_t slot);
uint32_t slots_end(const struct slots *); /* first number that is not ours */

#endif
