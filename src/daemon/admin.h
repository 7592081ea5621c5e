/*
 * admin: the socket by which root on this host lends directories.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

struct admin;
struct broker;

/* Takes the listener. */
struct admin *admin_new(struct broker *, int listener);
void admin_free(struct admin *);

#endif
