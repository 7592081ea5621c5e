/*
 * loop: one event loop a process, on libevent.
 *
 * Callbacks run from the loop only, one at a time.  A callback that wants to
 * act on the object that called it posts the act instead (loop_post): posted
 * acts run after all callbacks of the round, in order.
 */
#ifndef WIRE_LOOP_H
#define WIRE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;
struct loop;
struct watch; /* a descriptor, a timer or a signal */

struct loop *loop_new(void); /* ends the process if it can't */
void loop_free(struct loop *);
void loop_run(struct loop *); /* until loop_stop */
/* One round: waits for something to happen, and deals with it.  For tests. */
void loop_turn(struct loop *);
void loop_stop(struct loop *);
struct event_base *loop_base(struct loop *);

/* What happens after this round of callbacks. */
void loop_post(struct loop *, void (*act)(void *), void *arg);
/* Forget posts with this arg: for destructors. */
void loop_unpost(struct loop *, void *arg);

enum { WATCH_READ = 1, WATCH_WRITE = 2 };
typedef void watch_fn(void *arg, int what); /* what: WATCH_*, or a signal */

/* All persist until watch_free, which accepts NULL. fd stays the caller's. */
struct watch *watch_fd(struct loop *, int fd, int what, watch_fn *, void *arg);
struct watch *watch_signal(struct loop *, int signal, watch_fn *, void *arg);
/* A timer, not yet armed; fires once per arming, with what = 0. */
struct watch *watch_timer(struct loop *, watch_fn *, void *arg);
void watch_arm(struct watch *, int64_t ms); /* timer: (re)start */
void watch_stop(struct watch *);            /* timer: disarm; fd: pause */
void watch_go(struct watch *);              /* fd: resume after watch_stop */
void watch_free(struct watch *);

#endif
