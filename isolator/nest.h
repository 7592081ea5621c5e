/*
 * nest: a mount namespace of the broker's own, with next to nothing in it.
 *
 * Sandboxes are cloned from here, so that none ever has the host's mounts in
 * its namespace, not even for the moment before it lets go of them, and so
 * that a host with hundreds of mounts costs no more than an empty one.  It
 * holds the templates of /dev and /sys, attached, because kernels before 6.15
 * clone nothing else; a /proc, without which a user namespace may not mount
 * its own; and places to attach what such a kernel won't take detached.
 *
 * Entering and leaving changes the root and the working directory: outside of
 * the nest the latter is "/", always.
 */
#ifndef ISOLATOR_NEST_H
#define ISOLATOR_NEST_H

struct err;
struct nest;

enum { NEST_PLACES = 132 };

struct nest *nest_open(struct err *);
void nest_close(struct nest *);

int nest_enter(struct nest *, struct err *);
/* Ends the process if it can't: nothing would be where it is thought to be. */
void nest_leave(struct nest *);

/* In the nest: detached copies, yours. */
int nest_dev(struct nest *, struct err *);
int nest_sys(struct nest *, struct err *);
/* In the nest: its root; "l/0" ... "l/131" are empty directories. */
int nest_root(const struct nest *);

#endif
