#include <string.h>
#include "tests/unit/unit.h"
#include "agent/tar.h"
#include "base/err.h"

/* Reads back what tar_put wrote; the offset of what follows the headers. */
static size_t
back(const struct str *bytes, struct tar_entry *e)
{
	const uint8_t *at = (const uint8_t *)bytes->at;
	struct err err;
	size_t used = TAR_BLOCK;

	*e = (struct tar_entry){ .size = -1,
		.stored = -1,
		.seconds = INT64_MIN };
	assert_int_equal(tar_get(at, e, &err), 1);
	if (e->type == TAR_PAX) {
		int64_t n = e->stored;

		e->stored = -1;
		assert_int_equal(tar_records(bytes->at + used, (size_t)n, e,
				     &err),
		    0);
		used += (size_t)(n + (TAR_BLOCK - n % TAR_BLOCK) % TAR_BLOCK);
		assert_int_equal(tar_get(at + used, e, &err), 1);
		used += TAR_BLOCK;
	}
	return used;
}

static void
round_trip(const char *path, const char *link, int64_t size, int64_t seconds,
    uint32_t nano)
{
	struct tar_entry e = { .type = link != NULL ? TAR_LINK : TAR_FILE,
		.mode = 04755,
		.uid = 1000,
		.gid = 65535,
		.size = size,
		.seconds = seconds,
		.nano = nano };
	auto_str struct str bytes = { 0 };
	struct tar_entry got;

	str_puts(&e.path, path);
	if (link != NULL)
		str_puts(&e.link, link);
	tar_put(&bytes, &e, NULL, 0);
	assert_int_equal(bytes.len % TAR_BLOCK, 0);
	assert_int_equal(back(&bytes, &got), bytes.len);
	assert_string_equal(got.path.at, path);
	assert_int_equal(got.type, e.type);
	assert_int_equal(got.mode, 04755);
	assert_int_equal(got.uid, 1000);
	assert_int_equal(got.gid, 65535);
	assert_int_equal(got.size, size);
	assert_int_equal(got.seconds, seconds);
	assert_int_equal(got.nano, nano);
	if (link != NULL)
		assert_string_equal(got.link.at, link);
	tar_entry_free(&got);
	tar_entry_free(&e);
}

static void
entries_go_round(void **unused)
{
	char name[300];

	(void)unused;
	round_trip("a", NULL, 0, 0, 0);
	round_trip("a/b", NULL, 123456, 1700000000, 123456789);
	round_trip("a", NULL, 077777777777, -5, 0);
	round_trip("a", NULL, 0100000000000, 1700000000, 1);
	round_trip("a", NULL, (int64_t)1 << 60, 1700000000, 1);
	round_trip("a", "b", 0, 1, 0);
	for (size_t n = 1; n < sizeof name; n++) {
		memset(name, 'n', n);
		name[n] = '\0';
		round_trip(name, NULL, (int64_t)n, 1, 0);
		round_trip("l", name, 0, 1, 0);
	}
}

static void
maps_go_round_in_any_pieces(void **unused)
{
	static const struct tar_piece map[] = { { 0, 1 }, { 4096, 100000 },
		{ (int64_t)1 << 50, 0 } };
	struct tar_entry e = { .type = TAR_FILE,
		.sparse = true,
		.size = (int64_t)1 << 50 };
	auto_str struct str bytes = { 0 };
	struct tar_entry got;
	struct tar_piece read[TAR_MAP_MAX];
	struct err err;
	size_t at, pieces, used;

	(void)unused;
	str_puts(&e.path, "sparse");
	tar_put(&bytes, &e, map, 3);
	at = back(&bytes, &got);
	assert_string_equal(got.path.at, "sparse");
	assert_true(got.sparse);
	assert_int_equal(got.size, e.size);
	assert_int_equal(got.stored, 100001 + TAR_BLOCK);
	for (size_t n = 0; n < TAR_BLOCK; n++)
		assert_int_equal(tar_map(bytes.at + at, n, read, &pieces, &used,
				     &err),
		    0);
	assert_int_equal(tar_map(bytes.at + at, bytes.len - at, read, &pieces,
			     &used, &err),
	    1);
	assert_int_equal(pieces, 3);
	assert_int_equal(used, TAR_BLOCK);
	assert_memory_equal(read, map, sizeof map);
	tar_entry_free(&got);
	tar_entry_free(&e);
}

static void
refuses_what_is_none(void **unused)
{
	static const char *const bad[] = { "", "x", "5 a", "5 a=b",
		"99 path=x\n", "0 path=x\n", "10 pathxxx\n", "-1 path=x\n" };
	static const char *const maps[] = { "x\n", "1\nx\n", "-1\n",
		"99999999999999999999999\n", "5000\n" };
	uint8_t block[TAR_BLOCK];
	struct tar_entry e = { .size = -1, .stored = -1 };
	struct tar_piece map[TAR_MAP_MAX];
	size_t pieces, used;
	struct err err;

	(void)unused;
	memset(block, 'x', sizeof block);
	assert_int_equal(tar_get(block, &e, &err), -1);
	assert_int_equal(err.code, ERR_PROTO);
	memset(block, 0, sizeof block);
	assert_int_equal(tar_get(block, &e, &err), 0);
	for (size_t i = 1; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(tar_records(bad[i], strlen(bad[i]), &e, &err),
		    -1);
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		assert_int_equal(tar_map(maps[i], strlen(maps[i]), map, &pieces,
				     &used, &err),
		    -1);
	tar_entry_free(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_go_round),
		cmocka_unit_test(maps_go_round_in_any_pieces),
		cmocka_unit_test(refuses_what_is_none),
	};

	return cmocka_run_group_tests_name("tar", tests, NULL, NULL);
}
