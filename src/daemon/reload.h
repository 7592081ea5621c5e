/*
 * reload: a new configuration for a daemon that runs.
 */
#ifndef DAEMON_RELOAD_H
#define DAEMON_RELOAD_H

struct broker;
struct err;
struct options;

/* All or nothing; what needs a start to take effect is named in the log. */
int reload(struct broker *, const struct options *, struct err *);

#endif
