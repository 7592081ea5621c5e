#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/net_link.h"

OWN_DEFINE(struct rtnl_link, rtnl_link_put)
OWN_DEFINE(struct rtnl_addr, rtnl_addr_put)
OWN_DEFINE(struct rtnl_route, rtnl_route_put)
OWN_DEFINE(struct rtnl_neigh, rtnl_neigh_put)
OWN_DEFINE(struct nl_addr, nl_addr_put)
OWN_DEFINE(struct nl_cache, nl_cache_free)

/* Locally administered; the same on every pair, for no two pairs meet. */
static const char mac_host[] = "02:48:75:74:63:01";
static const char mac_box[] = "02:48:75:74:63:02";
/* Next hop inside: exists on no link, only as a neighbour entry. */
static const char gate4[] = "169.254.53.1";
static const char gate6[] = "fe80::5301";

static int
nl_fail(struct err *err, int r, const char *what)
{
	return err_set(err, ERR_SYS, "%s: %s", what, nl_geterror(r));
}

struct nl_sock *
net_link_open(struct err *err)
{
	struct nl_sock *s = nl_socket_alloc();
	int r;

	if (s == NULL) {
		err_set(err, ERR_SYS, "netlink socket");
		return NULL;
	}
	r = nl_connect(s, NETLINK_ROUTE);
	if (r < 0) {
		nl_fail(err, r, "netlink connect");
		nl_socket_free(s);
		return NULL;
	}
	return s;
}

void
net_link_close(struct nl_sock *s)
{
	if (s != NULL)
		nl_socket_free(s);
}

static struct nl_addr *
parse(const char *text, int family)
{
	struct nl_addr *a = NULL;

	return nl_addr_parse(text, family, &a) < 0 ? NULL : a;
}

static struct nl_addr *
host_addr(int family, const struct net_pair *p)
{
	uint32_t v4 = htonl(p->ipv4);

	return family == AF_INET
	    ? nl_addr_build(AF_INET, &v4, sizeof v4)
	    : nl_addr_build(AF_INET6, &p->ipv6, sizeof p->ipv6);
}

static bool
has6(const struct net_pair *p)
{
	return !IN6_IS_ADDR_UNSPECIFIED(&p->ipv6);
}

static int
neighbour(struct nl_sock *s, int ifindex, struct nl_addr *dst, const char *mac,
    struct err *err)
{
	own(rtnl_neigh_put) struct rtnl_neigh *n = rtnl_neigh_alloc();
	own(nl_addr_put) struct nl_addr *ll = parse(mac, AF_LLC);
	int r;

	rtnl_neigh_set_ifindex(n, ifindex);
	rtnl_neigh_set_dst(n, dst);
	rtnl_neigh_set_lladdr(n, ll);
	rtnl_neigh_set_state(n, NUD_PERMANENT);
	r = rtnl_neigh_add(s, n, NLM_F_CREATE | NLM_F_REPLACE);
	return r < 0 ? nl_fail(err, r, "neighbour") : 0;
}

static int
route(struct nl_sock *s, int ifindex, struct nl_addr *dst, struct nl_addr *gate,
    struct err *err)
{
	own(rtnl_route_put) struct rtnl_route *rt = rtnl_route_alloc();
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	int r;

	rtnl_route_set_family(rt, (uint8_t)nl_addr_get_family(dst));
	rtnl_route_set_dst(rt, dst);
	rtnl_route_set_scope(rt, gate ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
	rtnl_route_nh_set_ifindex(hop, ifindex);
	if (gate != NULL) {
		rtnl_route_nh_set_gateway(hop, gate);
		rtnl_route_nh_set_flags(hop, RTNH_F_ONLINK);
	}
	rtnl_route_add_nexthop(rt, hop);
	r = rtnl_route_add(s, rt, NLM_F_CREATE | NLM_F_REPLACE);
	return r < 0 ? nl_fail(err, r, "route") : 0;
}

static int
make_pair(struct nl_sock *s, const struct net_pair *p, struct err *err)
{
	own(rtnl_link_put) struct rtnl_link *l = rtnl_link_veth_alloc();
	own(nl_addr_put) struct nl_addr *here = parse(mac_host, AF_LLC);
	own(nl_addr_put) struct nl_addr *there = parse(mac_box, AF_LLC);
	struct rtnl_link *peer = rtnl_link_veth_get_peer(l);
	int r;

	rtnl_link_set_name(l, p->host);
	rtnl_link_set_addr(l, here);
	rtnl_link_set_num_tx_queues(l, 1);
	rtnl_link_set_num_rx_queues(l, 1);
	rtnl_link_set_name(peer, "eth0");
	rtnl_link_set_addr(peer, there);
	rtnl_link_set_num_tx_queues(peer, 1);
	rtnl_link_set_num_rx_queues(peer, 1);
	rtnl_link_set_ns_fd(peer, p->netns);
	r = rtnl_link_add(s, l, NLM_F_CREATE | NLM_F_EXCL);
	rtnl_link_put(peer);
	return r < 0 ? nl_fail(err, r, "veth pair") : 0;
}

static int
find(struct nl_sock *s, const char *name, struct err *err)
{
	own(rtnl_link_put) struct rtnl_link *l = NULL;
	int r = rtnl_link_get_kernel(s, 0, name, &l);

	return r < 0 ? nl_fail(err, r, name) : rtnl_link_get_ifindex(l);
}

/* No link-local address of its own, up. */
static int
raise_link(struct nl_sock *s, int ifindex, struct err *err)
{
	own(rtnl_link_put) struct rtnl_link *is = rtnl_link_alloc();
	own(rtnl_link_put) struct rtnl_link *want = rtnl_link_alloc();
	int r;

	rtnl_link_set_ifindex(is, ifindex);
	rtnl_link_set_flags(want, IFF_UP);
	r = rtnl_link_change(s, is, want, 0);
	return r < 0 ? nl_fail(err, r, "raise link") : 0;
}

static int
sysctl_of(const char *link, int family, const char *key, const char *value,
    struct err *err)
{
	char name[96];

	snprintf(name, sizeof name, "ipv%d/conf/%s/%s",
	    family == AF_INET ? 4 : 6, link, key);
	return net_sysctl(name, value, err);
}

static int
host_family(struct nl_sock *s, int ifindex, int family,
    const struct net_pair *p, struct err *err)
{
	own(nl_addr_put) struct nl_addr *box = host_addr(family, p);

	if (neighbour(s, ifindex, box, mac_box, err) < 0)
		return -1;
	return route(s, ifindex, box, NULL, err);
}

int
net_link_pair(struct nl_sock *s, const struct net_pair *p, struct err *err)
{
	struct err unused;
	int ifindex;

	if (make_pair(s, p, err) < 0)
		return -1;
	ifindex = find(s, p->host, err);
	if (ifindex < 0)
		return -1;
	/* 1: no automatic link-local address, so no MLD, no solicitations. */
	sysctl_of(p->host, AF_INET6, "addr_gen_mode", "1", &unused);
	sysctl_of(p->host, AF_INET6, "accept_ra", "0", &unused);
	if (raise_link(s, ifindex, err) < 0 ||
	    sysctl_of(p->host, AF_INET, "forwarding", "1", err) < 0 ||
	    host_family(s, ifindex, AF_INET, p, err) < 0)
		return -1;
	if (!has6(p))
		return 0;
	sysctl_of(p->host, AF_INET6, "force_forwarding", "1", &unused);
	return host_family(s, ifindex, AF_INET6, p, err);
}

static int
address(struct nl_sock *s, int ifindex, struct nl_addr *local, struct err *err)
{
	own(rtnl_addr_put) struct rtnl_addr *a = rtnl_addr_alloc();
	int r;

	rtnl_addr_set_ifindex(a, ifindex);
	rtnl_addr_set_local(a, local);
	rtnl_addr_set_prefixlen(a,
	    nl_addr_get_family(local) == AF_INET ? 32 : 128);
	if (nl_addr_get_family(local) == AF_INET6)
		rtnl_addr_set_flags(a, IFA_F_NODAD);
	r = rtnl_addr_add(s, a, NLM_F_CREATE | NLM_F_REPLACE);
	return r < 0 ? nl_fail(err, r, "address") : 0;
}

static int
inside_family(struct nl_sock *s, int ifindex, int family,
    const struct net_pair *p, struct err *err)
{
	own(nl_addr_put) struct nl_addr *local = host_addr(family, p);
	own(nl_addr_put) struct nl_addr *gate =
	    parse(family == AF_INET ? gate4 : gate6, family);
	own(nl_addr_put) struct nl_addr *all =
	    parse(family == AF_INET ? "0.0.0.0/0" : "::/0", family);

	if (address(s, ifindex, local, err) < 0 ||
	    neighbour(s, ifindex, gate, mac_host, err) < 0)
		return -1;
	return route(s, ifindex, all, gate, err);
}

int
net_link_inside(struct nl_sock *s, const struct net_pair *p, struct err *err)
{
	struct err unused;
	int lo = find(s, "lo", err), eth = find(s, "eth0", err);

	if (lo < 0 || eth < 0)
		return -1;
	sysctl_of("eth0", AF_INET6, "addr_gen_mode", "1", &unused);
	sysctl_of("eth0", AF_INET6, "accept_ra", "0", &unused);
	if (raise_link(s, lo, err) < 0 || raise_link(s, eth, err) < 0 ||
	    inside_family(s, eth, AF_INET, p, err) < 0)
		return -1;
	if (has6(p) && inside_family(s, eth, AF_INET6, p, err) < 0)
		return -1;
	/* Nobody inside has a capability over this namespace. */
	if (net_sysctl("ipv4/ip_unprivileged_port_start", "0", err) < 0)
		return -1;
	return net_sysctl("ipv4/ping_group_range", "0 2147483647", err);
}

int
net_link_uplink(struct nl_sock *s, int family, char name[16], struct err *err)
{
	own(nl_cache_free) struct nl_cache *cache = NULL;
	int r = rtnl_route_alloc_cache(s, family, 0, &cache);

	name[0] = '\0';
	if (r < 0)
		return nl_fail(err, r, "routes");
	for (struct nl_object *o = nl_cache_get_first(cache); o != NULL;
	     o = nl_cache_get_next(o)) {
		struct rtnl_route *rt = (struct rtnl_route *)o;
		struct rtnl_nexthop *hop = rtnl_route_nexthop_n(rt, 0);
		own(rtnl_link_put) struct rtnl_link *l = NULL;

		if (nl_addr_get_prefixlen(rtnl_route_get_dst(rt)) != 0 ||
		    rtnl_route_get_table(rt) != RT_TABLE_MAIN || hop == NULL ||
		    rtnl_link_get_kernel(s, rtnl_route_nh_get_ifindex(hop),
			NULL, &l) < 0)
			continue;
		snprintf(name, 16, "%s", rtnl_link_get_name(l));
		return 0;
	}
	return 0;
}

static int
open_sysctl(const char *name, int how, struct err *err)
{
	char path[160];
	int fd;

	snprintf(path, sizeof path, "/proc/sys/net/%s", name);
	fd = open(path, how | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? err_sys(err, "open %s", path) : fd;
}

int
net_sysctl(const char *name, const char *value, struct err *err)
{
	auto_fd int fd = open_sysctl(name, O_WRONLY, err);

	if (fd < 0)
		return -1;
	if (write(fd, value, strlen(value)) < 0)
		return err_sys(err, "set net.%s to %s", name, value);
	return 0;
}

int
net_sysctl_read(const char *name, char *value, int room, struct err *err)
{
	auto_fd int fd = open_sysctl(name, O_RDONLY, err);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, value, (size_t)room - 1);
	if (n < 0)
		return err_sys(err, "read net.%s", name);
	value[n] = '\0';
	value[strcspn(value, "\n")] = '\0';
	return 0;
}
