/*
 * net: network namespaces with a way out, prepared ahead.
 *
 * One static nftables table for the daemon instance and one routed veth pair
 * (/32, no bridge) per namespace; no rule per sandbox.  Two worker processes
 * make the namespaces, so that the caller never waits behind the kernel's
 * clean-up of others: the owner lives in a user namespace of its own and
 * unshares, the linker is root and wires.  Nothing is deleted by hand: a veth
 * goes when the last descriptor of its namespace is closed.
 *
 * From inside only public addresses and the resolver are reachable.
 * Knows no sandboxes: whoever takes a namespace decides who lives in it.
 * See ip-netns(8), nft(8), veth(4).
 */
#ifndef ISOLATOR_NET_H
#define ISOLATOR_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct net;

#define NET_RESOLVER "169.254.53.53" /* what resolv.conf inside names */

struct net_conf {
	unsigned instance; /* of this daemon: names of links and table */
	uint32_t prefix;   /* first IPv4 address of a /16, host order */
	unsigned ready;    /* namespaces kept prepared, 1..256; more, up to 128,
			    * where many are taken at once */
	bool nat6;   /* may switch all.forwarding on, if nothing less does */
	uid_t owner; /* of the namespaces' user namespace */
	int state;   /* directory for what stop must undo; borrowed */
	const char *resolver; /* NULL: the host's first usable one */
};

struct net_lease {
	int netns;     /* yours; closing the last one removes the link */
	uint32_t ipv4; /* network order */
	char link[16]; /* the host's end */
};

/*
 * Loads the table, starts the workers, begins to prepare.  Undoes first what a
 * former life with this state directory left.  Needs nft(8) on PATH.
 */
struct net *net_start(const struct net_conf *, struct err *);
/* Waits at most wait_ms if none is ready. */
int net_take(struct net *, struct net_lease *, int wait_ms, struct err *);
/*
 * Prepares one more, if one is missing; to be called again, in a pause, as long
 * as it says so.  net_take() alone asks only for what it can't do without.
 */
bool net_fill(struct net *);
bool net_has_ipv6(const struct net *);
const char *net_resolver(const struct net *); /* "" when the host has none */
/* What a former life with this state directory left, if it left something. */
void net_sweep(unsigned instance, int state);
/* Ends the workers, deletes the table, puts sysctls back. */
void net_stop(struct net *);

#endif
