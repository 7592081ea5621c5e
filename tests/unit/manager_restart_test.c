#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/file.h"
#include "manager/inner.h"
#include "tests/unit/manager_fixture.h"

/* What lives is found again; nothing in it has ended. */
static void
finds_its_sandboxes_again(void **unused)
{
	struct told a[5], r;
	char keys[5][33];

	(void)unused;
	begin();
	start_manager();
	for (int i = 0; i < 5; i++) {
		create_ok(&a[i], i % 2 ? "odd" : "even");
		strcpy(keys[i], sandbox_key(a[i].sb));
	}
	shell(a[0].sb, "write treasure", "");
	restart_front();
	/* Asked at once, before anything is known. */
	assert_non_null(ready(&r, a[0].id));
	assert_true(drive_flag(t.loop, &r.done));
	assert_non_null(r.sb);
	assert_string_equal(sandbox_key(r.sb), keys[0]);
	shell(r.sb, "read", "treasure");
	assert_int_equal(fakebroker_count(t.fb), 5);
	assert_int_equal(fakeagent_generation(
			     fakebroker_find(t.fb, keys[0])->agent),
	    2);
	for (int i = 0; i < 5; i++) {
		const struct record *rec;

		ready_ok(&r, a[i].id);
		rec = sandbox_record(r.sb);
		assert_string_equal(sandbox_key(r.sb), keys[i]);
		assert_string_equal(rec->session, i % 2 ? "odd" : "even");
		assert_string_equal(rec->version,
		    "agentscope/runtime-sandbox-base:latest");
		assert_int_equal(strlen(rec->token), 32);
	}
	assert_int_equal(t.fb->attaches, 5);
	assert_int_equal(t.fb->lives, 1 + 2); /* pages of three */
	end();
}

static void
keeps_the_environment_it_was_given(void **unused)
{
	static const char *const env[] = { "A=request", NULL };
	struct told w = { 0 }, r;
	struct create c = { .type = "base", .env = env };

	(void)unused;
	begin();
	start_manager();
	assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
	assert_true(drive_flag(t.loop, &w.done));
	restart_front();
	ready_ok(&r, w.id);
	assert_string_equal(fakeagent_env(fakebroker_box(t.fb, 0)->agent, "A"),
	    "request");
	end();
}

static void
stops_what_no_record_knows(void **unused)
{
	struct create c = { .type = "base", .image = "other:latest" };
	struct told a, b, w = { 0 };

	(void)unused;
	begin();
	fakebroker_image(t.fb, "other:latest", '7');
	start_manager();
	create_ok(&a, NULL);
	create_ok(&b, NULL);
	/* Released, and the front dies before the broker hears of it. */
	t.fb->deaf = true;
	manager_release(t.m, 0, b.id);
	/* Being made, its caller never answered. */
	t.fb->silent = true;
	assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
	until_count(3);
	t.fb->silent = t.fb->deaf = false;
	restart_front();
	until_count(1);
	assert_int_equal(state_of(a.id), REC_RUNNING);
	assert_int_equal(state_of(b.id), REC_RELEASED);
	end();
}

static void
tells_of_what_ended_meanwhile(void **unused)
{
	struct told a, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	fakebroker_end(t.fb, fakebroker_box(t.fb, 0), BROKER_END_MEMORY, 9);
	restart_front();
	until_state(a.id, REC_ERROR);
	assert_null(ready(&r, a.id));
	assert_int_equal(r.err.code, ERR_BUSY);
	end();
}

static void
a_frozen_one_stays_frozen(void **unused)
{
	struct told a, p = { 0 }, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, NULL);
	shell(a.sb, "write treasure", "");
	assert_non_null(manager_pause(t.m, a.sb, true, tell, &p, &p.err));
	assert_true(drive_flag(t.loop, &p.done));
	restart_front();
	drive_for(t.loop, 20);
	assert_int_equal(t.fb->attaches, 0); /* it could not answer */
	assert_string_equal(manager_status(t.m, 0, a.id), "paused");
	assert_null(ready(&r, a.id));
	p = (struct told){ 0 };
	assert_non_null(manager_pause(t.m, manager_find(t.m, 0, a.id, true),
	    false, tell, &p, &p.err));
	assert_true(drive_flag(t.loop, &p.done));
	assert_non_null(p.sb);
	shell(p.sb, "read", "treasure");
	end();
}

/* It ends after the list was made, and before its page comes. */
static void
a_frozen_one_that_ended_is_missed(void **unused)
{
	struct told a[5], p = { 0 };

	(void)unused;
	begin();
	start_manager();
	for (int i = 0; i < 5; i++)
		create_ok(&a[i], NULL);
	assert_non_null(manager_pause(t.m, a[4].sb, true, tell, &p, &p.err));
	assert_true(drive_flag(t.loop, &p.done));
	t.fb->die_after_list = true; /* the last of them */
	restart_front();
	until_state(a[4].id, REC_ERROR);
	end();
}

/* Everything died with the daemon; ids go on working all the same. */
static void
recycles_what_a_daemon_left(void **unused)
{
	struct told a, b, r;
	struct sandbox *sb;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	create_ok(&b, NULL);
	restart_daemon();
	until_state(a.id, REC_RECYCLED);
	until_state(b.id, REC_RECYCLED);
	sb = manager_find(t.m, 0, a.id, false);
	assert_string_equal(sandbox_record(sb)->reason, "daemon_restart");
	assert_string_equal(sandbox_record(sb)->session, "s");
	ready_ok(&r, a.id);
	assert_string_not_equal(r.id, a.id);
	shell(r.sb, "x", "ran: x");
	ready_ok(&r, b.id);
	end();
}

static void
a_saved_workspace_outlives_the_daemon(void **unused)
{
	struct told a, b, s = { 0 }, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	create_ok(&b, NULL);
	shell(a.sb, "write reaped", "");
	shell(b.sb, "write stopped", "");
	a.sb->rec.last_active_at -= 301;
	reap_scan(t.m);
	until_state(a.id, REC_RECYCLED);
	assert_non_null(manager_stop(t.m, 0, b.id, tell, &s, &s.err));
	assert_true(drive_flag(t.loop, &s.done));
	restart_daemon();
	ready_ok(&r, a.id);
	shell(r.sb, "read", "reaped");
	assert_string_equal(manager_status(t.m, 0, b.id), "exited");
	s = (struct told){ 0 };
	assert_non_null(manager_start(t.m, 0, b.id, tell, &s, &s.err));
	assert_true(drive_flag(t.loop, &s.done));
	shell(s.sb, "read", "stopped");
	end();
}

/* The front dies between the old record's end and the new one's beginning. */
static void
a_restore_that_was_cut_off_can_be_done_again(void **unused)
{
	struct told a, r, w;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	shell(a.sb, "write treasure", "");
	a.sb->rec.last_active_at -= 301;
	reap_scan(t.m);
	until_state(a.id, REC_RECYCLED);
	until_count(0);
	t.fb->silent = true;
	assert_non_null(ready(&w, a.id));
	until_count(1);
	assert_int_equal(state_of(a.id), REC_REPLACED);
	t.fb->silent = false;
	restart_front();
	until_state(a.id, REC_RECYCLED);
	ready_ok(&r, a.id);
	shell(r.sb, "read", "treasure");
	until_count(1);
	assert_string_equal(sandbox_record(manager_find(t.m, 0, a.id, false))
				->redirect,
	    r.id);
	end();
}

static void
warm_ones_go_back_to_the_pool(void **unused)
{
	struct told a;
	unsigned builds;

	(void)unused;
	begin();
	t.config->pool_size = 2;
	start_manager();
	until_count(2);
	drive_for(t.loop, 10);
	builds = t.fb->builds;
	restart_front();
	drive_for(t.loop, 20);
	assert_int_equal(t.fb->builds, builds);
	t.config->pool_size = 0; /* no refill */
	create_ok(&a, "s");
	assert_int_equal(t.fb->builds, builds);
	shell(a.sb, "x", "ran: x");
	end();
}

static void
on_drained(void *arg)
{
	*(bool *)arg = true;
}

/* Without auto_cleanup a clean stop keeps workspaces, as far as it can. */
static void
a_stop_without_cleanup_keeps_workspaces(void **unused)
{
	struct told a, r;
	bool drained = false;

	(void)unused;
	begin();
	t.config->auto_cleanup = false;
	start_manager();
	create_ok(&a, NULL);
	shell(a.sb, "write treasure", "");
	manager_drain(t.m, on_drained, &drained);
	assert_true(drive_flag(t.loop, &drained));
	assert_int_equal(state_of(a.id), REC_RECYCLED);
	restart_daemon();
	ready_ok(&r, a.id);
	shell(r.sb, "read", "treasure");
	end();
}

static void
sweeps_files_of_no_record(void **unused)
{
	struct err err;
	struct stat st;
	int dir;

	(void)unused;
	begin();
	dir = file_mkdir_at(t.dir, "saved", 0700, &err);
	assert_int_equal(file_replace_at(dir, "x.tar", "x", 1, 0600, &err), 0);
	assert_int_equal(file_replace_at(dir, "y.tmp", "x", 1, 0600, &err), 0);
	start_manager();
	drive_for(t.loop, 20);
	assert_int_equal(fstatat(dir, "x.tar", &st, 0), -1);
	assert_int_equal(fstatat(dir, "y.tmp", &st, 0), -1);
	close(dir);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_its_sandboxes_again),
		cmocka_unit_test(keeps_the_environment_it_was_given),
		cmocka_unit_test(stops_what_no_record_knows),
		cmocka_unit_test(tells_of_what_ended_meanwhile),
		cmocka_unit_test(a_frozen_one_stays_frozen),
		cmocka_unit_test(a_frozen_one_that_ended_is_missed),
		cmocka_unit_test(recycles_what_a_daemon_left),
		cmocka_unit_test(a_saved_workspace_outlives_the_daemon),
		cmocka_unit_test(a_restore_that_was_cut_off_can_be_done_again),
		cmocka_unit_test(warm_ones_go_back_to_the_pool),
		cmocka_unit_test(a_stop_without_cleanup_keeps_workspaces),
		cmocka_unit_test(sweeps_files_of_no_record),
	};

	return cmocka_run_group_tests_name("manager_restart", tests, NULL,
	    NULL);
}
