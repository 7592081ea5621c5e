/* What sandboxes with a network need, and who else filters it. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/probe.h"

static const char *
find_program(const char *name)
{
	static const char *const dirs[] = { "/usr/sbin", "/sbin", "/usr/bin",
		"/bin", "/usr/local/sbin" };
	static char at[64];

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		snprintf(at, sizeof at, "%s/%s", dirs[i], name);
		if (access(at, X_OK) == 0)
			return at;
	}
	return NULL;
}

static enum verdict
check_nft(struct str *detail)
{
	const char *at = find_program("nft");

	str_puts(detail, at != NULL ? at : "no nft program");
	return at != NULL ? VERDICT_GOOD : VERDICT_BAD;
}

/* First character of a one-line file, NUL if it can't be read. */
static char
flag(const char *path)
{
	auto_str struct str s = { 0 };
	struct err unused;

	if (file_read_at(AT_FDCWD, path, &s, 4096, &unused) < 0)
		return '\0';
	return str_text(&s)[0];
}

static enum verdict
check_forwarding(struct str *detail)
{
	const char *v4 = "/proc/sys/net/ipv4/ip_forward";
	const char *one = "/proc/sys/net/ipv6/conf/all/force_forwarding";
	bool writable = access(v4, W_OK) == 0;

	str_printf(detail, "IPv4 %s%s, IPv6 %s", flag(v4) == '1' ? "on" : "off",
	    flag(v4) == '1' ? "" : " (the daemon switches it on)",
	    access("/proc/net/if_inet6", F_OK) < 0 ? "off on this host"
		: access(one, F_OK) == 0           ? "per interface"
						   : "only with nat6 = yes");
	if (flag(v4) == '1' || writable)
		return VERDICT_GOOD;
	return geteuid() == 0 ? VERDICT_BAD : VERDICT_UNKNOWN;
}

/* The first nameserver of a file that a sandbox could reach. */
static bool
nameserver(const char *path, struct str *detail)
{
	auto_free char *line = NULL;
	char at[64];
	size_t room = 0;
	bool found = false;
	FILE *f = fopen(path, "re");

	while (f != NULL && !found && getline(&line, &room, f) > 0)
		if (sscanf(line, "nameserver %63s", at) == 1 &&
		    strncmp(at, "127.", 4) != 0 && strchr(at, ':') == NULL) {
			str_printf(detail, "%s, from %s", at, path);
			found = true;
		}
	if (f != NULL)
		fclose(f);
	return found;
}

static enum verdict
check_resolver(struct str *detail)
{
	if (nameserver("/etc/resolv.conf", detail) ||
	    nameserver("/run/systemd/resolve/resolv.conf", detail))
		return VERDICT_GOOD;
	str_puts(detail, "no IPv4 nameserver that is not on loopback");
	return VERDICT_NOTE;
}

/* Who else is at work on the packets of this host: none of them is wrong, but
 * each drops forwarded packets unless told otherwise. */
static enum verdict
check_firewalls(struct str *detail)
{
	static const struct {
		const char *name, *sign;
	} known[] = {
		{ "firewalld", "/run/firewalld.pid" },
		{ "firewalld", "/run/firewalld" },
		{ "docker", "/run/docker.sock" },
		{ "docker", "/sys/class/net/docker0" },
		{ "ufw", "/run/ufw.lock" },
		{ "ufw", "/lib/ufw/user.rules" },
	};
	const char *last = "";

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (access(known[i].sign, F_OK) < 0 ||
		    strcmp(last, known[i].name) == 0)
			continue;
		str_printf(detail, "%s%s", detail->len > 0 ? ", " : "",
		    known[i].name);
		last = known[i].name;
	}
	if (detail->len == 0) {
		str_puts(detail, "none that would drop forwarded packets");
		return VERDICT_GOOD;
	}
	return VERDICT_NOTE;
}

/* clang-format off */
const struct probe probes_net[] = {
	{ "nft",	check_nft,
	  "apt-get install nftables, or give every sandbox net = none" },
	{ "forwarding",	check_forwarding,
	  "let the daemon write net.ipv4.ip_forward, or set it to 1" },
	{ "resolver",	check_resolver,
	  "names don't resolve in sandboxes: put a nameserver that is not on 127.0.0.0/8 into /etc/resolv.conf" },
	{ "firewalls",	check_firewalls,
	  "let it forward what comes from and goes to the sandboxes' links (README, \"Beside Docker, firewalld and ufw\")" },
	{ .name = NULL },
};
/* clang-format on */
