/*
 * later: what has to be done, but not while somebody waits for a sandbox.
 *
 * Ends cost the kernel about as much as beginnings: groups to remove, network
 * namespaces and mounts to take apart.  All that waits for a pause, in which
 * network namespaces are prepared too; it never grows beyond a bound.
 */
#ifndef DAEMON_LATER_H
#define DAEMON_LATER_H

struct broker;
struct instance;
struct later;

struct later *later_new(struct broker *);
void later_free(struct later *); /* does what is left; NULL is fine */
/* A sandbox is being made: not now, then. */
void later_put_off(struct later *);
/* Both are taken.  NULL: at once. */
void later_drop(struct broker *, struct instance *);
void later_close(struct broker *, int fd); /* -1: nothing */

#endif
