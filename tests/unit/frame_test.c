#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "wire/frame.h"

static void
hands_out_whole_frames_only(void **unused)
{
	struct frame_reader r = { 0 };
	uint8_t wire[] = { 0, 0, 0, 2, 'h', 'i', 0, 0, 0, 1, '!' };
	const uint8_t *at;
	struct err err;
	size_t n;

	(void)unused;
	for (size_t i = 0; i < 5; i++) {
		frame_feed(&r, wire + i, 1);
		assert_int_equal(frame_next(&r, &at, &n, &err), 0);
	}
	frame_feed(&r, wire + 5, sizeof wire - 5);
	assert_int_equal(frame_next(&r, &at, &n, &err), 1);
	assert_int_equal(n, 2);
	assert_memory_equal(at, "hi", 2);
	assert_int_equal(frame_next(&r, &at, &n, &err), 1);
	assert_int_equal(n, 1);
	assert_int_equal(frame_next(&r, &at, &n, &err), 0);
	frame_reader_free(&r);
}

static void
refuses_lengths_out_of_bounds(void **unused)
{
	static const uint8_t bad[][4] = { { 0, 0, 0, 0 },
		{ 0xff, 0xff, 0xff, 0xff }, { 0, 4, 0, 1 } };
	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		struct frame_reader r = { 0 };
		const uint8_t *at;
		struct err err;
		size_t n;

		frame_feed(&r, bad[i], 4);
		assert_int_equal(frame_next(&r, &at, &n, &err), -1);
		assert_int_equal(err.code, ERR_PROTO);
		frame_reader_free(&r);
	}
}

static void
writes_the_head_it_reads(void **unused)
{
	struct frame_reader r = { 0 };
	static uint8_t body[FRAME_MAX];
	uint8_t head[FRAME_HEAD];
	const uint8_t *at;
	struct err err;
	size_t n;

	(void)unused;
	frame_head(head, sizeof body);
	frame_feed(&r, head, sizeof head);
	frame_feed(&r, body, sizeof body);
	assert_int_equal(frame_next(&r, &at, &n, &err), 1);
	assert_int_equal(n, sizeof body);
	frame_reader_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hands_out_whole_frames_only),
		cmocka_unit_test(refuses_lengths_out_of_bounds),
		cmocka_unit_test(writes_the_head_it_reads),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
