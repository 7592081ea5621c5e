#include <stdio.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "tests/unit/guest_fixture.h"

static void
calls_and_answers(void **unused)
{
	struct seen a = { 0 }, b = { 0 }, c = { 0 };

	(void)unused;
	begin(NULL);
	assert_true(guest_ready(t.guest));
	assert_int_equal(fakeagent_generation(t.agent), 7);
	assert_string_equal(fakeagent_env(t.agent, "B"), "two");
	shell(&a, "hang");
	shell(&b, "hello");
	shell(&c, "fail no luck");
	assert_true(drive_flag(t.loop, &c.done));
	assert_true(b.done);
	assert_string_equal(str_text(&b.out[1]), "ran: hello");
	assert_int_equal(b.exit, 0);
	assert_true(c.failed);
	assert_int_equal(c.err.code, ERR_INVALID);
	assert_string_equal(c.err.text, "no luck");
	assert_false(a.done);
	guest_cancel(a.call);
	assert_true(drive_flag(t.loop, &a.done));
	assert_int_equal(a.exit, -9);
	end();
	seen_free(&a);
	seen_free(&b);
	seen_free(&c);
}

static void
knows_the_tools_it_was_told(void **unused)
{
	(void)unused;
	begin(NULL);
	assert_string_equal(guest_tool(t.guest, 0)->name, "run_shell_command");
	assert_string_equal(guest_tool(t.guest, 1)->param[0].name, "code");
	assert_true(guest_tool(t.guest, 2)->internal);
	assert_null(guest_tool(t.guest, 4));
	end();
}

/* Answers with how long the code was, and its last letter. */
static void
run_measure(struct fakecall *c)
{
	const char *code = fakecall_text(c, "code");
	size_t n = strlen(code);
	char text[32];

	snprintf(text, sizeof text, "%zu %c", n, code[n - 1]);
	fakecall_puts(c, 1, text);
	fakecall_done(c, 0, 0, NULL);
}

static const struct faketool measuring[] = {
	{ .name = "measure", .param = "code", .run = run_measure },
	{ .name = NULL },
};

static void
sends_what_no_frame_can_hold(void **unused)
{
	size_t n = 3000000;
	auto_free char *big = xmalloc(n + 1);
	struct seen s = { 0 };

	(void)unused;
	memset(big, 'a', n);
	big[n - 1] = 'z';
	begin(measuring);
	assert_int_equal(call(&s, "measure", "code", big, n, 0), 0);
	assert_true(drive_flag(t.loop, &s.done));
	assert_string_equal(str_text(&s.out[1]), "3000000 z");
	end();
	seen_free(&s);
}

static bool
stalls(void *arg)
{
	struct seen *s = arg;

	return s->out[1].len >= 256 * 1024;
}

static void
holds_back_who_is_not_read(void **unused)
{
	struct seen s = { .keep = true };

	(void)unused;
	begin(pouring);
	assert_int_equal(call(&s, "pour", NULL, NULL, 0, 0), 0);
	assert_true(drive(t.loop, stalls, &s, 5000));
	drive_for(t.loop, 20);
	assert_int_equal(s.out[1].len, 256 * 1024);
	guest_took(s.call, 100000);
	drive_for(t.loop, 20);
	assert_int_equal(s.out[1].len, 256 * 1024 + 100000);
	guest_took(s.call, 1); /* too little to be worth a frame */
	drive_for(t.loop, 20);
	assert_int_equal(s.out[1].len, 256 * 1024 + 100000);
	assert_false(t.gone);
	end();
	seen_free(&s);
}

/* Detached, the work is never held back and nobody hears of it. */
static void
lets_detached_work_flow(void **unused)
{
	struct seen s = { .keep = true };
	struct fakecall *c;
	uint64_t before;

	(void)unused;
	begin(pouring);
	assert_int_equal(call(&s, "pour", NULL, NULL, 0, 0), 0);
	assert_true(drive(t.loop, stalls, &s, 5000));
	c = fakeagent_call(t.agent, fakeagent_last(t.agent));
	assert_int_equal(c->credit, 0);
	before = s.out[1].len;
	guest_detach(s.call);
	drive_for(t.loop, 20);
	fakecall_done(fakeagent_call(t.agent, fakeagent_last(t.agent)), 0, 0,
	    NULL);
	drive_for(t.loop, 20);
	assert_int_equal(s.out[1].len, before);
	assert_false(s.done);
	assert_false(t.gone);
	end();
	seen_free(&s);
}

static void
answers_for_an_agent_that_does_not(void **unused)
{
	struct seen s = { 0 };
	int64_t start = clock_ms();

	(void)unused;
	begin(pouring);
	assert_int_equal(call(&s, "idle", NULL, NULL, 0, 1), 0);
	assert_true(drive_flag(t.loop, &s.done));
	assert_in_range(clock_ms() - start, 1000, 2500);
	assert_int_equal(s.err.code, ERR_TIMEOUT);
	assert_true(s.running);
	/* Its late Done is nobody's, and no offence. */
	fakecall_done(fakeagent_call(t.agent, fakeagent_last(t.agent)), 0, 0,
	    NULL);
	drive_for(t.loop, 20);
	assert_false(t.gone);
	end();
}

static void
on_some(struct fakecall *c, const uint8_t *bytes, size_t n)
{
	(void)n;
	if (bytes == NULL)
		fakecall_done(c, (int)(c->input / 1000), 0, NULL);
	else
		fakecall_want(c, (uint32_t)n);
}

static void
run_wanting(struct fakecall *c)
{
	fakecall_want(c, 100000);
}

static const struct faketool eating[] = {
	{ .name = "eat", .run = run_wanting, .input = on_some },
	{ .name = NULL },
};

static bool
has_room(void *arg)
{
	return guest_room(((struct seen *)arg)->call) > 0;
}

static void
feeds_as_much_as_is_wanted(void **unused)
{
	static uint8_t bytes[100000];
	struct seen s = { 0 };
	size_t sent = 0;

	(void)unused;
	begin(eating);
	assert_int_equal(call(&s, "eat", NULL, NULL, 0, 0), 0);
	assert_int_equal(guest_room(s.call), 0);
	while (sent < 2000000) {
		size_t n;

		assert_true(drive(t.loop, has_room, &s, 5000));
		n = guest_room(s.call);
		n = n < sizeof bytes ? n : sizeof bytes;
		n = n < 2000000 - sent ? n : 2000000 - sent;
		guest_input(s.call, bytes, n);
		sent += n;
	}
	guest_input_end(s.call);
	assert_true(drive_flag(t.loop, &s.done));
	assert_int_equal(s.exit, 2000);
	assert_true(s.rooms > 0);
	end();
}

static void
list_two(struct fakecall *c)
{
	fakecall_entry(c, "/workspace/a", 0);
	fakecall_entry(c, "/workspace/\xff", 1);
	fakecall_done(c, -2000, 0, NULL);
}

static void
list_for_ever(struct fakecall *c)
{
	for (int i = 0; i < 500002; i++)
		fakecall_entry(c, "", 0);
}

static void
cancel_ignored(struct fakecall *c)
{
	(void)c;
}

static const struct faketool listing[] = {
	{ .name = "two", .run = list_two },
	{ .name = "ever", .run = list_for_ever, .cancel = cancel_ignored },
	{ .name = NULL },
};

static void
passes_entries_on_to_a_bound(void **unused)
{
	struct seen s = { 0 }, many = { 0 }, after = { 0 };

	(void)unused;
	begin(listing);
	assert_int_equal(call(&s, "two", NULL, NULL, 0, 0), 0);
	assert_true(drive_flag(t.loop, &s.done));
	assert_int_equal(s.entries, 2);
	assert_string_equal(str_text(&s.out[0]), "/workspace/a/workspace/\xff");
	assert_int_equal(call(&many, "ever", NULL, NULL, 0, 0), 0);
	assert_true(drive_flag(t.loop, &many.done));
	assert_int_equal(many.err.code, ERR_LIMIT);
	/* The sandbox has not suffered for it. */
	assert_int_equal(call(&after, "two", NULL, NULL, 0, 0), 0);
	assert_true(drive_flag(t.loop, &after.done));
	assert_false(t.gone);
	end();
	seen_free(&s);
	seen_free(&many);
	seen_free(&after);
}

static void
ends_calls_when_freed(void **unused)
{
	struct seen a = { 0 }, b = { 0 }, c = { 0 };

	(void)unused;
	begin(NULL);
	shell(&a, "hang");
	shell(&b, "hang");
	shell(&c, "hang");
	guest_free(t.guest);
	t.guest = NULL;
	assert_false(a.done); /* never from inside a call */
	guest_took(a.call, 5);
	assert_int_equal(guest_room(a.call), 0);
	guest_cancel(a.call);
	guest_detach(b.call);
	assert_true(drive_flag(t.loop, &c.done));
	assert_true(a.done);
	assert_int_equal(a.err.code, ERR_BUSY);
	assert_false(b.done);
	assert_false(t.gone);
	end();
}

static void
bounds_calls_at_once(void **unused)
{
	static struct seen s[257];

	(void)unused;
	memset(s, 0, sizeof s);
	begin(pouring);
	for (int i = 0; i < 256; i++)
		assert_int_equal(call(&s[i], "idle", NULL, NULL, 0, 0), 0);
	assert_int_equal(call(&s[256], "idle", NULL, NULL, 0, 0), -1);
	assert_int_equal(s[256].err.code, ERR_LIMIT);
	end();
	for (int i = 0; i < 256; i++)
		assert_true(s[i].done);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_answers),
		cmocka_unit_test(knows_the_tools_it_was_told),
		cmocka_unit_test(sends_what_no_frame_can_hold),
		cmocka_unit_test(holds_back_who_is_not_read),
		cmocka_unit_test(lets_detached_work_flow),
		cmocka_unit_test(answers_for_an_agent_that_does_not),
		cmocka_unit_test(feeds_as_much_as_is_wanted),
		cmocka_unit_test(passes_entries_on_to_a_bound),
		cmocka_unit_test(ends_calls_when_freed),
		cmocka_unit_test(bounds_calls_at_once),
	};

	return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}
