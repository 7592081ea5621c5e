/*
 * wayout: network namespaces for sandboxes that may reach the internet.
 *
 * The network is set up at the first of them: a daemon that gives nobody a way
 * out leaves the host's alone.
 */
#ifndef DAEMON_WAYOUT_H
#define DAEMON_WAYOUT_H

#include <stdbool.h>

struct broker;
struct err;
struct net_lease;

/* A prepared one; it goes with its last user. */
int wayout_take(struct broker *, struct net_lease *, struct err *);
/* Prepares one more, if one is missing; true: more are. */
bool wayout_fill(struct broker *);

#endif
