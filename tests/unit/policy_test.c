#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "rootfs/policy.h"

static void
paths_are_cleaned(void **unused)
{
	static const char *const rows[][2] = { { "a/b", "a/b" },
		{ "./a//b/./", "a/b" }, { "./", "" }, { "", "" }, { ".", "" },
		{ "...", "..." }, { "a/..b", "a/..b" }, { "a/.b/", "a/.b" } };
	char out[PATH_MAX];
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(policy_path(rows[i][0], out, &err), 0);
		assert_string_equal(out, rows[i][1]);
	}
}

static void
paths_that_lead_out_are_refused(void **unused)
{
	static const char *const bad[] = { "/", "/a", "..", "../a", "a/..",
		"a/../b", "./..", "a/./../.." };
	char out[PATH_MAX];
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(policy_path(bad[i], out, &err), -1);
		assert_int_equal(err.code, ERR_DENIED);
	}
}

static void
paths_are_bounded(void **unused)
{
	static char raw[3 * PATH_MAX];
	char out[PATH_MAX];
	struct err err;
	size_t n;

	(void)unused;
	memset(raw, 'x', NAME_MAX);
	assert_int_equal(policy_path(raw, out, &err), 0);
	raw[NAME_MAX] = 'x';
	assert_int_equal(policy_path(raw, out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	for (n = 0; n < POLICY_DEPTH; n++)
		memcpy(raw + 2 * n, "d/", 3);
	assert_int_equal(policy_path(raw, out, &err), 0);
	memcpy(raw + 2 * n, "d/", 3);
	assert_int_equal(policy_path(raw, out, &err), -1);
	for (n = 0; n < sizeof raw - 1; n++)
		raw[n] = n % 200 == 199 ? '/' : 'p';
	assert_int_equal(policy_path(raw, out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	/* The longest that fits: 4095 bytes and a NUL. */
	raw[PATH_MAX - 1] = '\0';
	assert_int_equal(policy_path(raw, out, &err), 0);
	assert_int_equal(strlen(out), PATH_MAX - 1);
}

static void
paths_are_split_and_joined(void **unused)
{
	char out[PATH_MAX];
	struct err err;
	char *above = policy_above("a/b/c");

	(void)unused;
	assert_string_equal(above, "a/b");
	free(above);
	above = policy_above("a");
	assert_string_equal(above, "");
	free(above);
	assert_string_equal(policy_base("a/b/c"), "c");
	assert_int_equal(policy_join("", "n", out, &err), 0);
	assert_string_equal(out, "n");
	assert_int_equal(policy_join("a/b", "n", out, &err), 0);
	assert_string_equal(out, "a/b/n");
	assert_int_equal(policy_join(out, "", out, &err), 0);
	assert_string_equal(out, "a/b/n");
}

static void
names_have_meanings(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *base;
		enum policy_name kind;
		const char *hidden;
	} rows[] = {
		{ "f",			NAME_PLAIN,	NULL },
		{ ".whale",		NAME_PLAIN,	NULL },
		{ "x.wh.y",		NAME_PLAIN,	NULL },
		{ ".wh",		NAME_PLAIN,	NULL },
		{ ".wh.f",		NAME_WHITEOUT,	"f" },
		{ ".wh....",		NAME_WHITEOUT,	"..." },
		{ ".wh..hidden",	NAME_WHITEOUT,	".hidden" },
		{ ".wh..wh..opq",	NAME_OPAQUE,	NULL },
		{ ".wh..wh.plnk",	NAME_IGNORED,	NULL },
		{ ".wh..wh.",		NAME_IGNORED,	NULL },
	};
	/* clang-format on */
	static const char *const bad[] = { ".wh.", ".wh..", ".wh..." };
	enum policy_name kind;
	const char *hidden;
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		hidden = NULL;
		assert_int_equal(policy_name(rows[i].base, &kind, &hidden,
				     &err),
		    0);
		assert_int_equal(kind, rows[i].kind);
		if (rows[i].hidden != NULL)
			assert_string_equal(hidden, rows[i].hidden);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(policy_name(bad[i], &kind, &hidden, &err), -1);
}

static void
attributes_that_steer_are_dropped(void **unused)
{
	static const char *const no[] = { "trusted.overlay.opaque", "trusted.x",
		"user.overlay.opaque", "user.overlay.redirect",
		"security.capability", "security.selinux",
		"system.posix_acl_access", "user", "", "userx.y" };

	(void)unused;
	assert_true(policy_xattr("user.mine"));
	assert_true(policy_xattr("user.overlayed"));
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		assert_false(policy_xattr(no[i]));
}

static void
owners_fit_a_slot(void **unused)
{
	struct err err;

	(void)unused;
	assert_int_equal(policy_owner("p", 0, 65535, &err), 0);
	assert_int_equal(policy_owner("some/p", 65536, 0, &err), -1);
	assert_string_equal(err.text,
	    "owner 65536:0 of some/p is outside 0..65535");
	assert_int_equal(policy_owner("p", 0, -1, &err), -1);
	assert_int_equal(policy_owner("p", 1ll << 40, 0, &err), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_cleaned),
		cmocka_unit_test(paths_that_lead_out_are_refused),
		cmocka_unit_test(paths_are_bounded),
		cmocka_unit_test(paths_are_split_and_joined),
		cmocka_unit_test(names_have_meanings),
		cmocka_unit_test(attributes_that_steer_are_dropped),
		cmocka_unit_test(owners_fit_a_slot),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
