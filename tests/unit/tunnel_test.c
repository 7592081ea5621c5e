#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "wire/tunnel.h"

static void
frames_survive_any_cut(void **unused)
{
	auto_str struct str wire = { 0 };
	struct tunnel_reader r = { 0 };
	struct tunnel_frame f;
	struct err err;
	unsigned rows, cols;
	int32_t status;
	int seen = 0;

	(void)unused;
	tunnel_put(&wire, TUNNEL_STDOUT, "hi", 2);
	tunnel_put(&wire, TUNNEL_STDIN, NULL, 0);
	tunnel_put_size(&wire, 24, 80);
	tunnel_put_exit(&wire, -9);
	for (size_t i = 0; i < wire.len; i++) {
		tunnel_feed(&r, wire.at + i, 1);
		while (tunnel_next(&r, &f, &err) == 1)
			switch (seen++) {
			case 0:
				assert_int_equal(f.type, TUNNEL_STDOUT);
				assert_int_equal(f.n, 2);
				assert_memory_equal(f.at, "hi", 2);
				break;
			case 1:
				assert_int_equal(f.type, TUNNEL_STDIN);
				assert_int_equal(f.n, 0);
				break;
			case 2:
				assert_int_equal(tunnel_get_size(&f, &rows,
						     &cols),
				    0);
				assert_int_equal(rows, 24);
				assert_int_equal(cols, 80);
				break;
			default:
				assert_int_equal(tunnel_get_exit(&f, &status),
				    0);
				assert_int_equal(status, -9);
			}
	}
	assert_int_equal(seen, 4);
	tunnel_reader_free(&r);
}

static void
long_pieces_are_cut_to_frames(void **unused)
{
	static char big[TUNNEL_MAX + 10];
	auto_str struct str wire = { 0 };
	struct tunnel_reader r = { 0 };
	struct tunnel_frame f;
	struct err err;

	(void)unused;
	tunnel_put(&wire, TUNNEL_STDERR, big, sizeof big);
	tunnel_feed(&r, wire.at, wire.len);
	assert_int_equal(tunnel_next(&r, &f, &err), 1);
	assert_int_equal(f.n, TUNNEL_MAX);
	assert_int_equal(tunnel_next(&r, &f, &err), 1);
	assert_int_equal(f.n, 10);
	assert_int_equal(tunnel_next(&r, &f, &err), 0);
	tunnel_reader_free(&r);
}

static void
strangers_are_refused(void **unused)
{
	static const uint8_t bad[][TUNNEL_HEAD] = { { 0, 0, 0, 0, 1 },
		{ TUNNEL_TYPES, 0, 0, 0, 1 }, { TUNNEL_STDIN, 0, 1, 0, 1 } };

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct tunnel_reader r = { 0 };
		struct tunnel_frame f;
		struct err err;

		tunnel_feed(&r, bad[i], TUNNEL_HEAD);
		assert_int_equal(tunnel_next(&r, &f, &err), -1);
		assert_int_equal(err.code, ERR_PROTO);
		tunnel_reader_free(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_survive_any_cut),
		cmocka_unit_test(long_pieces_are_cut_to_frames),
		cmocka_unit_test(strangers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
