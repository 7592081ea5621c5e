/*
 * hunt: end a process and all that came from it.
 *
 * SIGTERM at once, SIGKILL after a grace.  Reached are its group, its session
 * and its descendants as /proc shows them; who left all three, by losing its
 * parent, lives on until the sandbox ends.  Nobody waits for a hunt.
 */
#ifndef AGENT_HUNT_H
#define AGENT_HUNT_H

#include <sys/types.h>

struct loop;

#define HUNT_GRACE_MS 2000

/* leader: a child of ours that has not been reaped yet. */
void hunt(struct loop *, pid_t leader);

#endif
