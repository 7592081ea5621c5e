/*
 * net_link: one veth pair, its addresses, routes and sysctls, by rtnetlink.
 *
 * Both ends know each other's hardware address beforehand (permanent
 * neighbours), so no ARP or neighbour discovery crosses the link.
 */
#ifndef ISOLATOR_NET_LINK_H
#define ISOLATOR_NET_LINK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct nl_sock;

struct net_pair {
	char host[16];        /* name of the host's end */
	uint32_t ipv4;        /* of the inner end, host order */
	struct in6_addr ipv6; /* likewise; all zero: none */
	int netns;            /* where the inner end goes, as eth0 */
};

struct nl_sock *net_link_open(struct err *); /* in the current namespace */
void net_link_close(struct nl_sock *);
/* The pair itself, and the host's end of it. */
int net_link_pair(struct nl_sock *, const struct net_pair *, struct err *);
/* Called inside the namespace, with a socket opened there. */
int net_link_inside(struct nl_sock *, const struct net_pair *, struct err *);
/* Name of the link of the default route; "" if there is none. */
int net_link_uplink(struct nl_sock *, int family, char name[16], struct err *);
/* A file below /proc/sys/net of the current namespace. */
int net_sysctl(const char *name, const char *value, struct err *);
int net_sysctl_read(const char *name, char *value, int room, struct err *);

#endif
