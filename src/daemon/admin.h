/*
 * admin: the socket by which root on this host lends directories.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

struct admin;
struct broker;
struct err;

/* Where it is: beside the socket of the native API.  Yours to free. */
char *admin_path(const char *native);
struct admin *admin_open(struct broker *, struct err *);
void admin_free(struct admin *); /* the socket goes, too */

#endif
