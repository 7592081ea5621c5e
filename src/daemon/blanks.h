/*
 * blanks: sandboxes cloned ahead, without a root, that wait for their spec.
 *
 * A blank has a slot and a network namespace and fits any image; limits and
 * sizes are those of the box before, and changed where they are others.  They are
 * made for the kinds of network that are asked for, in the pauses.
 */
#ifndef DAEMON_BLANKS_H
#define DAEMON_BLANKS_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/broker.h"

struct blank;
struct blanks;
struct broker;

struct ready {
	struct blank *blank; /* yours: backend's start, or discard */
	uint32_t slot;       /* taken */
	int netns;           /* -1: a fresh, empty one */
	uint32_t ipv4;       /* network order */
};

struct blanks *blanks_new(struct broker *);
void blanks_free(struct blanks *); /* ends them */
/* What the next ones will most likely be wanted for. */
void blanks_expect(struct blanks *, const struct broker_build *);
/* One for this kind of network, if there is one; more are made, later. */
bool blanks_take(struct blanks *, enum broker_net, struct ready *);

#endif
