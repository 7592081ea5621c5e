/*
 * net_worker: the two processes that make namespaces ahead.
 *
 * The owner sits in a user namespace that belongs to conf's uid and unshares a
 * network namespace per request; the linker (root) wires it and hands it on.
 * Both die with their parent.  Knows neither the table nor the pool.
 */
#ifndef ISOLATOR_NET_WORKER_H
#define ISOLATOR_NET_WORKER_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

enum { NET_WANT = 1, NET_READY, NET_FAILED };

struct net_want {      /* body of NET_WANT; NET_READY repeats it, with 1 fd */
	uint32_t ipv4; /* host order */
	struct in6_addr ipv6;
	char link[16];
};

/* Returns the socket to the linker; *pid is reaped by the caller. */
int net_worker_start(uid_t owner, pid_t *pid, struct err *);

#endif
