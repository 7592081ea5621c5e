#include <stdio.h>
#include "tests/unit/unit.h"
#include "base/clock.h"
#include "tests/unit/manager_fixture.h"

static void
creates_calls_and_releases(void **unused)
{
	struct manager_counts counts;
	struct told a;
	const struct record *r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s1");
	r = sandbox_record(a.sb);
	assert_int_equal(strncmp(a.id, "runtime_sandbox_container_", 26), 0);
	assert_int_equal(strlen(a.id), 26 + 25);
	assert_string_equal(a.id + 26, r->session_id);
	assert_int_equal(strspn(r->session_id,
			     "0123456789abcdefghijklmnopqrstuvwxyz"),
	    25);
	assert_int_equal(strlen(r->container_id), 64);
	assert_int_equal(strlen(r->token), 32);
	assert_string_equal(r->version,
	    "agentscope/runtime-sandbox-base:latest");
	assert_string_equal(r->type, "base");
	assert_string_equal(r->session, "s1");
	assert_int_equal(r->state, REC_RUNNING);
	assert_string_equal(manager_status(t.m, 0, a.id), "running");
	assert_string_equal(manager_status(t.m, 0, r->container_id), "running");
	shell(a.sb, "hello", "ran: hello");
	manager_counts(t.m, &counts);
	assert_int_equal(counts.creates, 1);
	assert_int_equal(counts.bucket[MANAGER_BUCKETS - 1], 1);
	assert_int_equal(counts.step_us[6], 30); /* the fake's word */
	assert_string_equal(manager_step_name(6), "net");
	assert_int_equal(manager_release(t.m, 0, a.id), 1);
	assert_int_equal(state_of(a.id), REC_RELEASED);
	until_count(0);
	assert_null(manager_status(t.m, 0, a.id));
	assert_int_equal(manager_release(t.m, 0, a.id), 1);
	assert_int_equal(manager_release(t.m, 0, "nobody"), 1);
	end();
}

static void
gives_it_what_type_image_and_request_say(void **unused)
{
	static const char *const env[] = { "A=request", "FROM_IMAGE=no", NULL };
	struct told w = { 0 };
	struct create c = { .type = "base", .env = env };
	struct fakebox *b;

	(void)unused;
	begin();
	start_manager();
	assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
	assert_true(drive_flag(t.loop, &w.done));
	b = fakebroker_box(t.fb, 0);
	assert_int_equal(b->build.nlayer, 2);
	assert_int_equal(b->build.layer[0][0], 0xaa);
	assert_int_equal(b->build.layer[1][31], 0xbb);
	assert_string_equal(b->build.hostname,
	    sandbox_record(w.sb)->session_id);
	assert_true(b->build.memory > 0);
	assert_true(b->build.pids > 0);
	assert_string_equal(fakeagent_env(b->agent, "PATH"),
	    "/opt/venv/bin:/usr/bin:/bin");
	assert_string_equal(fakeagent_env(b->agent, "HOME"), "/root");
	assert_string_equal(fakeagent_env(b->agent, "WORKSPACE_DIR"),
	    "/workspace");
	assert_string_equal(fakeagent_env(b->agent, "A"), "request");
	assert_string_equal(fakeagent_env(b->agent, "FROM_IMAGE"), "no");
	assert_null(fakeagent_env(b->agent, "SECRET_TOKEN"));
	end();
}

static void
finds_by_id_and_session_id_within_the_tenant(void **unused)
{
	struct told w;

	(void)unused;
	begin();
	start_manager();
	create_ok(&w, NULL);
	assert_ptr_equal(manager_find(t.m, 0, w.id, true), w.sb);
	assert_ptr_equal(manager_find(t.m, 0, w.id + 26, true), w.sb);
	assert_ptr_equal(manager_find(t.m, -1, w.id, true), w.sb);
	assert_null(manager_find(t.m, 1, w.id, true));
	assert_null(manager_status(t.m, 1, w.id));
	assert_null(manager_find(t.m, 0, "", true));
	assert_null(manager_next(t.m, 1, NULL));
	assert_ptr_equal(manager_next(t.m, 0, NULL), w.sb);
	assert_null(manager_next(t.m, 0, w.sb));
	assert_int_equal(manager_release(t.m, 1, w.id), 1);
	assert_int_equal(state_of(w.id), REC_RUNNING);
	end();
}

static void
refuses_types_with_a_reason(void **unused)
{
	/* clang-format off */
	static const struct {
		const char *type;
		enum err_code code;
		const char *text;
	} rows[] = {
		{ "wrong",	ERR_INVALID, "'wrong' is not a valid SandboxType" },
		{ "gui",	ERR_DENIED, "sandboxes of type 'gui' are not built yet: no image" },
		{ "gui_async",	ERR_DENIED, "sandboxes of type 'gui_async' are not built yet: no image" },
		{ "agentbay",	ERR_DENIED, "sandboxes of type 'agentbay' are not built yet: no image" },
	};
	/* clang-format on */
	struct told w = { 0 };

	(void)unused;
	begin();
	start_manager();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct create c = { .type = rows[i].type };

		assert_null(manager_create(t.m, &c, tell, &w, &w.err));
		assert_int_equal(w.err.code, rows[i].code);
		assert_string_equal(w.err.text, rows[i].text);
	}
	assert_int_equal(t.fb->builds, 0);
	end();
}

static void
knows_other_names_of_the_base(void **unused)
{
	static const char *const names[] = { NULL, "base_async", "dummy" };
	static const char *const recorded[] = { "base", "base_async", "dummy" };

	(void)unused;
	begin();
	start_manager();
	for (size_t i = 0; i < 3; i++) {
		struct told w = { 0 };
		struct create c = { .type = names[i] };

		assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
		assert_true(drive_flag(t.loop, &w.done));
		assert_string_equal(sandbox_record(w.sb)->type, recorded[i]);
		assert_string_equal(sandbox_record(w.sb)->version,
		    "agentscope/runtime-sandbox-base:latest");
	}
	end();
}

/* `hutch run base': no image has that name, a type has. */
static void
takes_a_types_name_for_its_image(void **unused)
{
	struct told w = { 0 };
	struct create c = { .type = "base", .image = "base" };

	(void)unused;
	begin();
	start_manager();
	assert_non_null(manager_create(t.m, &c, tell, &w, &w.err));
	assert_true(drive_flag(t.loop, &w.done));
	assert_non_null(w.sb);
	assert_string_equal(sandbox_record(w.sb)->version,
	    "agentscope/runtime-sandbox-base:latest");
	assert_int_equal(fakebroker_box(t.fb, 0)->build.layer[1][31], 0xbb);
	end();
}

static unsigned
records(void)
{
	struct sandbox *sb = NULL;
	unsigned n = 0;

	while ((sb = manager_next(t.m, -1, sb)) != NULL)
		n++;
	return n;
}

/* Whatever goes wrong on the way: the caller hears it, and nothing stays. */
static void
leaves_nothing_of_a_failed_creation(void **unused)
{
	struct told w = { 0 };
	struct create gone = { .type = "base", .image = "none/such:1" };
	struct manager_counts counts;
	json_t *ids;

	(void)unused;
	begin();
	start_manager();

	t.fb->fail_builds = 1;
	assert_non_null(create(&w, "s"));
	assert_true(drive_flag(t.loop, &w.done));
	assert_null(w.sb);
	assert_string_equal(w.err.text, "no room on this host");

	w = (struct told){ 0 };
	assert_non_null(manager_create(t.m, &gone, tell, &w, &w.err));
	assert_true(drive_flag(t.loop, &w.done));
	assert_null(w.sb);
	assert_int_equal(w.err.code, ERR_MISSING);

	t.fb->silent = true; /* and then it dies, before Hello */
	w = (struct told){ 0 };
	assert_non_null(create(&w, "s"));
	until_count(1);
	drive_for(t.loop, 10);
	fakebroker_end(t.fb, fakebroker_box(t.fb, 0), BROKER_END_EXIT, 3 << 8);
	assert_true(drive_flag(t.loop, &w.done));
	assert_null(w.sb);
	assert_non_null(strstr(w.err.text, "exit status 3"));

	assert_int_equal(records(), 0);
	manager_counts(t.m, &counts);
	assert_int_equal(counts.failed, 3);
	assert_int_equal(counts.by_state[REC_RUNNING], 0);
	ids = manager_session(t.m, 0, "s");
	assert_int_equal(json_array_size(ids), 0);
	json_decref(ids);
	end();
}

static void
keeps_to_the_limit_of_the_host(void **unused)
{
	struct told w[10];
	unsigned refused = 0;

	(void)unused;
	begin();
	t.config->max_instances = 3;
	start_manager();
	memset(w, 0, sizeof w);
	for (int i = 0; i < 10; i++)
		if (create(&w[i], NULL) == NULL) {
			assert_int_equal(w[i].err.code, ERR_LIMIT);
			refused++;
		}
	assert_int_equal(refused, 7);
	until_count(3);
	assert_true(drive_flag(t.loop, &w[2].done));
	manager_release(t.m, 0, w[0].id);
	memset(w, 0, sizeof w);
	assert_non_null(create(&w[0], NULL));
	assert_true(drive_flag(t.loop, &w[0].done));
	assert_non_null(w[0].sb);
	assert_null(create(&w[1], NULL));
	end();
}

static void
keeps_to_the_limit_of_a_tenant(void **unused)
{
	struct told w[3];
	struct create other = { .tenant = 1, .type = "base" };

	(void)unused;
	memset(w, 0, sizeof w);
	begin();
	t.config->tenant = xcalloc(2, sizeof *t.config->tenant);
	t.config->ntenant = 2;
	t.config->tenant[0] =
	    (struct conf_tenant){ .name = xstrdup("a"), .max_sandboxes = 1 };
	t.config->tenant[1] = (struct conf_tenant){ .name = xstrdup("b") };
	start_manager();
	assert_non_null(create(&w[0], NULL));
	assert_null(create(&w[1], NULL));
	assert_int_equal(w[1].err.code, ERR_LIMIT);
	assert_non_null(manager_create(t.m, &other, tell, &w[2], &w[2].err));
	assert_true(drive_flag(t.loop, &w[2].done));
	/* Each sees its own. */
	assert_null(manager_find(t.m, 0, w[2].id, true));
	assert_non_null(manager_find(t.m, 1, w[2].id, true));
	manager_cleanup(t.m, 0);
	assert_int_equal(state_of(w[0].id), REC_RELEASED);
	assert_int_equal(state_of(w[2].id), REC_RUNNING);
	end();
}

static void
tells_why_a_sandbox_ended(void **unused)
{
	/* clang-format off */
	static const struct {
		int end, status;
		const char *reason;
	} rows[] = {
		{ BROKER_END_MEMORY,	9,	"out of memory" },
		{ BROKER_END_EXIT,	3 << 8,	"exit status 3" },
		{ BROKER_END_EXIT,	11,	"killed by signal 11" },
	};
	/* clang-format on */

	(void)unused;
	begin();
	start_manager();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct told w, r;
		struct said s = { 0 };

		create_ok(&w, NULL);
		start_shell(w.sb, "hang", &s);
		drive_for(t.loop, 5);
		fakebroker_end(t.fb, fakebroker_box(t.fb, 0), rows[i].end,
		    rows[i].status);
		assert_true(drive_flag(t.loop, &s.done));
		assert_true(s.failed);
		assert_non_null(strstr(s.err.text, rows[i].reason));
		until_state(w.id, REC_ERROR);
		assert_string_equal(sandbox_record(w.sb)->reason,
		    rows[i].reason);
		assert_string_equal(manager_status(t.m, 0, w.id), "exited");
		assert_null(sandbox_guest(w.sb));
		assert_null(ready(&r, w.id));
		assert_int_equal(r.err.code, ERR_BUSY);
		assert_non_null(strstr(r.err.text, rows[i].reason));
		assert_int_equal(manager_release(t.m, 0, w.id), 1);
		assert_int_equal(state_of(w.id), REC_RELEASED);
	}
	end();
}

/* Its stream breaks a rule, and it lives on: it is stopped. */
static void
stops_a_sandbox_whose_agent_misbehaves(void **unused)
{
	struct told w;

	(void)unused;
	begin();
	start_manager();
	create_ok(&w, NULL);
	fakeagent_raw(fakebroker_box(t.fb, 0)->agent, "\xff\xff\xff\xff", 4);
	until_state(w.id, REC_ERROR);
	assert_int_equal(fakebroker_count(t.fb), 0);
	assert_non_null(strstr(sandbox_record(w.sb)->reason, "frame of"));
	end();
}

static void
releases_what_nobody_waits_for(void **unused)
{
	struct told w = { 0 };
	struct wait *wait;

	(void)unused;
	begin();
	start_manager();
	wait = create(&w, NULL);
	manager_forget(wait);
	drive_for(t.loop, 20);
	assert_int_equal(fakebroker_count(t.fb), 0);
	assert_false(w.done);
	/* ... while it is being built */
	t.fb->hold = true;
	wait = create(&w, NULL);
	drive_for(t.loop, 5);
	manager_forget(wait);
	fakebroker_release(t.fb);
	until_count(0);
	assert_false(w.done);
	/* ... and when the client's patience is at its end */
	t.config->timeout = 1;
	t.fb->hold = true;
	assert_non_null(create(&w, NULL));
	assert_true(drive_flag(t.loop, &w.done));
	assert_null(w.sb);
	assert_int_equal(w.err.code, ERR_TIMEOUT);
	fakebroker_release(t.fb);
	until_count(0);
	end();
}

static void
releases_in_every_state(void **unused)
{
	struct told w = { 0 };
	struct sandbox *sb;

	(void)unused;
	begin();
	start_manager();
	drive_for(t.loop, 5);
	/* building */
	t.fb->hold = true;
	assert_non_null(create(&w, NULL));
	drive_for(t.loop, 5);
	sb = manager_next(t.m, 0, NULL);
	manager_release(t.m, 0, sandbox_record(sb)->id);
	assert_true(drive_flag(t.loop, &w.done));
	assert_null(w.sb);
	fakebroker_release(t.fb);
	until_count(0);
	/* booting */
	t.fb->silent = true;
	w = (struct told){ 0 };
	assert_non_null(create(&w, NULL));
	until_count(1);
	for (sb = NULL; (sb = manager_next(t.m, 0, sb)) != NULL;)
		manager_release(t.m, 0, sandbox_record(sb)->id);
	assert_true(drive_flag(t.loop, &w.done));
	assert_null(w.sb);
	until_count(0);
	end();
}

static void
pauses_and_resumes(void **unused)
{
	struct told w, p = { 0 }, r;

	(void)unused;
	begin();
	start_manager();
	create_ok(&w, NULL);
	assert_non_null(manager_pause(t.m, w.sb, true, tell, &p, &p.err));
	assert_true(drive_flag(t.loop, &p.done));
	assert_true(fakebroker_box(t.fb, 0)->frozen);
	assert_true(sandbox_record(w.sb)->paused);
	assert_string_equal(manager_status(t.m, 0, w.id), "paused");
	assert_null(ready(&r, w.id));
	assert_int_equal(r.err.code, ERR_BUSY);
	p = (struct told){ 0 };
	assert_non_null(manager_pause(t.m, w.sb, false, tell, &p, &p.err));
	assert_true(drive_flag(t.loop, &p.done));
	assert_false(fakebroker_box(t.fb, 0)->frozen);
	ready_ok(&r, w.id);
	shell(r.sb, "x", "ran: x");
	end();
}

static void
on_usage(void *arg, const struct broker_usage *u, const struct err *err)
{
	assert_null(err);
	assert_int_equal(u->pids, 3);
	*(bool *)arg = true;
}

static void
tells_what_it_uses(void **unused)
{
	struct told w;
	struct err err;
	bool told = false;

	(void)unused;
	begin();
	start_manager();
	create_ok(&w, NULL);
	assert_non_null(manager_usage(t.m, w.sb, on_usage, &told, &err));
	assert_true(drive_flag(t.loop, &told));
	manager_release(t.m, 0, w.id);
	until_count(0);
	drive_for(t.loop, 5);
	assert_null(manager_usage(t.m, w.sb, on_usage, &told, &err));
	end();
}

static void
stops_and_starts_with_the_same_workspace(void **unused)
{
	struct told w, s = { 0 }, r;
	char key[33];

	(void)unused;
	begin();
	start_manager();
	create_ok(&w, NULL);
	strcpy(key, sandbox_key(w.sb));
	shell(w.sb, "write treasure", "");
	assert_non_null(manager_stop(t.m, 0, w.id, tell, &s, &s.err));
	assert_true(drive_flag(t.loop, &s.done));
	assert_non_null(s.sb);
	assert_string_equal(manager_status(t.m, 0, w.id), "exited");
	assert_int_equal(fakebroker_count(t.fb), 0);
	assert_null(ready(&r, w.id));
	assert_int_equal(r.err.code, ERR_BUSY);
	s = (struct told){ 0 };
	assert_non_null(manager_stop(t.m, 0, w.id, tell, &s, &s.err));
	assert_true(drive_flag(t.loop, &s.done));
	s = (struct told){ 0 };
	assert_non_null(manager_start(t.m, 0, w.id, tell, &s, &s.err));
	assert_true(drive_flag(t.loop, &s.done));
	assert_non_null(s.sb);
	assert_string_equal(s.id, w.id);
	assert_string_not_equal(sandbox_key(s.sb), key);
	shell(s.sb, "read", "treasure");
	assert_null(manager_stop(t.m, 0, "nobody", tell, &s, &s.err));
	assert_int_equal(s.err.code, ERR_MISSING);
	end();
}

static void
keeps_a_held_one_until_it_is_dropped(void **unused)
{
	struct told w;
	struct said s = { 0 };

	(void)unused;
	begin();
	start_manager();
	create_ok(&w, NULL);
	sandbox_hold(w.sb);
	start_shell(w.sb, "hang", &s);
	manager_release(t.m, 0, w.id);
	assert_true(drive_flag(t.loop, &s.done));
	until_count(0);
	assert_string_equal(sandbox_record(w.sb)->id, w.id);
	assert_null(sandbox_guest(w.sb));
	sandbox_drop(w.sb);
	end();
}

static void
on_drained(void *arg)
{
	*(bool *)arg = true;
}

static void
drains(void **unused)
{
	struct told a, b, c = { 0 };
	bool drained = false;

	(void)unused;
	begin();
	start_manager();
	create_ok(&a, "s");
	create_ok(&b, NULL);
	manager_drain(t.m, on_drained, &drained);
	assert_null(create(&c, NULL));
	assert_int_equal(c.err.code, ERR_BUSY);
	assert_true(drive_flag(t.loop, &drained));
	assert_int_equal(fakebroker_count(t.fb), 0);
	assert_int_equal(state_of(a.id), REC_RELEASED);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creates_calls_and_releases),
		cmocka_unit_test(gives_it_what_type_image_and_request_say),
		cmocka_unit_test(finds_by_id_and_session_id_within_the_tenant),
		cmocka_unit_test(refuses_types_with_a_reason),
		cmocka_unit_test(knows_other_names_of_the_base),
		cmocka_unit_test(takes_a_types_name_for_its_image),
		cmocka_unit_test(leaves_nothing_of_a_failed_creation),
		cmocka_unit_test(keeps_to_the_limit_of_the_host),
		cmocka_unit_test(keeps_to_the_limit_of_a_tenant),
		cmocka_unit_test(tells_why_a_sandbox_ended),
		cmocka_unit_test(stops_a_sandbox_whose_agent_misbehaves),
		cmocka_unit_test(releases_what_nobody_waits_for),
		cmocka_unit_test(releases_in_every_state),
		cmocka_unit_test(pauses_and_resumes),
		cmocka_unit_test(tells_what_it_uses),
		cmocka_unit_test(stops_and_starts_with_the_same_workspace),
		cmocka_unit_test(keeps_a_held_one_until_it_is_dropped),
		cmocka_unit_test(drains),
	};

	return cmocka_run_group_tests_name("manager", tests, NULL, NULL);
}
