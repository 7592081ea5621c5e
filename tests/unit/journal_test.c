#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/file.h"
#include "store/journal.h"

static char dir[64], db[96], copy[96];

static int
begin(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/hutch-journal-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(db, sizeof db, "%s/j.db", dir);
	snprintf(copy, sizeof copy, "%s/copy.db", dir);
	return 0;
}

static int
end(void **unused)
{
	struct err err;

	(void)unused;
	return file_remove_tree(AT_FDCWD, dir, &err);
}

static struct journal *
opened(const char *path)
{
	struct err err;
	struct journal *j = journal_open(path, &err);

	assert_non_null(j);
	return j;
}

static void
put(struct journal *j, const char *id, const char *state, int64_t saved)
{
	struct journal_row row = { .id = id,
		.state = state,
		.meta = "{\"a\":\"\xc3\xa9\"}",
		.env = "[]",
		.key = { 1, 2, 0, 3 },
		.saved = saved,
		.created_at = 1796048410.194 };
	struct err err;

	assert_int_equal(journal_put(j, &row, &err), 0);
}

struct seen {
	unsigned n;
	char ids[8][16], states[8][16];
	int64_t saved[8];
};

static void
see(void *arg, const struct journal_row *row)
{
	static const uint8_t key[JOURNAL_KEY] = { 1, 2, 0, 3 };
	struct seen *s = arg;

	assert_memory_equal(row->key, key, sizeof key);
	assert_string_equal(row->meta, "{\"a\":\"\xc3\xa9\"}");
	assert_string_equal(row->session, "");
	assert_true(row->created_at == 1796048410.194);
	strcpy(s->ids[s->n], row->id);
	strcpy(s->states[s->n], row->state);
	s->saved[s->n++] = row->saved;
}

static struct seen
all(struct journal *j)
{
	struct seen s = { 0 };
	struct err err;

	assert_int_equal(journal_each(j, see, &s, &err), 0);
	return s;
}

static void
keeps_rows_in_the_order_they_came(void **unused)
{
	struct journal *j = opened(db);
	struct err err;
	struct seen s;

	(void)unused;
	put(j, "b", "running", 0);
	put(j, "a", "running", 0);
	put(j, "c", "warm", 0);
	put(j, "b", "recycled", 1LL << 40);
	assert_int_equal(journal_delete(j, "c", &err), 0);
	assert_int_equal(journal_delete(j, "nobody", &err), 0);
	journal_close(j);
	j = opened(db);
	s = all(j);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.ids[0], "b");
	assert_string_equal(s.states[0], "recycled");
	assert_true(s.saved[0] == 1LL << 40);
	assert_string_equal(s.ids[1], "a");
	journal_close(j);
}

/* What a killed process had put is there, but for what it had not ended. */
static void
survives_a_kill(void **unused)
{
	struct journal *j = opened(db), *other;
	struct err err;

	(void)unused;
	put(j, "a", "running", 0);
	assert_int_equal(journal_begin(j, &err), 0);
	put(j, "b", "running", 0);
	put(j, "c", "running", 0);
	other = opened(db); /* reads, while one writes */
	assert_int_equal(all(other).n, 1);
	assert_int_equal(journal_end(j, &err), 0);
	assert_int_equal(all(other).n, 3);
	journal_close(other);
	journal_close(j);
}

static void
copies_itself_while_it_is_open(void **unused)
{
	struct journal *j = opened(db), *k;
	struct err err;
	struct stat st;

	(void)unused;
	put(j, "a", "running", 0);
	assert_int_equal(journal_backup(j, copy, &err), 0);
	put(j, "b", "running", 0);
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(journal_backup(j, copy, &err), -1);
	assert_int_equal(err.sys, EEXIST);
	k = opened(copy);
	assert_int_equal(all(k).n, 1);
	assert_int_equal(journal_version(k), 2);
	journal_close(k);
	journal_close(j);
}

static void
sql(const char *path, const char *text)
{
	sqlite3 *raw;

	assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
	assert_int_equal(sqlite3_exec(raw, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(raw);
}

static void
refuses_a_later_schema(void **unused)
{
	struct err err;

	(void)unused;
	journal_close(opened(db));
	sql(db, "PRAGMA user_version = 99");
	assert_null(journal_open(db, &err));
	assert_int_equal(err.code, ERR_DENIED);
	assert_non_null(strstr(err.text, "version 99"));
}

static void
refuses_what_is_no_journal(void **unused)
{
	struct err err;
	int fd = open(db, O_WRONLY | O_CREAT, 0600);

	(void)unused;
	assert_int_equal(write(fd, "this is no database at all, is it?", 34),
	    34);
	close(fd);
	assert_null(journal_open(db, &err));
	assert_null(journal_open("/nowhere/at/all.db", &err));
}

static void
does_not_follow_a_link(void **unused)
{
	struct err err;
	char target[96];

	(void)unused;
	snprintf(target, sizeof target, "%s/target.db", dir);
	journal_close(opened(target));
	assert_int_equal(symlink(target, db), 0);
	assert_null(journal_open(db, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    keeps_rows_in_the_order_they_came, begin, end),
		cmocka_unit_test_setup_teardown(survives_a_kill, begin, end),
		cmocka_unit_test_setup_teardown(copies_itself_while_it_is_open,
		    begin, end),
		cmocka_unit_test_setup_teardown(refuses_a_later_schema, begin,
		    end),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_journal,
		    begin, end),
		cmocka_unit_test_setup_teardown(does_not_follow_a_link, begin,
		    end),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
