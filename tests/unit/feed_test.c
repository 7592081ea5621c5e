#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/feed.h"

static unsigned told, highs, lows;

static void
more(void *unused)
{
	(void)unused;
	told++;
}

static const struct feed_reader_ops ops = { more, NULL };

static void
pressure(void *unused, bool high)
{
	(void)unused;
	if (high)
		highs++;
	else
		lows++;
}

static void
put(struct feed *f, uint64_t seq)
{
	char json[64];
	int n = snprintf(json, sizeof json, "{\"n\":%03u}", (unsigned)seq);

	feed_put(f, NULL, seq, json, (size_t)n);
}

static void
reads(struct feed_reader *r, const char *want)
{
	auto_str struct str have = { 0 };
	const char *at;
	size_t n;

	while ((n = feed_next(r, &at, 1 << 20)) > 0)
		str_add(&have, at, n);
	assert_string_equal(str_text(&have), want);
}

static void
framing(void **unused)
{
	struct feed *f = feed_new(&(struct feed_conf){ .ids = true });
	struct feed_reader *r = feed_read(f, -1, &ops);

	(void)unused;
	reads(r, "");
	told = 0;
	feed_put(f, "x.y", 7, "{}", 2);
	feed_put(f, NULL, 8, "[]", 2);
	/* Told once until it has read all. */
	assert_int_equal(told, 1);
	reads(r, "event: x.y\nid: 7\ndata: {}\n\nid: 8\ndata: []\n\n");
	assert_false(feed_over(r));
	feed_finish(f);
	assert_int_equal(told, 2);
	assert_true(feed_over(r));
	feed_put(f, NULL, 9, "[]", 2);
	reads(r, "");
	feed_leave(r);
	feed_close(f);
	feed_put(NULL, NULL, 0, "", 0);
	feed_end(NULL);
	feed_close(NULL);
	feed_leave(NULL);
	assert_null(feed_begin(NULL, NULL, 0));
}

static void
readers_go_at_their_own_pace(void **unused)
{
	struct feed *f = feed_new(&(struct feed_conf){ 0 });
	struct feed_reader *a, *b;

	(void)unused;
	/* Until somebody has read it, all of it is there. */
	put(f, 0);
	a = feed_read(f, -1, &ops);
	b = feed_read(f, -1, &ops);
	reads(a, "data: {\"n\":000}\n\n");
	put(f, 1);
	reads(a, "data: {\"n\":001}\n\n");
	reads(b, "data: {\"n\":000}\n\ndata: {\"n\":001}\n\n");
	assert_int_equal(feed_readers(f), 2);
	/* Read by all, kept by none. */
	reads(a, "");
	assert_null(feed_read(f, -1, &ops));
	feed_leave(a);
	feed_leave(b);
	assert_null(feed_begin(f, NULL, 2));
	feed_close(f);
}

static void
whole_events_only(void **unused)
{
	struct feed *f = feed_new(&(struct feed_conf){ 0 });
	struct feed_reader *r = feed_read(f, -1, &ops);
	const char *at;

	(void)unused;
	for (unsigned i = 0; i < 3; i++)
		put(f, i);
	/* Each is 17 bytes. */
	assert_int_equal(feed_next(r, &at, 40), 34);
	assert_int_equal(feed_next(r, &at, 40), 17);
	assert_int_equal(feed_next(r, &at, 40), 0);
	put(f, 3);
	assert_int_equal(feed_next(r, &at, 5), 17);
	assert_memory_equal(at, "data: {\"n\":003}", 15);
	feed_leave(r);
	feed_close(f);
}

static void
what_is_kept_is_read_again(void **unused)
{
	struct feed *f =
	    feed_new(&(struct feed_conf){ .keep = 1000, .ids = true });
	struct feed_reader *r;
	auto_str struct str have = { 0 };
	const char *at;
	size_t n;

	(void)unused;
	for (unsigned i = 0; i < 10; i++)
		put(f, i);
	r = feed_read(f, 7, &ops);
	reads(r, "id: 8\ndata: {\"n\":008}\n\nid: 9\ndata: {\"n\":009}\n\n");
	feed_leave(r);
	r = feed_read(f, 9, &ops);
	reads(r, "");
	put(f, 10);
	reads(r, "id: 10\ndata: {\"n\":010}\n\n");
	feed_leave(r);
	/* The oldest go, and who wants one of them is told. */
	for (unsigned i = 11; i < 200; i++)
		put(f, i);
	assert_null(feed_read(f, -1, &ops));
	assert_null(feed_read(f, 100, &ops));
	r = feed_read(f, 180, &ops);
	assert_non_null(r);
	while ((n = feed_next(r, &at, 1 << 20)) > 0)
		str_add(&have, at, n);
	assert_memory_equal(have.at, "id: 181\n", 8);
	assert_non_null(strstr(have.at, "id: 199\n"));
	feed_leave(r);
	/* Also when it is over. */
	feed_finish(f);
	r = feed_read(f, 198, &ops);
	assert_false(feed_over(r));
	reads(r, "id: 199\ndata: {\"n\":199}\n\n");
	assert_true(feed_over(r));
	/* The reader may outlive its owner's interest. */
	feed_close(f);
	assert_true(feed_over(r));
	feed_leave(r);
}

static void
a_slow_reader_keeps_what_it_has_not_read(void **unused)
{
	struct feed *f =
	    feed_new(&(struct feed_conf){ .keep = 100, .ids = true });
	struct feed_reader *r = feed_read(f, -1, &ops);
	auto_str struct str have = { 0 };
	const char *at;
	size_t n;

	(void)unused;
	for (unsigned i = 0; i < 100; i++)
		put(f, i);
	while ((n = feed_next(r, &at, 100)) > 0)
		str_add(&have, at, n);
	for (unsigned i = 0; i < 100; i++) {
		char want[32];

		snprintf(want, sizeof want, "{\"n\":%03u}", i);
		assert_non_null(strstr(have.at, want));
	}
	feed_leave(r);
	feed_close(f);
}

static void
pressure_is_told_once_each_way(void **unused)
{
	struct feed *f =
	    feed_new(&(struct feed_conf){ .pressure = pressure, .high = 100 });
	struct feed_reader *r = feed_read(f, -1, &ops);
	const char *at;

	(void)unused;
	highs = lows = 0;
	for (unsigned i = 0; i < 20; i++)
		put(f, i);
	assert_int_equal(highs, 1);
	assert_int_equal(lows, 0);
	/* 340 bytes: low below 50. */
	while (feed_next(r, &at, 34) > 0)
		;
	assert_int_equal(highs, 1);
	assert_int_equal(lows, 1);
	for (unsigned i = 0; i < 20; i++)
		put(f, i);
	assert_int_equal(highs, 2);
	/* Nobody reads any more: nobody waits. */
	feed_leave(r);
	assert_int_equal(lows, 2);
	feed_close(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(framing),
		cmocka_unit_test(readers_go_at_their_own_pace),
		cmocka_unit_test(whole_events_only),
		cmocka_unit_test(what_is_kept_is_read_again),
		cmocka_unit_test(a_slow_reader_keeps_what_it_has_not_read),
		cmocka_unit_test(pressure_is_told_once_each_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
