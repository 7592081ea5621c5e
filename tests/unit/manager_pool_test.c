#include "tests/unit/unit.h"
#include "manager/inner.h"
#include "tests/unit/manager_fixture.h"

static unsigned
warm(void)
{
	struct manager_counts c;

	manager_counts(t.m, &c);
	return c.by_state[REC_WARM];
}

static bool
all_warm_ready(void *arg)
{
	struct sandbox *sb = NULL;
	unsigned n = 0;

	while ((sb = manager_next(t.m, -1, sb)) != NULL)
		n += sb->rec.state == REC_WARM && sb->life.state == LIFE_READY;
	return n == *(unsigned *)arg;
}

static void
until_warm(unsigned n)
{
	assert_true(drive(t.loop, all_warm_ready, &n, 5000));
}

static bool
pool_is(void *arg)
{
	struct manager_counts c;

	manager_counts(t.m, &c);
	return c.pool_warm == *(unsigned *)arg && c.pool_making == 0;
}

static void
check_session_of(const struct sandbox *sb, const char *name)
{
	assert_string_equal(sandbox_record(sb)->session, name);
	assert_int_equal(sandbox_record(sb)->tenant, 0);
}

static void
begin_pool(uint32_t size)
{
	begin();
	t.config->pool_size = size;
	start_manager();
}

static void
keeps_some_warm_and_hands_them_out(void **unused)
{
	struct told a;
	const struct record *r;
	unsigned builds;

	(void)unused;
	begin_pool(2);
	until_warm(2);
	assert_null(manager_next(t.m, 0, NULL)); /* nobody's */
	r = sandbox_record(manager_next(t.m, -1, NULL));
	assert_string_equal(r->session, "");
	assert_true(r->last_active_at == 0);
	builds = t.fb->builds;
	create_ok(&a, "s");
	r = sandbox_record(a.sb);
	assert_int_equal(r->state, REC_RUNNING);
	assert_int_equal(r->tenant, 0);
	assert_string_equal(r->session, "s");
	assert_true(r->last_active_at > 0);
	shell(a.sb, "x", "ran: x");
	until_warm(2);
	assert_int_equal(t.fb->builds, builds + 1);
	end();
}

static void
counts_what_is_ready_to_be_taken(void **unused)
{
	struct manager_counts c;
	struct told a;
	unsigned n = 2;

	(void)unused;
	begin_pool(n);
	manager_counts(t.m, &c);
	assert_int_equal(c.pool_warm, 0);
	assert_true(drive(t.loop, pool_is, &n, 5000));
	create_ok(&a, "s");
	manager_counts(t.m, &c);
	assert_int_equal(c.pool_warm, 1);
	assert_int_equal(c.pool_making, 1);
	assert_true(drive(t.loop, pool_is, &n, 5000));
	end();
}

static void
shares_between_a_type_and_its_async_form(void **unused)
{
	struct told w = { 0 };
	struct create c = { .type = "base_async", .pooled = true };

	(void)unused;
	begin_pool(1);
	until_warm(1);
	t.fb->hold = true; /* no other way than the pool */
	assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
	assert_true(drive_flag(t.loop, &w.done));
	assert_string_equal(sandbox_record(w.sb)->type, "base_async");
	fakebroker_release(t.fb);
	end();
}

static void
does_not_hand_out_what_would_not_fit(void **unused)
{
	static const char *const env[] = { "A=1", NULL };
	struct create rows[] = {
		{ .type = "base" },
		{ .type = "base", .pooled = true, .env = env },
		{ .type = "base", .pooled = true, .net = "none" },
	};

	(void)unused;
	begin_pool(1);
	until_warm(1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct told w = { 0 };

		assert_non_null(
		    manager_create(t.m, &rows[i], tell, &w, &w.err));
		assert_true(drive_flag(t.loop, &w.done));
		assert_int_equal(warm(), 1);
	}
	end();
}

static void
counts_warm_ones_as_instances(void **unused)
{
	struct told w;

	(void)unused;
	begin();
	t.config->pool_size = 5;
	t.config->max_instances = 3;
	start_manager();
	until_warm(3);
	for (int i = 0; i < 3; i++)
		create_ok(&w, NULL);
	w = (struct told){ 0 };
	assert_null(create(&w, NULL));
	assert_int_equal(w.err.code, ERR_LIMIT);
	end();
}

static void
backs_off_when_they_cannot_be_made(void **unused)
{
	(void)unused;
	begin();
	t.config->pool_size = 1;
	t.fb->fail_builds = 1000;
	start_manager();
	drive_for(t.loop, 100);
	reap_scan(t.m);
	drive_for(t.loop, 100);
	assert_in_range(t.fb->builds, 1, 2);
	assert_int_equal(warm(), 0);
	end();
}

static void
replaces_a_warm_one_that_died(void **unused)
{
	struct told a;

	(void)unused;
	begin_pool(1);
	until_warm(1);
	fakebroker_end(t.fb, fakebroker_box(t.fb, 0), BROKER_END_MEMORY, 9);
	until_count(0);
	drive_for(t.loop, 5);
	reap_scan(t.m);
	until_warm(1);
	create_ok(&a, NULL);
	shell(a.sb, "x", "ran: x");
	end();
}

static void
hands_out_one_on_its_way_when_there_is_no_other(void **unused)
{
	struct told w = { 0 };

	(void)unused;
	begin();
	t.config->pool_size = 1;
	t.config->max_instances = 1;
	t.fb->hold = true;
	start_manager();
	drive_for(t.loop, 10);
	assert_int_equal(warm(), 1);
	assert_non_null(create(&w, "s"));
	assert_int_equal(warm(), 0);
	fakebroker_release(t.fb);
	assert_true(drive_flag(t.loop, &w.done));
	assert_non_null(w.sb);
	shell(w.sb, "x", "ran: x");
	check_session_of(w.sb, "s");
	end();
}

static void
does_not_hand_out_an_old_image(void **unused)
{
	const char *image;
	struct told a;

	(void)unused;
	begin_pool(1);
	until_warm(1);
	image = conf_type_find(t.config, "base")->image;
	fakebroker_image(t.fb, image, 'c');
	create_ok(&a, NULL);
	assert_int_equal(fakebroker_find(t.fb, sandbox_key(a.sb))
			     ->build.layer[0][0],
	    0xcc);
	end();
}

static void
restores_from_the_pool(void **unused)
{
	struct told a, r;

	(void)unused;
	begin_pool(1);
	until_warm(1);
	create_ok(&a, "s");
	until_warm(1);
	shell(a.sb, "write treasure", "");
	a.sb->rec.last_active_at -= 301;
	reap_scan(t.m);
	until_state(a.id, REC_RECYCLED);
	t.fb->hold = true; /* no other way than the pool */
	ready_ok(&r, a.id);
	shell(r.sb, "read", "treasure");
	assert_string_equal(sandbox_record(r.sb)->session, "s");
	assert_int_equal(sandbox_record(r.sb)->tenant, 0);
	fakebroker_release(t.fb);
	end();
}

static void
is_cleaned_up_with_everything_else(void **unused)
{
	struct told a;

	(void)unused;
	begin_pool(2);
	until_warm(2);
	create_ok(&a, "s");
	manager_cleanup(t.m, 0);
	assert_int_equal(warm(), 0);
	assert_int_equal(state_of(a.id), REC_RELEASED);
	until_count(0);
	reap_scan(t.m);
	until_warm(2);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_some_warm_and_hands_them_out),
		cmocka_unit_test(shares_between_a_type_and_its_async_form),
		cmocka_unit_test(does_not_hand_out_what_would_not_fit),
		cmocka_unit_test(counts_what_is_ready_to_be_taken),
		cmocka_unit_test(counts_warm_ones_as_instances),
		cmocka_unit_test(backs_off_when_they_cannot_be_made),
		cmocka_unit_test(replaces_a_warm_one_that_died),
		cmocka_unit_test(
		    hands_out_one_on_its_way_when_there_is_no_other),
		cmocka_unit_test(does_not_hand_out_an_old_image),
		cmocka_unit_test(restores_from_the_pool),
		cmocka_unit_test(is_cleaned_up_with_everything_else),
	};

	return cmocka_run_group_tests_name("manager_pool", tests, NULL, NULL);
}
