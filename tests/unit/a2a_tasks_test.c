#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/file.h"
#include "store/a2a_tasks.h"

static char dir[64], path[96];
static struct err err;

static int
begin(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/hutch-tasks-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/t.db", dir);
	return 0;
}

static int
end(void **unused)
{
	(void)unused;
	return file_remove_tree(AT_FDCWD, dir, &err);
}

static struct a2a_tasks *
opened(unsigned rows, uint64_t bytes, int64_t age)
{
	struct a2a_bounds b = { rows, bytes, age };
	struct a2a_tasks *t = a2a_tasks_open(path, &b, &err);

	assert_non_null(t);
	return t;
}

static void
put(struct a2a_tasks *t, const char *tenant, const char *id, const char *state,
    int64_t at, const char *body)
{
	struct a2a_row r = { .tenant = tenant,
		.agent = "a",
		.id = id,
		.context = "c",
		.state = state,
		.body = body,
		.updated_ms = at };

	assert_int_equal(a2a_tasks_put(t, &r, &err), 0);
}

static void
note(void *arg, const struct a2a_row *r)
{
	strcat(arg, r->id);
	strcat(arg, "=");
	strcat(arg, r->body);
	strcat(arg, " ");
}

static void
listed(struct a2a_tasks *t, const struct a2a_filter *f, unsigned offset,
    unsigned limit, const char *want)
{
	char got[512] = "";

	assert_true(a2a_tasks_list(t, f, offset, limit, note, got, &err) >= 0);
	assert_string_equal(got, want);
}

static void
test_rows(void **unused)
{
	struct a2a_tasks *t = opened(100, 1 << 20, 1000000);
	struct a2a_filter all = { .tenant = "x", .agent = "a" };
	struct a2a_filter done = all, late = all;
	char got[64] = "";

	(void)unused;
	done.state = "completed";
	late.after_ms = 11;
	put(t, "x", "1", "working", 10, "{}");
	put(t, "x", "2", "completed", 11, "{}");
	put(t, "x", "3", "working", 12, "{}");
	put(t, "y", "1", "working", 13, "{\"y\":1}");
	put(t, "x", "1", "completed", 14, "[]");
	listed(t, &all, 0, 10, "1=[] 3={} 2={} ");
	listed(t, &all, 1, 1, "3={} ");
	listed(t, &done, 0, 10, "1=[] 2={} ");
	listed(t, &late, 0, 10, "1=[] 3={} ");
	assert_int_equal(a2a_tasks_count(t, &done, &err), 2);
	assert_int_equal(a2a_tasks_get(t, "y", "a", "1", note, got, &err), 1);
	assert_string_equal(got, "1={\"y\":1} ");
	assert_int_equal(a2a_tasks_get(t, "y", "a", "2", note, got, &err), 0);
	a2a_tasks_close(t);
	/* they are there again */
	t = opened(100, 1 << 20, 1000000);
	assert_int_equal(a2a_tasks_count(t, &all, &err), 3);
	a2a_tasks_close(t);
}

static void
test_bounds(void **unused)
{
	struct a2a_tasks *t = opened(2, 1 << 20, 1000);
	struct a2a_filter x = { .tenant = "x", .agent = "a" };
	struct a2a_filter y = { .tenant = "y", .agent = "a" };

	(void)unused;
	put(t, "y", "1", "working", 1, "{}");
	put(t, "x", "1", "working", 2, "{}");
	put(t, "x", "2", "working", 3, "{}");
	put(t, "x", "3", "working", 4, "{}");
	listed(t, &x, 0, 10, "3={} 2={} ");
	listed(t, &y, 0, 10, "1={} ");
	put(t, "x", "4", "working", 1003, "{}");
	listed(t, &x, 0, 10, "4={} 3={} ");
	listed(t, &y, 0, 10, "");
	a2a_tasks_close(t);
	/* the newest stays however large it is */
	t = opened(10, 8, 100000);
	put(t, "x", "5", "working", 1004, "[1,2,3,4,5,6]");
	listed(t, &x, 0, 10, "5=[1,2,3,4,5,6] ");
	put(t, "x", "6", "working", 1005, "[1]");
	listed(t, &x, 0, 10, "6=[1] ");
	put(t, "x", "7", "working", 1006, "[2]");
	listed(t, &x, 0, 10, "7=[2] 6=[1] ");
	a2a_tasks_close(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, begin, end),
		cmocka_unit_test_setup_teardown(test_bounds, begin, end),
	};

	return cmocka_run_group_tests_name("a2a_tasks", tests, NULL, NULL);
}
