/* What agents keep: state, history, memory, tasks, on a real database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "store/db.h"
#include "store/history.h"
#include "store/memory.h"
#include "store/state.h"
#include "store/tasks.h"

static const struct service_key mine = { "t", "a", "u", "s" };
static const struct service_key others[] = {
	{ "x", "a", "u", "s" },
	{ "t", "x", "u", "s" },
	{ "t", "a", "x", "s" },
};

static struct db *
open_db(void)
{
	struct err err;
	struct db *db = service_open(":memory:", &err);

	if (db == NULL)
		fail_msg("%s", err.text);
	return db;
}

static int64_t
bytes(struct db *db, const char *tenant)
{
	struct err err;
	struct db_set *set = service_sums(db, &err);
	int64_t n = service_bytes(set, tenant, &err);

	db_finalize(set);
	return n;
}

struct got {
	char text[256];
	int64_t version;
};

static void
got_state(void *arg, const char *value, int64_t version)
{
	struct got *g = arg;

	snprintf(g->text, sizeof g->text, "%s", value);
	g->version = version;
}

static int64_t
put(struct state_store *s, const char *value, int64_t if_version,
    const char *owner, double expires, double now, struct err *err)
{
	return state_put(s, &mine,
	    &(struct state_put){ .name = "n",
		.value = value,
		.if_version = if_version,
		.owner = owner,
		.expires_at = expires,
		.now = now },
	    err);
}

static void
states_have_versions(void **unused)
{
	struct db *db = open_db();
	struct err err;
	struct state_store *s = state_open(db, &err);
	struct got g;
	int64_t v1, v2;

	(void)unused;
	assert_int_equal(state_get(s, &mine, "n", 1, got_state, &g, &err), 0);
	assert_int_equal(put(s, "1", 7, NULL, 0, 1, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	v1 = put(s, "1", 0, NULL, 0, 1, &err);
	assert_true(v1 > 0);
	assert_int_equal(put(s, "x", 0, NULL, 0, 1, &err), -1);
	v2 = put(s, "2", v1, NULL, 0, 1, &err);
	assert_true(v2 > v1);
	assert_int_equal(put(s, "x", v1, NULL, 0, 1, &err), -1);
	assert_int_equal(state_get(s, &mine, "n", 1, got_state, &g, &err), 1);
	assert_string_equal(g.text, "2");
	assert_int_equal(g.version, v2);
	/* What was deleted and is saved anew is not what it was. */
	assert_int_equal(state_delete(s, &mine, "n", NULL, 1, &err), 1);
	assert_int_equal(state_delete(s, &mine, "n", NULL, 1, &err), 0);
	v1 = put(s, "3", 0, NULL, 0, 1, &err);
	assert_true(v1 > v2);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(state_get(s, &others[i], "n", 1, got_state, &g,
				     &err),
		    0);
	state_close(s);
	db_close(db);
}

static void
states_end_and_are_locked(void **unused)
{
	struct db *db = open_db();
	struct err err;
	struct state_store *s = state_open(db, &err);
	struct got g;

	(void)unused;
	assert_true(put(s, "1", -1, NULL, 10, 1, &err) > 0);
	assert_int_equal(state_get(s, &mine, "n", 9, got_state, &g, &err), 1);
	assert_int_equal(state_get(s, &mine, "n", 10, got_state, &g, &err), 0);
	assert_true(bytes(db, "t") > 0);
	assert_int_equal(state_expire(s, 11, &err), 0);
	assert_int_equal(bytes(db, "t"), 0);

	assert_int_equal(state_lock(s, &mine, "n", "A", 20, 11, &err), 0);
	assert_int_equal(state_lock(s, &mine, "n", "A", 30, 11, &err), 0);
	assert_int_equal(state_lock(s, &mine, "n", "B", 30, 11, &err), -1);
	assert_int_equal(err.code, ERR_DENIED);
	assert_int_equal(put(s, "2", -1, "B", 0, 11, &err), -1);
	assert_int_equal(put(s, "2", -1, NULL, 0, 11, &err), -1);
	assert_int_equal(state_delete(s, &mine, "n", "B", 11, &err), -1);
	assert_true(put(s, "2", -1, "A", 0, 11, &err) > 0);
	/* Its time is over, or its owner is. */
	assert_true(put(s, "3", -1, "B", 0, 31, &err) > 0);
	assert_int_equal(state_lock(s, &mine, "n", "B", 90, 31, &err), 0);
	assert_int_equal(state_unlock(s, mine.tenant, "A", &err), 0);
	/* Another tenant's run may have the same name. */
	assert_int_equal(state_unlock(s, "another", "B", &err), 0);
	assert_int_equal(put(s, "4", -1, "A", 0, 32, &err), -1);
	assert_int_equal(state_unlock(s, mine.tenant, "B", &err), 0);
	assert_true(put(s, "4", -1, "A", 0, 32, &err) > 0);
	state_close(s);
	db_close(db);
}

static void
got_line(void *arg, const char *body)
{
	struct str *out = arg;

	str_puts(out, body);
	str_putc(out, ' ');
}

static void
lists(struct history_store *h, const struct service_key *k, unsigned limit,
    const char *want)
{
	auto_str struct str out = { 0 };
	struct err err;

	assert_int_equal(history_list(h, k, limit, got_line, &out, &err), 0);
	assert_string_equal(str_text(&out), want);
}

static void
history_is_in_order(void **unused)
{
	struct db *db = open_db();
	struct err err;
	struct history_store *h = history_open(db, &err);
	static const char *const abc[] = { "a", "b", "c" };

	(void)unused;
	lists(h, &mine, 10, "");
	assert_int_equal(history_append(h, &mine, abc, 3, 4, 1, &err), 0);
	lists(h, &mine, 10, "a b c ");
	lists(h, &mine, 2, "b c ");
	/* The oldest go. */
	assert_int_equal(history_append(h, &mine, abc, 2, 4, 1, &err), 0);
	lists(h, &mine, 10, "b c a b ");
	for (size_t i = 0; i < 3; i++)
		lists(h, &others[i], 10, "");
	lists(h, &(struct service_key){ "t", "a", "u", "other" }, 10, "");
	assert_true(bytes(db, "t") > 800);
	assert_int_equal(history_clear(h, &mine, &err), 4);
	assert_int_equal(bytes(db, "t"), 0);
	history_close(h);
	db_close(db);
}

static void
remember(struct memory_store *m, const struct service_key *k, const char *id,
    const char *text)
{
	struct err err;

	if (memory_add(m, k,
		&(struct memory_row){ .id = id,
		    .text = text,
		    .metadata = "null",
		    .made_at = 1 },
		&err) < 0)
		fail_msg("%s", err.text);
}

static void
got_memory(void *arg, const struct memory_row *r)
{
	struct str *out = arg;

	str_puts(out, r->id);
	str_putc(out, ' ');
}

static void
finds(struct memory_store *m, const char *query, const char *want)
{
	auto_str struct str out = { 0 };
	struct err err;

	if (memory_search(m, &mine, query, 10, got_memory, &out, &err) < 0)
		fail_msg("%s: %s", query, err.text);
	assert_string_equal(str_text(&out), want);
}

static void
memory_is_searched(void **unused)
{
	struct db *db = open_db();
	struct err err;
	struct memory_store *m = memory_open(db, &err);
	auto_str struct str out = { 0 };

	(void)unused;
	remember(m, &mine, "m1", "The user likes green tea, not coffee.");
	remember(m, &mine, "m2", "Lives in Z\xc3\xbcrich since 2019");
	remember(m, &mine, "m3",
	    "\xe7\x94\xa8\xe6\x88\xb7\xe4\xbd\x8f\xe5\x9c\xa8\xe5\x8c\x97"
	    "\xe4\xba\xac"); /* the user lives in Beijing */
	for (size_t i = 0; i < 3; i++) {
		char id[8];

		snprintf(id, sizeof id, "x%zu", i);
		remember(m, &others[i], id, "green tea");
	}
	finds(m, "tea", "m1 ");
	finds(m, "Does she LIKE coffee?", "m1 ");
	finds(m, "zurich", "m2 ");
	finds(m, "living 2019 tea", "m2 m1 ");
	finds(m, "\xe5\x8c\x97\xe4\xba\xac", "m3 ");
	/* Both characters are in it, but that is another word. */
	finds(m, "\xe4\xba\xac\xe5\x8c\x97", "");
	finds(m, "nothing of that", "");
	/* No operator of the index's language is one here. */
	finds(m, "\"", "");
	finds(m, "tea AND NOT coffee", "m1 ");
	finds(m, "text : tea*) OR (scope", "m1 ");
	finds(m, "", "");
	finds(m, "\xff tea \xf0\x9f\x98\x80", "m1 ");
	assert_int_equal(memory_list(m, &mine, 2, got_memory, &out, &err), 0);
	assert_string_equal(out.at, "m3 m2 ");
	assert_int_equal(memory_delete(m, &others[0], "m1", &err), 0);
	assert_int_equal(memory_delete(m, &mine, "m1", &err), 1);
	assert_int_equal(memory_delete(m, &mine, "m1", &err), 0);
	finds(m, "tea", "");
	memory_close(m);
	db_close(db);
}

static void
got_task(void *arg, const struct task_row *r)
{
	snprintf(arg, 100, "%s %s", r->state, r->result);
}

static void
tasks_are_over_after_a_restart(void **unused)
{
	char dir[] = "/tmp/services.XXXXXX", text[100];
	struct task_row row = { .id = "1",
		.tenant = "t",
		.agent = "a",
		.state = "pending",
		.submitted_at = 1 };
	struct tasks_store *t;
	struct err err;
	struct db *db;

	(void)unused;
	assert_non_null(mkdtemp(dir));
	auto_free char *path = xasprintf("%s/db", dir);
	db = service_open(path, &err);
	t = tasks_open(db, &err);
	assert_int_equal(tasks_put(t, &row, &err), 0);
	row.id = "2";
	row.state = "finished";
	row.result = "{}";
	row.ended_at = 5;
	assert_int_equal(tasks_put(t, &row, &err), 0);
	assert_int_equal(tasks_count(t, "t", &err), 2);
	assert_int_equal(tasks_count(t, "x", &err), 0);
	assert_int_equal(tasks_get(t, "x", "1", got_task, text, &err), 0);
	tasks_close(t);
	db_close(db);

	db = service_open(path, &err);
	t = tasks_open(db, &err);
	assert_int_equal(tasks_get(t, "t", "1", got_task, text, &err), 1);
	assert_string_equal(text, "error \"the daemon was restarted\"");
	assert_int_equal(tasks_get(t, "t", "2", got_task, text, &err), 1);
	assert_string_equal(text, "finished {}");
	assert_int_equal(tasks_drop_oldest(t, "t", &err), 1);
	assert_int_equal(tasks_get(t, "t", "2", got_task, text, &err), 0);
	assert_int_equal(tasks_expire(t, 1e12, &err), 0);
	assert_int_equal(tasks_count(t, "t", &err), 0);
	tasks_close(t);
	db_close(db);
	for (int i = 0; i < 3; i++) {
		auto_free char *file = xasprintf("%s%s", path,
		    i == 0       ? ""
			: i == 1 ? "-wal"
				 : "-shm");

		unlink(file);
	}
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_have_versions),
		cmocka_unit_test(states_end_and_are_locked),
		cmocka_unit_test(history_is_in_order),
		cmocka_unit_test(memory_is_searched),
		cmocka_unit_test(tasks_are_over_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
