/*
 * net_rules: the one table of a daemon instance, as text, and nft(8) run on it.
 *
 * The text is pure (unit-tested); loading executes nft with a fixed argv.
 */
#ifndef ISOLATOR_NET_RULES_H
#define ISOLATOR_NET_RULES_H

#include <stdint.h>

struct err;
struct str;

struct net_rules {
	unsigned instance;
	uint32_t prefix;      /* /16, host order */
	const char *resolver; /* IPv4 text, "" for none */
	const char *prefix6;  /* "fd..::/64", "" for no IPv6 */
};

void net_rules_text(const struct net_rules *, struct str *out);
/* More for that table, of kernels that can count: flows of each sandbox. */
void net_rules_bound(unsigned instance, unsigned most, struct str *out);
void net_rules_gone(unsigned instance, struct str *out);
int net_rules_load(const struct str *text, struct err *);

#endif
