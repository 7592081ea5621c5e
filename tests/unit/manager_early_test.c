/* A creation that is answered before the sandbox has said Hello. */
#include "tests/unit/unit.h"
#include "tests/unit/manager_fixture.h"

static struct told first;

/* One of the same image has come up: the next need not be waited for. */
static void
proven(void)
{
	begin();
	start_manager();
	create_ok(&first, NULL);
	t.fb->silent = true;
}

static struct fakeagent *
agent(unsigned n)
{
	return fakebroker_box(t.fb, n)->agent;
}

static void
hello(struct fakeagent *a)
{
	fakeagent_hello(a, fakeagent_generation(a));
}

static void
waits_for_the_first_of_an_image(void **unused)
{
	struct told w = { 0 }, x = { 0 };
	struct create c = { .type = "base", .image = "other:latest" };

	(void)unused;
	begin();
	fakebroker_image(t.fb, "other:latest", '7');
	start_manager();
	t.fb->silent = true;
	assert_non_null(create(&w, NULL));
	until_count(1);
	drive_for(t.loop, 20);
	assert_false(w.done);
	hello(agent(0));
	assert_true(drive_flag(t.loop, &w.done));
	assert_non_null(w.sb);
	/* What one image did says nothing of another. */
	assert_non_null(manager_create(t.m, &c, tell, &x, &x.err));
	until_count(2);
	drive_for(t.loop, 20);
	assert_false(x.done);
	end();
}

static void
calls_wait_for_hello_in_the_stream(void **unused)
{
	struct told w, r = { 0 }, slow;
	struct said s = { 0 };

	(void)unused;
	proven();
	create_ok(&w, "s");
	assert_int_equal(state_of(w.id), REC_RUNNING);
	assert_string_equal(manager_status(t.m, 0, w.id), "running");
	assert_non_null(ready(&slow, w.id));
	assert_non_null(manager_reach(t.m, 0, w.id, tell, &r, &r.err));
	assert_true(drive_flag(t.loop, &r.done));
	assert_ptr_equal(r.sb, w.sb);
	start_shell(r.sb, "early", &s);
	hello(agent(1));
	assert_true(drive_flag(t.loop, &s.done));
	assert_false(s.failed);
	assert_true(drive_flag(t.loop, &slow.done));
	assert_ptr_equal(slow.sb, w.sb);
	str_free(&s.out);
	end();
}

static void
who_waits_for_hello_is_not_told_before(void **unused)
{
	struct told w, r;

	(void)unused;
	proven();
	create_ok(&w, NULL);
	assert_non_null(ready(&r, w.id));
	drive_for(t.loop, 20);
	assert_false(r.done);
	end();
}

static void
says_why_when_hello_never_comes(void **unused)
{
	struct manager_counts counts;
	struct told w, r;
	struct said s = { 0 };

	(void)unused;
	proven();
	create_ok(&w, NULL);
	start_shell(w.sb, "in vain", &s);
	fakebroker_end(t.fb, fakebroker_box(t.fb, 1), BROKER_END_EXIT, 71 << 8);
	assert_true(drive_flag(t.loop, &s.done));
	assert_true(s.failed);
	assert_non_null(strstr(s.err.text, "exit status 71"));
	until_state(w.id, REC_ERROR);
	assert_null(ready(&r, w.id));
	assert_non_null(strstr(r.err.text, "exit status 71"));
	manager_counts(t.m, &counts);
	assert_int_equal(counts.died, 1);
	assert_int_equal(counts.failed, 0);
	str_free(&s.out);
	end();
}

static void
pauses_and_stops_when_it_has_come_up(void **unused)
{
	struct told w, p = { 0 }, q = { 0 };

	(void)unused;
	proven();
	create_ok(&w, NULL);
	assert_non_null(manager_pause(t.m, w.sb, true, tell, &p, &p.err));
	drive_for(t.loop, 20);
	assert_int_equal(t.fb->freezes, 0);
	hello(agent(1));
	assert_true(drive_flag(t.loop, &p.done));
	assert_non_null(p.sb);
	assert_int_equal(t.fb->freezes, 1);

	create_ok(&w, NULL);
	assert_non_null(manager_stop(t.m, 0, w.id, tell, &q, &q.err));
	drive_for(t.loop, 20);
	assert_int_equal(t.fb->stops, 0);
	hello(agent(2));
	assert_true(drive_flag(t.loop, &q.done));
	assert_non_null(q.sb);
	assert_string_equal(manager_status(t.m, 0, w.id), "exited");
	end();
}

static void
a_pause_hears_of_the_end(void **unused)
{
	struct told w, p = { 0 };

	(void)unused;
	proven();
	create_ok(&w, NULL);
	assert_non_null(manager_pause(t.m, w.sb, true, tell, &p, &p.err));
	fakebroker_end(t.fb, fakebroker_box(t.fb, 1), BROKER_END_EXIT, 71 << 8);
	assert_true(drive_flag(t.loop, &p.done));
	assert_null(p.sb);
	end();
}

static void
ends_and_says_when_it_is_gone(void **unused)
{
	struct told w, e = { 0 };

	(void)unused;
	proven();
	create_ok(&w, NULL);
	assert_non_null(manager_end(t.m, 0, w.id, tell, &e));
	assert_int_equal(state_of(w.id), REC_RELEASED);
	assert_int_equal(fakebroker_count(t.fb), 2);
	assert_true(drive_flag(t.loop, &e.done));
	assert_non_null(e.sb);
	assert_int_equal(fakebroker_count(t.fb), 1);
	assert_null(manager_end(t.m, 0, w.id, tell, &e));
	assert_null(manager_end(t.m, 0, "nobody", tell, &e));
	end();
}

static void
survives_a_front_that_dies_before_hello(void **unused)
{
	struct told w, r;

	(void)unused;
	proven();
	create_ok(&w, NULL);
	t.fb->silent = false;
	restart_front();
	ready_ok(&r, w.id);
	assert_int_equal(state_of(w.id), REC_RUNNING);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_for_the_first_of_an_image),
		cmocka_unit_test(calls_wait_for_hello_in_the_stream),
		cmocka_unit_test(who_waits_for_hello_is_not_told_before),
		cmocka_unit_test(says_why_when_hello_never_comes),
		cmocka_unit_test(pauses_and_stops_when_it_has_come_up),
		cmocka_unit_test(a_pause_hears_of_the_end),
		cmocka_unit_test(ends_and_says_when_it_is_gone),
		cmocka_unit_test(survives_a_front_that_dies_before_hello),
	};

	return cmocka_run_group_tests_name("manager_early", tests, NULL, NULL);
}
