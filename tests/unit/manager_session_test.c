#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/clock.h"
#include "manager/inner.h"
#include "tests/unit/manager_fixture.h"

/* As if nobody had come for so long. */
static void
grow_old(struct sandbox *sb, double seconds)
{
	struct sandbox *s;

	sb->rec.last_active_at -= seconds;
	if (sb->session != NULL)
		TAILQ_FOREACH(s, &sb->session->boxes, in_session)
			s->rec.last_active_at = clock_unix() - seconds;
	sb->rec.updated_at -= seconds;
	sb->save_again = 0;
}

static void
idle(struct sandbox *sb)
{
	grow_old(sb, 301);
	reap_scan(t.m);
}

static void
check_session(const char *name, const char *a, const char *b)
{
	json_t *ids = manager_session(t.m, 0, name);

	assert_int_equal(json_array_size(ids),
	    (a != NULL ? 1 : 0) + (b != NULL ? 1 : 0));
	if (a != NULL)
		assert_string_equal(json_string_value(json_array_get(ids, 0)),
		    a);
	if (b != NULL)
		assert_string_equal(json_string_value(json_array_get(ids, 1)),
		    b);
	json_decref(ids);
}

static size_t
keys(int tenant)
{
	json_t *names = manager_session_keys(t.m, tenant);
	size_t n = json_array_size(names);

	json_decref(names);
	return n;
}

static unsigned
files(void)
{
	struct sandbox *sb = NULL;
	unsigned n = 0;

	while ((sb = manager_next(t.m, -1, sb)) != NULL) {
		char name[64];

		snprintf(name, sizeof name, "saved/%s.tar",
		    sandbox_record(sb)->session_id);
		n += faccessat(t.dir, name, F_OK, 0) == 0;
	}
	return n;
}

static void
keeps_sessions_in_order(void **unused)
{
	struct told a, b, c;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s1");
	create_ok(&b, "s1");
	create_ok(&c, "s2");
	check_session("s1", a.id, b.id);
	check_session("s2", c.id, NULL);
	check_session("s3", NULL, NULL);
	assert_int_equal(keys(0), 2);
	assert_int_equal(keys(1), 0);
	assert_int_equal(keys(-1), 2);
	manager_release(t.m, 0, a.id);
	check_session("s1", b.id, NULL);
	assert_string_equal(sandbox_record(a.sb)->session, "");
	assert_null(
	    json_object_get(sandbox_record(a.sb)->meta, "session_ctx_id"));
	manager_release(t.m, 0, c.id);
	assert_int_equal(keys(0), 1);
	end();
}

static void
reaps_the_idle_and_only_them(void **unused)
{
	struct told old, busy, lone, r;
	struct sandbox *sb;

	(void)unused;
	begin();
	start_manager();
	create_ok(&old, "old");
	create_ok(&busy, "busy");
	create_ok(&lone, NULL);
	sb = manager_find(t.m, 0, busy.id, true);
	sandbox_hold(sb);
	grow_old(sb, 301);
	grow_old(lone.sb, 301);
	idle(old.sb);
	until_state(old.id, REC_RECYCLED);
	until_count(2);
	assert_string_equal(sandbox_record(old.sb)->reason,
	    "heartbeat_timeout");
	assert_true(sandbox_record(old.sb)->recycled_at > 0);
	assert_null(manager_status(t.m, 0, old.id));
	check_session("old", old.id, NULL);
	assert_int_equal(files(), 1);
	/* The end of a call is a touch. */
	sandbox_drop(sb);
	reap_scan(t.m);
	drive_for(t.loop, 5);
	assert_int_equal(state_of(busy.id), REC_RUNNING);
	ready_ok(&r, busy.id);
	idle(sb);
	until_state(busy.id, REC_RECYCLED);
	end();
}

static void
a_touch_keeps_the_whole_session(void **unused)
{
	struct told a, b, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	create_ok(&b, "s");
	grow_old(a.sb, 301);
	ready_ok(&r, b.id);
	reap_scan(t.m);
	drive_for(t.loop, 5);
	assert_int_equal(state_of(a.id), REC_RUNNING);
	assert_true(sandbox_record(a.sb)->last_active_at > clock_unix() - 5);
	end();
}

static void
restores_under_the_old_id(void **unused)
{
	struct told a, b, r, again;
	const struct record *rec;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	create_ok(&b, "s");
	shell(a.sb, "write treasure", "");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	until_state(b.id, REC_RECYCLED);
	until_count(0);
	ready_ok(&r, a.id);
	assert_string_not_equal(r.id, a.id);
	shell(r.sb, "read", "treasure");
	assert_int_equal(state_of(a.id), REC_REPLACED);
	assert_string_equal(sandbox_record(a.sb)->redirect, r.id);
	rec = sandbox_record(r.sb);
	assert_string_equal(rec->session, "s");
	assert_string_equal(json_string_value(
				json_object_get(rec->meta, "sandbox_type")),
	    "base");
	/* The sibling keeps its place, and is restored when it is wanted. */
	check_session("s", r.id, b.id);
	assert_int_equal(state_of(b.id), REC_RECYCLED);
	assert_int_equal(files(), 1);
	ready_ok(&again, a.id);
	assert_string_equal(again.id, r.id);
	assert_ptr_equal(manager_find(t.m, 0, a.id, true), r.sb);
	assert_ptr_equal(manager_find(t.m, 0, a.id, false), a.sb);
	ready_ok(&again, b.id);
	check_session("s", r.id, again.id);
	assert_int_equal(files(), 0);
	end();
}

static void
many_that_want_it_get_one(void **unused)
{
	struct told a, r[5];
	unsigned builds;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	until_count(0);
	builds = t.fb->builds;
	for (int i = 0; i < 5; i++)
		assert_non_null(ready(&r[i], a.id));
	for (int i = 0; i < 5; i++) {
		assert_true(drive_flag(t.loop, &r[i].done));
		assert_string_equal(r[i].id, r[0].id);
	}
	assert_int_equal(t.fb->builds, builds + 1);
	end();
}

static void
a_failed_restore_can_be_tried_again(void **unused)
{
	struct told a, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	shell(a.sb, "write treasure", "");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	until_count(0);
	t.fb->fail_builds = 1;
	assert_non_null(ready(&r, a.id));
	assert_true(drive_flag(t.loop, &r.done));
	assert_null(r.sb);
	assert_string_equal(r.err.text, "no room on this host");
	assert_int_equal(state_of(a.id), REC_RECYCLED);
	check_session("s", a.id, NULL);
	ready_ok(&r, a.id);
	shell(r.sb, "read", "treasure");
	end();
}

/* More often than a chain of redirects would be followed. */
static void
restores_for_ever(void **unused)
{
	struct told a, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	shell(a.sb, "write treasure", "");
	r = a;
	for (int i = 0; i < 14; i++) {
		char before[64];

		strcpy(before, r.id);
		idle(r.sb);
		until_state(r.id, REC_RECYCLED);
		ready_ok(&r, a.id);
		assert_string_not_equal(r.id, before);
		assert_string_equal(sandbox_record(a.sb)->redirect, r.id);
	}
	shell(r.sb, "read", "treasure");
	end();
}

static void
releases_through_the_redirect(void **unused)
{
	struct told a, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	ready_ok(&r, a.id);
	assert_int_equal(manager_release(t.m, 0, a.id), 1);
	assert_int_equal(state_of(a.id), REC_RELEASED);
	assert_int_equal(state_of(r.id), REC_RELEASED);
	/* As upstream has it: the stub keeps what it knew, and leads nowhere. */
	assert_string_equal(sandbox_record(a.sb)->session, "s");
	assert_string_equal(sandbox_record(a.sb)->redirect, r.id);
	assert_ptr_equal(manager_find(t.m, 0, a.id, true), a.sb);
	until_count(0);
	assert_int_equal(keys(0), 0);
	end();
}

static void
deletes_the_workspace_of_what_is_released(void **unused)
{
	struct told a;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	assert_int_equal(files(), 1);
	manager_release(t.m, 0, a.id);
	assert_int_equal(files(), 0);
	assert_int_equal(state_of(a.id), REC_RELEASED);
	end();
}

/* ---- when saving goes wrong ---- */

static void
run_hang(struct fakecall *c)
{
	(void)c;
}

static void
run_fail(struct fakecall *c)
{
	fakecall_puts(c, 3, "TAR:half");
	fakecall_done(c, -2000, 1 + ERR_SYS, "input/output error");
}

static void
run_echo(struct fakecall *c)
{
	fakecall_puts(c, 1, fakecall_text(c, "command"));
	fakecall_done(c, 0, 0, NULL);
}

static const struct faketool hanging[] = {
	{ .name = "run_shell_command", .param = "command", .run = run_echo },
	{ .name = "fs_tar", .internal = true, .run = run_hang },
	{ .name = NULL },
};

static const struct faketool failing[] = {
	{ .name = "fs_tar", .internal = true, .run = run_fail },
	{ .name = NULL },
};

static void
a_touch_ends_the_saving(void **unused)
{
	struct told a, r;
	struct stat st;

	(void)unused;
	begin();
	t.fb->tools = hanging;
	start_manager();
	create_ok(&a, "s");
	idle(a.sb);
	drive_for(t.loop, 5);
	assert_int_equal(a.sb->life.state, LIFE_SAVING);
	ready_ok(&r, a.id);
	assert_string_equal(r.id, a.id);
	assert_int_equal(state_of(a.id), REC_RUNNING);
	shell(r.sb, "still here", "still here");
	assert_int_equal(fstatat(t.dir, "saved", &st, 0), 0);
	assert_int_equal(st.st_nlink, 2);
	end();
}

static void
gives_up_a_workspace_that_cannot_be_saved(void **unused)
{
	struct told a;

	(void)unused;
	begin();
	t.fb->tools = failing;
	start_manager();
	create_ok(&a, "s");
	for (int i = 0; i < 3; i++) {
		idle(a.sb);
		drive_for(t.loop, 10);
		assert_int_equal(state_of(a.id), REC_RUNNING);
		assert_int_equal(a.sb->life.state, LIFE_READY);
	}
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	assert_string_equal(sandbox_record(a.sb)->reason,
	    "heartbeat_timeout, workspace lost");
	assert_int_equal(files(), 0);
	end();
}

static void
keeps_to_the_quota_of_saved_workspaces(void **unused)
{
	struct told a, b;

	(void)unused;
	begin();
	t.config->saved_max = 12;
	start_manager();
	create_ok(&a, "a");
	create_ok(&b, "b");
	shell(a.sb, "write 12345678", "");
	shell(b.sb, "write 12345678", "");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	idle(b.sb);
	drive_for(t.loop, 20);
	assert_int_equal(state_of(b.id), REC_RUNNING);
	assert_int_equal(files(), 1);
	/* Room again. */
	manager_release(t.m, 0, a.id);
	idle(b.sb);
	until_state(b.id, REC_RECYCLED);
	end();
}

static void
a_stop_that_cannot_save_does_not_stop(void **unused)
{
	struct told a, s = { 0 }, r;

	(void)unused;
	begin();
	t.fb->tools = failing;
	start_manager();
	create_ok(&a, "s");
	assert_non_null(manager_stop(t.m, 0, a.id, tell, &s, &s.err));
	assert_true(drive_flag(t.loop, &s.done));
	assert_null(s.sb);
	assert_string_equal(s.err.text, "input/output error");
	ready_ok(&r, a.id);
	end();
}

/* ---- records that have had their time ---- */

static void
forgets_in_due_time(void **unused)
{
	struct told a, b, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "a");
	create_ok(&b, "b");
	idle(a.sb);
	until_state(a.id, REC_RECYCLED);
	ready_ok(&r, a.id);
	manager_release(t.m, 0, b.id);
	until_count(1);
	a.sb->rec.updated_at -= 3700;
	b.sb->rec.updated_at -= 3500;
	reap_scan(t.m);
	assert_non_null(manager_find(t.m, 0, b.id, false));
	b.sb->rec.updated_at -= 200;
	reap_scan(t.m);
	assert_null(manager_find(t.m, 0, b.id, false));
	/* The old id of what lives is never forgotten. */
	assert_ptr_equal(manager_find(t.m, 0, a.id, true), r.sb);
	manager_release(t.m, 0, r.id);
	reap_scan(t.m);
	assert_null(manager_find(t.m, 0, a.id, false));
	end();
}

/* The oldest dead go; then the oldest idle ones of whom has most of them. */
static void
bounds_the_number_of_records(void **unused)
{
	struct told w[6];

	(void)unused;
	begin();
	start_manager();
	for (int i = 0; i < 6; i++) {
		char name[8];

		snprintf(name, sizeof name, "s%d", i);
		create_ok(&w[i], name);
	}
	manager_release(t.m, 0, w[0].id);
	for (int i = 1; i < 5; i++) {
		idle(w[i].sb);
		until_state(w[i].id, REC_RECYCLED);
	}
	t.m->records_max = 4;
	reap_scan(t.m);
	assert_null(manager_find(t.m, 0, w[0].id, false));
	assert_null(manager_find(t.m, 0, w[1].id, false));
	assert_null(manager_find(t.m, 0, w[2].id, false));
	assert_non_null(manager_find(t.m, 0, w[3].id, false));
	assert_non_null(manager_find(t.m, 0, w[4].id, false));
	assert_int_equal(state_of(w[5].id), REC_RUNNING);
	assert_int_equal(files(), 2);
	end();
}

/* A host's directory for a workspace outlives its sandbox by itself. */
static void
a_mounted_workspace_needs_no_saving(void **unused)
{
	struct told w = { 0 }, r;
	json_t *meta = session_meta("s");
	struct create c = { .type = "base",
		.meta = meta,
		.mount_dir = "/srv/x",
		.pooled = true };
	const struct broker_build *b;

	(void)unused;
	begin();
	t.config->allow_mount_dir = true;
	t.config->readonly_mounts.at[0] = xstrdup("/opt/data:/data");
	t.config->readonly_mounts.n = 1;
	start_manager();
	assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
	json_decref(meta);
	assert_true(drive_flag(t.loop, &w.done));
	b = &fakebroker_box(t.fb, 0)->build;
	assert_int_equal(b->nmount, 2);
	assert_string_equal(b->mount[0].from, "/srv/x");
	assert_string_equal(b->mount[0].at, "/workspace");
	assert_int_equal(b->mount[0].readonly, 0);
	assert_string_equal(b->mount[1].from, "/opt/data");
	assert_string_equal(b->mount[1].at, "/data");
	assert_int_equal(b->mount[1].readonly, 1);
	assert_string_equal(sandbox_record(w.sb)->mount_dir, "/srv/x");
	idle(w.sb);
	until_state(w.id, REC_RECYCLED);
	assert_int_equal(files(), 0);
	until_count(0);
	ready_ok(&r, w.id);
	assert_string_equal(fakebroker_box(t.fb, 0)->build.mount[0].from,
	    "/srv/x");
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_sessions_in_order),
		cmocka_unit_test(reaps_the_idle_and_only_them),
		cmocka_unit_test(a_touch_keeps_the_whole_session),
		cmocka_unit_test(restores_under_the_old_id),
		cmocka_unit_test(many_that_want_it_get_one),
		cmocka_unit_test(a_failed_restore_can_be_tried_again),
		cmocka_unit_test(restores_for_ever),
		cmocka_unit_test(releases_through_the_redirect),
		cmocka_unit_test(deletes_the_workspace_of_what_is_released),
		cmocka_unit_test(a_touch_ends_the_saving),
		cmocka_unit_test(gives_up_a_workspace_that_cannot_be_saved),
		cmocka_unit_test(keeps_to_the_quota_of_saved_workspaces),
		cmocka_unit_test(a_stop_that_cannot_save_does_not_stop),
		cmocka_unit_test(forgets_in_due_time),
		cmocka_unit_test(bounds_the_number_of_records),
		cmocka_unit_test(a_mounted_workspace_needs_no_saving),
	};

	return cmocka_run_group_tests_name("manager_session", tests, NULL,
	    NULL);
}
