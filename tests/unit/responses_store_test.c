#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "store/responses.h"

static char dir[64], path[96];
static struct responses_store *store;

static const struct response_bounds bounds = { 100, 4096, 1000 };

static int
begin(void **unused)
{
	struct err err;

	(void)unused;
	strcpy(dir, "/tmp/hutch-responses-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/r.db", dir);
	store = responses_open(path, &bounds, &err);
	return store != NULL ? 0 : -1;
}

static int
end(void **unused)
{
	struct err err;

	(void)unused;
	responses_close(store);
	return file_remove_tree(AT_FDCWD, dir, &err);
}

static void
put(const char *tenant, const char *id, const char *talk, const char *body,
    int64_t at)
{
	struct err err;

	assert_int_equal(responses_put(store,
			     &(struct response_row){ .tenant = tenant,
				 .id = id,
				 .agent = "a",
				 .conversation = talk,
				 .status = "completed",
				 .body = body,
				 .input = "[]",
				 .created_s = at },
			     &err),
	    0);
}

static void
note(void *arg, const struct response_row *r)
{
	str_printf(arg, "%s/%s/%s/%s ", r->tenant, r->id, r->status, r->body);
}

static void
expect(const char *tenant, const char *id, const char *wanted)
{
	auto_str struct str have = { 0 };
	struct err err;

	assert_int_equal(responses_get(store, tenant, id, note, &have, &err),
	    *wanted != '\0');
	assert_string_equal(str_text(&have), wanted);
}

static void
kept(void **state)
{
	auto_str struct str have = { 0 };
	struct err err;

	(void)state;
	put("t", "r1", "talk", "{1}", 10);
	put("t", "r2", "talk", "{2}", 20);
	put("t", "r3", "", "{3}", 30);
	put("u", "r1", "talk", "{other}", 10);
	expect("t", "r1", "t/r1/completed/{1} ");
	expect("u", "r1", "u/r1/completed/{other} ");
	expect("u", "r2", "");
	/* again: it keeps its place */
	put("t", "r1", "talk", "{new}", 10);
	assert_int_equal(responses_conversation(store, "t", "talk", 10, note,
			     &have, &err),
	    2);
	assert_string_equal(str_text(&have),
	    "t/r1/completed/{new} t/r2/completed/{2} ");
	str_cut(&have, 0);
	assert_int_equal(responses_conversation(store, "t", "talk", 1, note,
			     &have, &err),
	    1);
	assert_string_equal(str_text(&have), "t/r2/completed/{2} ");
	assert_int_equal(responses_conversation(store, "t", "", 1, note, &have,
			     &err),
	    0);
	/* after a restart as well */
	responses_close(store);
	store = responses_open(path, &bounds, &err);
	assert_non_null(store);
	expect("t", "r3", "t/r3/completed/{3} ");
}

static void
deleted(void **state)
{
	struct err err;

	(void)state;
	put("t", "r1", "", "{1}", 10);
	put("t", "r2", "", "{2}", 10);
	assert_int_equal(responses_delete(store, "u", "r1", &err), 0);
	assert_int_equal(responses_delete(store, "t", "r1", &err), 1);
	assert_int_equal(responses_delete(store, "t", "r1", &err), 0);
	expect("t", "r1", "");
	expect("t", "r2", "t/r2/completed/{2} ");
}

/* What is committed is there for others; the rest is, when it is closed. */
static void
committed(void **state)
{
	struct err err;
	struct responses_store *other, *mine = store;

	(void)state;
	put("t", "r1", "", "{1}", 10);
	assert_int_equal(responses_commit(store, &err), 0);
	assert_int_equal(responses_commit(store, &err), 0);
	other = responses_open(path, &bounds, &err);
	assert_non_null(other);
	put("t", "r2", "", "{2}", 10);
	expect("t", "r2", "t/r2/completed/{2} ");
	store = other;
	expect("t", "r1", "t/r1/completed/{1} ");
	expect("t", "r2", "");
	responses_close(mine);
	expect("t", "r2", "t/r2/completed/{2} ");
}

static unsigned
count(const char *tenant)
{
	auto_str struct str have = { 0 };
	struct err err;

	return (unsigned)responses_conversation(store, tenant, "talk", 10000,
	    note, &have, &err);
}

static void
bounded(void **state)
{
	char id[16], body[1024];
	struct err err;

	(void)state;
	/* by number: some more than the bound, never many */
	for (int i = 0; i < 400; i++) {
		snprintf(id, sizeof id, "r%d", i);
		put("t", id, "talk", "{}", i);
	}
	assert_in_range(count("t"), 1, 100 + 64);
	expect("t", "r399", "t/r399/completed/{} ");
	expect("t", "r0", "");
	/* by bytes */
	memset(body, 'x', sizeof body - 1);
	body[sizeof body - 1] = '\0';
	for (int i = 0; i < 20; i++) {
		snprintf(id, sizeof id, "b%d", i);
		put("u", id, "talk", body, i);
	}
	assert_in_range(count("u"), 1, 4);
	/* by age */
	assert_int_equal(responses_expire(store, 1399, &err), 0);
	assert_int_equal(count("t"), 1);
	assert_int_equal(count("u"), 0);
}

static void
refuses(void **state)
{
	struct err err;

	(void)state;
	assert_null(responses_open("/nowhere/at/all", &bounds, &err));
	assert_int_equal(err.code, ERR_SYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kept, begin, end),
		cmocka_unit_test_setup_teardown(deleted, begin, end),
		cmocka_unit_test_setup_teardown(committed, begin, end),
		cmocka_unit_test_setup_teardown(bounded, begin, end),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
