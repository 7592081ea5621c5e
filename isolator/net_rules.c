#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/net_rules.h"

#define NFT_MS 10000

/*
 * Addresses no sandbox reaches: RFC 6890's special ones, private and shared
 * ranges, link-local with the clouds' metadata service, multicast, and the
 * ranges that embed an IPv4 address in IPv6 (a way round the list otherwise).
 */
static const char never4[] =
    "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, "
    "172.16.0.0/12, 192.0.0.0/24, 192.88.99.0/24, 192.168.0.0/16, "
    "198.18.0.0/15, 224.0.0.0/3";
static const char never6[] =
    "::/96, ::ffff:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48, 100::/64, "
    "2001::/32, 2002::/16, fc00::/7, fe80::/10, fec0::/10, ff00::/8";

static void
ip_text(struct str *out, uint32_t host)
{
	str_printf(out, "%u.%u.%u.%u", host >> 24, host >> 16 & 255,
	    host >> 8 & 255, host & 255);
}

static void
put_filter(const struct net_rules *r, struct str *out)
{
	unsigned n = r->instance;

	/* A source that this link doesn't own never gets further. */
	str_printf(out,
	    "  chain source {\n"
	    "    type filter hook prerouting priority raw; policy accept;\n"
	    "    iifname \"h%uv*\" fib saddr . iif oif missing drop\n  }\n",
	    n);
	str_printf(out,
	    "  chain local {\n"
	    "    type filter hook input priority filter - 10; policy accept;\n"
	    "    iifname != \"h%uv*\" accept\n"
	    "    ct state established,related accept\n",
	    n);
	if (*r->resolver != '\0')
		str_printf(out,
		    "    ct status dnat ip daddr %s meta l4proto { tcp, udp } "
		    "th dport 53 accept\n",
		    r->resolver);
	str_printf(out, "    drop\n  }\n");
	str_printf(out,
	    "  chain passing {\n"
	    "    type filter hook forward priority filter - 10; policy "
	    "accept;\n"
	    "    iifname \"h%uv*\" jump outward\n"
	    "    oifname \"h%uv*\" jump inward\n  }\n",
	    n, n);
	str_printf(out,
	    "  chain inward {\n    ct state established,related accept\n"
	    "    drop\n  }\n"
	    "  chain outward {\n    oifname \"h%uv*\" drop\n"
	    "    ct state invalid drop\n",
	    n);
	if (*r->resolver != '\0')
		str_printf(out,
		    "    ct status dnat ip daddr %s meta l4proto { tcp, udp } "
		    "th dport 53 accept\n",
		    r->resolver);
	str_printf(out,
	    "    ip daddr @never4 counter reject with icmpx admin-prohibited\n"
	    "    ip6 daddr @never6 counter reject with icmpx "
	    "admin-prohibited\n");
	if (*r->prefix6 == '\0')
		str_printf(out, "    meta nfproto ipv6 drop\n");
	str_printf(out, "    accept\n  }\n");
}

static void
put_nat(const struct net_rules *r, struct str *out)
{
	unsigned n = r->instance;

	str_printf(out,
	    "  chain resolver {\n"
	    "    type nat hook prerouting priority dstnat - 10; "
	    "policy accept;\n");
	if (*r->resolver != '\0')
		str_printf(out,
		    "    iifname \"h%uv*\" ip daddr 169.254.53.53 meta l4proto "
		    "{ tcp, udp } th dport 53 dnat ip to %s\n",
		    n, r->resolver);
	str_printf(out,
	    "  }\n  chain leaving {\n"
	    "    type nat hook postrouting priority srcnat - 10; "
	    "policy accept;\n    ip saddr ");
	ip_text(out, r->prefix);
	str_printf(out, "/16 oifname != \"h%uv*\" masquerade\n", n);
	if (*r->prefix6 != '\0')
		str_printf(out,
		    "    ip6 saddr %s oifname != \"h%uv*\" masquerade\n",
		    r->prefix6, n);
	str_printf(out, "  }\n");
}

void
net_rules_text(const struct net_rules *r, struct str *out)
{
	net_rules_gone(r->instance, out);
	str_printf(out, "table inet hutch%u {\n", r->instance);
	str_printf(out,
	    "  set never4 { type ipv4_addr; flags interval; elements = { %s } "
	    "}\n"
	    "  set never6 { type ipv6_addr; flags interval; elements = { %s } "
	    "}\n",
	    never4, never6);
	put_filter(r, out);
	put_nat(r, out);
	str_printf(out, "}\n");
}

/*
 * All sandboxes' flows are in the host's one table of connections: who fills
 * it cuts off the host.  Before the resolver's address is put in.
 */
void
net_rules_bound(unsigned instance, unsigned most, struct str *out)
{
	str_printf(out,
	    "table inet hutch%u {\n"
	    "  set flows { type ifname; size 65535; flags dynamic; }\n"
	    "  chain crowd {\n"
	    "    type filter hook prerouting priority mangle; policy accept;\n"
	    "    iifname \"h%uv*\" ct state new add @flows { iifname ct count "
	    "over %u } counter drop\n  }\n}\n",
	    instance, instance, most);
}

/* Declared, then deleted: no error when it wasn't there. */
void
net_rules_gone(unsigned instance, struct str *out)
{
	str_printf(out, "table inet hutch%u {}\ndelete table inet hutch%u\n",
	    instance, instance);
}

static int
wait_for(pid_t pid, struct err *err)
{
	int64_t deadline = clock_ms() + NFT_MS;
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return 0;
		if (got == pid)
			return err_set(err, ERR_SYS,
			    "nft refused the table (status %d); its words are "
			    "in the log above",
			    status);
		if (got < 0)
			return err_sys(err, "wait for nft");
		if (clock_left(deadline) == 0)
			break;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return err_set(err, ERR_TIMEOUT, "nft took more than %d s",
	    NFT_MS / 1000);
}

int
net_rules_load(const struct str *text, struct err *err)
{
	static char nft[] = "nft", file[] = "-f", standard_input[] = "-";
	static char *const argv[] = { nft, file, standard_input, NULL };
	static char *const envp[] = { NULL };
	static const char *const places[] = { "/usr/sbin/nft", "/usr/bin/nft",
		"/usr/local/sbin/nft" };
	posix_spawn_file_actions_t acts;
	auto_fd int in = file_memfd("nft", text->at, text->len, err);
	int r = ENOENT;
	pid_t pid;

	if (in < 0)
		return -1;
	posix_spawn_file_actions_init(&acts);
	posix_spawn_file_actions_adddup2(&acts, in, STDIN_FILENO);
	for (size_t i = 0; r == ENOENT && i < sizeof places / sizeof *places;
	     i++)
		r = posix_spawn(&pid, places[i], &acts, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&acts);
	if (r != 0) {
		errno = r;
		return err_sys(err,
		    "run nft (install it: apt-get install nftables)");
	}
	return wait_for(pid, err);
}
