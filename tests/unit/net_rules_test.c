#include <string.h>
#include "tests/unit/unit.h"
#include "base/str.h"
#include "isolator/net_rules.h"

static const struct net_rules with = { .instance = 3,
	.prefix = 0x64600000,
	.resolver = "192.0.2.53",
	.prefix6 = "fd68::/64" };

static void
replaces_the_table_in_one_transaction(void **unused)
{
	auto_str struct str s = { 0 };

	(void)unused;
	net_rules_text(&with, &s);
	assert_int_equal(strncmp(s.at,
			     "table inet hutch3 {}\ndelete table inet hutch3\n"
			     "table inet hutch3 {\n",
			     65),
	    0);
}

static void
names_only_its_own_links(void **unused)
{
	auto_str struct str s = { 0 };

	(void)unused;
	net_rules_text(&with, &s);
	for (const char *p = s.at; (p = strstr(p, "ifname")) != NULL; p++)
		assert_true(strncmp(p, "ifname \"h3v*\"", 13) == 0 ||
		    strncmp(p, "ifname != \"h3v*\"", 16) == 0);
}

static void
opens_nothing_for_what_the_host_lacks(void **unused)
{
	auto_str struct str s = { 0 };
	struct net_rules without = with;

	(void)unused;
	without.resolver = "";
	without.prefix6 = "";
	net_rules_text(&without, &s);
	assert_null(strstr(s.at, "dnat ip to"));
	assert_null(strstr(s.at, "dport 53"));
	assert_null(strstr(s.at, "ip6 saddr"));
	assert_non_null(strstr(s.at, "meta nfproto ipv6 drop"));
}

static void
bounds_the_flows_of_each_link(void **unused)
{
	auto_str struct str s = { 0 };

	(void)unused;
	net_rules_bound(3, 77, &s);
	assert_int_equal(strncmp(s.at, "table inet hutch3 {\n", 20), 0);
	assert_non_null(strstr(s.at,
	    "iifname \"h3v*\" ct state new add @flows { iifname ct count over "
	    "77 } counter drop\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces_the_table_in_one_transaction),
		cmocka_unit_test(names_only_its_own_links),
		cmocka_unit_test(bounds_the_flows_of_each_link),
		cmocka_unit_test(opens_nothing_for_what_the_host_lacks),
	};

	return cmocka_run_group_tests_name("net_rules", tests, NULL, NULL);
}
