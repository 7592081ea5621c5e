#include <stdio.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/sha256.h"
#include "conf/conf.h"
#include "web/auth.h"

/* Of "alpha" and "beta". */
#define ALPHA "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8"
#define BETA "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753"

static struct config *
with_tenants(void)
{
	struct config *c = conf_new();
	struct err err;

	assert_int_equal(conf_set(c, "tenant one", "token_sha256", ALPHA, &err),
	    0);
	assert_int_equal(conf_set(c, "tenant two", "token_sha256", BETA, &err),
	    0);
	assert_int_equal(conf_set(c, "tenant two", "admin", "yes", &err), 0);
	return c;
}

static void
expect_refused(const struct auth *a, const char *value, const char *text)
{
	struct http_who who = { -7, true };
	struct err err;

	assert_int_equal(auth_token(a, value, &who, &err), -1);
	assert_string_equal(err.text, text);
	/* What is not filled stays as it was. */
	assert_int_equal(who.tenant, -7);
}

static void
knows_tenants_by_their_tokens(void **unused)
{
	struct config *c = with_tenants();
	struct auth *a = auth_new(c);
	struct http_who who;
	struct err err;

	(void)unused;
	assert_int_equal(auth_token(a, "Bearer alpha", &who, &err), 0);
	assert_int_equal(who.tenant, 0);
	assert_false(who.admin);
	assert_int_equal(auth_token(a, "bEARER beta", &who, &err), 0);
	assert_int_equal(who.tenant, 1);
	assert_true(who.admin);
	expect_refused(a, NULL, "Authentication required");
	expect_refused(a, "", "Authentication required");
	expect_refused(a, "Bearer", "Authentication required");
	expect_refused(a, "Basic alpha", "Authentication required");
	expect_refused(a, "Bearer\talpha", "Authentication required");
	expect_refused(a, "alpha", "Authentication required");
	expect_refused(a, "Bearer alph", "Invalid authentication credentials");
	expect_refused(a, "Bearer alphaa",
	    "Invalid authentication credentials");
	expect_refused(a, "Bearer  alpha",
	    "Invalid authentication credentials");
	expect_refused(a, "Bearer alpha ",
	    "Invalid authentication credentials");
	expect_refused(a, "Bearer " ALPHA,
	    "Invalid authentication credentials");
	auth_free(a);
	conf_free(c);
}

/* Digests that agree in their first or in their last byte. */
static void
compares_whole_digests(void **unused)
{
	struct config *c = with_tenants();
	struct auth *a = auth_new(c);
	const uint8_t *want = c->tenant[0].token_sha256;
	int tried = 0;

	(void)unused;
	for (int i = 0; i < 4000; i++) {
		uint8_t got[SHA256_BYTES];
		char value[32];

		snprintf(value, sizeof value, "Bearer %d", i);
		sha256(got, value + 7, strlen(value + 7));
		if (got[0] != want[0] && got[31] != want[31])
			continue;
		expect_refused(a, value, "Invalid authentication credentials");
		tried++;
	}
	assert_true(tried > 2);
	auth_free(a);
	conf_free(c);
}

static void
knows_its_own_hosts(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *host;
		bool ours;
	} hosts[] = {
		{ "localhost", true },
		{ "LocalHost:8000", true },
		{ "127.0.0.1:8000", true },
		{ "127.8.9.10", true },
		{ "[::1]", true },
		{ "[::1]:8000", true },
		{ "[0:0:0:0:0:0:0:1]", true },
		{ "box.example", true },
		{ "Box.Example:8000", true },
		{ "", false },
		{ ":8000", false },
		{ "localhost:", true },
		{ "localhost:80a", false },
		{ "localhost.evil.example", false },
		{ "evil.example:8000", false },
		{ "127.0.0.1.evil.example", false },
		{ "127.1", false },
		{ "2130706433", false },
		{ "0.0.0.0", false },
		{ "10.0.0.1", false },
		{ "[::]", false },
		{ "[::1", false },
		{ "[::1x", false },
		{ "[::ffff:10.0.0.1]", false },
		{ "notbox.example", false },
	};
	/* clang-format on */
	struct config *c = conf_new();
	struct auth *a = auth_new(c);
	struct err err;

	(void)unused;
	assert_int_equal(conf_set(c, "", "hosts", "box.example", &err), 0);
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
		if (auth_host(a, hosts[i].host) != hosts[i].ours)
			fail_msg("%s", hosts[i].host);
	auth_free(a);
	conf_free(c);
}

static void
knows_the_operators_origins(void **unused)
{
	struct config *c = conf_new();
	struct auth *a = auth_new(c);
	struct err err;

	(void)unused;
	assert_false(auth_origin(a, "http://a.example"));
	assert_int_equal(conf_set(c, "", "cors_origins", "http://a.example",
			     &err),
	    0);
	assert_true(auth_origin(a, "http://a.example"));
	assert_false(auth_origin(a, "https://a.example"));
	assert_false(auth_origin(a, "http://a.example.evil.example"));
	assert_false(auth_origin(a, "null"));
	assert_int_equal(conf_set(c, "", "cors_origins", "*", &err), 0);
	assert_true(auth_origin(a, "http://b.example"));
	auth_free(a);
	conf_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_tenants_by_their_tokens),
		cmocka_unit_test(compares_whole_digests),
		cmocka_unit_test(knows_its_own_hosts),
		cmocka_unit_test(knows_the_operators_origins),
	};

	return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
