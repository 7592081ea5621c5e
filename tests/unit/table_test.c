#include <stdio.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "manager/table.h"

struct thing {
	char name[16];
	struct table_node node;
};

static void
finds_what_is_in_it(void **unused)
{
	static struct thing things[1000];
	struct table t = { 0 };

	(void)unused;
	assert_null(table_find(&t, "x", 1));
	for (int i = 0; i < 1000; i++) {
		snprintf(things[i].name, sizeof things[i].name, "t%d", i);
		table_add(&t, &things[i].node, things[i].name,
		    strlen(things[i].name), &things[i]);
	}
	assert_int_equal(t.n, 1000);
	for (int i = 0; i < 1000; i += 2)
		table_remove(&t, &things[i].node);
	table_remove(&t, &things[0].node); /* twice is once */
	assert_int_equal(t.n, 500);
	for (int i = 0; i < 1000; i++)
		assert_ptr_equal(table_find(&t, things[i].name,
				     strlen(things[i].name)),
		    i % 2 ? &things[i] : NULL);
	assert_null(table_find(&t, "t1", 1));
	table_free(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_in_it),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
