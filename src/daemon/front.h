/*
 * front: the life of hutch-front, seen from root.
 *
 * Started confined, with its link as descriptor 3; started again, later and
 * later, when it dies.  Sandboxes live on meanwhile.
 */
#ifndef DAEMON_FRONT_H
#define DAEMON_FRONT_H

#include <stdint.h>

struct broker;
struct err;
struct front;

/* slot: the front's own, its user outside is the slot's first id. */
struct front *front_new(struct broker *, uint32_t slot);
void front_free(struct front *);
int front_start(struct front *, struct err *);
/* It finishes what it does; killed after so many ms.  Then gone(). */
void front_drain(struct front *, int64_t ms, void (*gone)(struct broker *));
void front_kill(struct front *);

#endif
