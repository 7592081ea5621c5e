/*
 * reap: process 1's duty.
 *
 * Collects every child, adopted ones too, and tells whoever asked for one.
 * Statuses are wait(2)'s.
 */
#ifndef AGENT_REAP_H
#define AGENT_REAP_H

#include <sys/types.h>

struct loop;

typedef void reap_fn(void *arg, int status);

void reap_start(struct loop *);
/* Call fn once when this child has ended; before the loop turns again. */
void reap_on(pid_t, reap_fn *, void *arg);
/* Exit status, or minus the signal's number. */
int reap_exit(int status);

#endif
