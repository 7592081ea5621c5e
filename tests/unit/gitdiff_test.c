#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "web/gitdiff.h"

static void
patch(const char *in, const char *want)
{
	auto_str struct str out = { 0 };

	gitdiff_patch(&out, in, strlen(in));
	assert_string_equal(out.at, want);
}

static void
a_patch_becomes_upstreams_object(void **unused)
{
	(void)unused;
	patch("", "{}");
	patch("diff --git a/n.txt b/n.txt\nnew file mode 100644\n"
	      "index 0000000..1\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n"
	      "+l1\n+l2\n"
	      "diff --git a/b/1 b/b/1\ndeleted file mode 100644\n"
	      "--- a/b/1\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
	      "\\ No newline at end of file\n",
	    "{\"n.txt\":\"--- a/n.txt\\n+++ b/n.txt\\n@@ -0,0 +1,2 @@\\n+l1\\n"
	    "+l2\",\"b/1\":\"--- a/b/1\\n+++ b/b/1\\n@@ -1 +0,0 @@\\n-one\"}");
}

static void
hunks_lose_what_git_adds(void **unused)
{
	(void)unused;
	patch("diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	      "@@ -1,2 +1,2 @@ int main(void) @@ x\n x\n--- a\n+++ b\r\n",
	    "{\"f\":\"--- a/f\\n+++ b/f\\n@@ -1,2 +1,2 @@\\n x\\n--- a\\n"
	    "+++ b\"}");
	/* A mode that changed is no difference of content. */
	patch("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "{}");
}

static void
odd_names_are_read(void **unused)
{
	(void)unused;
	patch("diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n"
	      "-x\n+y\n",
	    "{\"a b\":\"--- a/a b\\n+++ b/a b\\n@@ -1 +1 @@\\n-x\\n+y\"}");
	patch("diff --git \"a/q\\\"\\n\\303\\251\" \"b/q\"\n"
	      "--- \"a/q\\\"\\n\\303\\251\"\n+++ /dev/null\n@@ -1 +0,0 "
	      "@@\n-x\n",
	    "{\"q\\\"\\n\xc3\xa9\":\"--- a/q\\\"\\n\xc3\xa9\\n+++ b/q\\\"\\n"
	    "\xc3\xa9\\n@@ -1 +0,0 @@\\n-x\"}");
}

static void
a_log_is_a_list_of_commits(void **unused)
{
	static const char in[] =
	    "\001aa\0User\0002026-11-30T19:00:36Z\0two\n\nmore\n\n\0\n\n"
	    "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n\n"
	    "\001bb\0N\0002026-11-30T19:00:35+02:00\0one\0\n";
	auto_str struct str out = { 0 };
	struct err err;

	(void)unused;
	assert_int_equal(gitdiff_log(&out, in, sizeof in - 1, &err), 0);
	assert_string_equal(out.at,
	    "[{\"commit\":\"aa\",\"author\":\"User\",\"date\":"
	    "\"2026-11-30T19:00:36+00:00\",\"message\":\"two\\n\\nmore\","
	    "\"diff\":{\"f\":\"--- a/f\\n+++ b/f\\n@@ -1 +1 @@\\n-x\\n+y\"}},"
	    "{\"commit\":\"bb\",\"author\":\"N\",\"date\":"
	    "\"2026-11-30T19:00:35+02:00\",\"message\":\"one\",\"diff\":{}}]");
	str_cut(&out, 0);
	assert_int_equal(gitdiff_log(&out, "\001aa\0U", 5, &err), -1);
	assert_int_equal(err.code, ERR_PROTO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_patch_becomes_upstreams_object),
		cmocka_unit_test(hunks_lose_what_git_adds),
		cmocka_unit_test(odd_names_are_read),
		cmocka_unit_test(a_log_is_a_list_of_commits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
