/*
 * event: one Event of the agent, decoded and checked.
 *
 * The bytes are a hostile guest's.  What comes out of here is of a known kind,
 * has its fields within bounds, and took no more memory than the space has:
 * a frame of many tiny fields can't be blown up.  Knows no call and no state.
 */
#ifndef GUEST_EVENT_H
#define GUEST_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include "guest.pb-c.h"

struct err;
struct event_space; /* where events are decoded to; one at a time */

#define EVENT_TOOLS 128
#define EVENT_PARAMS 16
#define EVENT_CREDIT (16u << 20)

struct event_space *event_space_new(void);

/* Valid until the next decode in this space.  NULL: not an Event of ours. */
const Guest__Event *event_decode(struct event_space *, const uint8_t *, size_t,
    struct err *);

#endif
