#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "tests/unit/guest_fixture.h"

static void
ask_output(struct fakeagent *a, uint32_t number, uint32_t stream, size_t n)
{
	static uint8_t bytes[200000];
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Output o = GUEST__OUTPUT__INIT;

	e.call = number;
	e.kind_case = GUEST__EVENT__KIND_OUTPUT;
	e.output = &o;
	o.stream = stream;
	o.data.data = bytes;
	o.data.len = n;
	fakeagent_send(a, &e);
}

static void
bad_stream(uint32_t number)
{
	ask_output(t.agent, number, 4, 1);
}

static void
beyond_credit(uint32_t number)
{
	ask_output(t.agent, number, 1, 200000);
	ask_output(t.agent, number, 1, 200000);
}

static void
second_hello(uint32_t number)
{
	(void)number;
	fakeagent_hello(t.agent, 7);
}

static void
no_kind(uint32_t number)
{
	Guest__Event e = GUEST__EVENT__INIT;

	e.call = number;
	fakeagent_send(t.agent, &e);
}

static void
bad_code(uint32_t number)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Done d = GUEST__DONE__INIT;

	e.call = number;
	e.kind_case = GUEST__EVENT__KIND_DONE;
	e.done = &d;
	d.code = 200;
	fakeagent_send(t.agent, &e);
}

static void
huge_credit(uint32_t number)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Credit c = GUEST__CREDIT__INIT;

	e.call = number;
	e.kind_case = GUEST__EVENT__KIND_CREDIT;
	e.credit = &c;
	c.bytes = 0xffffffff;
	fakeagent_send(t.agent, &e);
}

static void
piled_credit(uint32_t number)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Credit c = GUEST__CREDIT__INIT;

	e.call = number;
	e.kind_case = GUEST__EVENT__KIND_CREDIT;
	e.credit = &c;
	c.bytes = 16 << 20;
	fakeagent_send(t.agent, &e);
	fakeagent_send(t.agent, &e);
}

static void
huge_frame(uint32_t number)
{
	(void)number;
	fakeagent_raw(t.agent, "\xff\xff\xff\xff", 4);
}

static void
no_protobuf(uint32_t number)
{
	(void)number;
	fakeagent_raw(t.agent, "\0\0\0\4\xff\xff\xff\xff", 8);
}

/* 200 KB of empty unknown fields: tiny on the wire, large when decoded. */
static void
blown_up(uint32_t number)
{
	size_t n = 200000;
	auto_free uint8_t *bytes = xcalloc(1, n + 4);

	(void)number;
	bytes[1] = (uint8_t)(n >> 16);
	bytes[2] = (uint8_t)(n >> 8);
	bytes[3] = (uint8_t)n;
	for (size_t i = 0; i < n; i += 2) {
		bytes[4 + i] = 0x7a; /* field 15, length-delimited */
		bytes[4 + i + 1] = 0;
	}
	fakeagent_raw(t.agent, bytes, n + 4);
}

static void
hang_up(uint32_t number)
{
	(void)number;
	fakeagent_free(t.agent);
	t.agent = NULL;
}

static void
ends_the_stream_of_an_offender(void **unused)
{
	static void (*const tries[])(uint32_t) = { bad_stream, beyond_credit,
		second_hello, no_kind, bad_code, huge_credit, piled_credit,
		huge_frame, no_protobuf, blown_up, hang_up };

	(void)unused;
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		struct seen s = { .keep = true };
		struct err why;

		begin(pouring);
		assert_int_equal(call(&s, "idle", NULL, NULL, 0, 0), 0);
		drive_for(t.loop, 5);
		tries[i](fakeagent_last(t.agent));
		assert_true(drive_flag(t.loop, &t.gone));
		assert_false(guest_ready(t.guest));
		assert_false(s.done); /* why is not known yet */
		err_set(&why, ERR_BUSY, "it had to be so");
		guest_end(t.guest, &why);
		t.guest = NULL;
		assert_true(drive_flag(t.loop, &s.done));
		assert_string_equal(s.err.text, "it had to be so");
		end();
		seen_free(&s);
	}
}

static void
drops_what_is_of_no_call(void **unused)
{
	struct seen s = { 0 };

	(void)unused;
	begin(NULL);
	ask_output(t.agent, 4711, 1, 100);
	shell(&s, "x");
	assert_true(drive_flag(t.loop, &s.done));
	assert_false(t.gone);
	end();
	seen_free(&s);
}

static void
waits_for_hello_so_long_and_no_longer(void **unused)
{
	struct seen s = { 0 };

	(void)unused;
	begin_with(NULL, true, 30);
	assert_int_equal(call(&s, "idle", NULL, NULL, 0, 0), -1);
	assert_true(drive_flag(t.loop, &t.gone));
	assert_int_equal(t.why.code, ERR_TIMEOUT);
	end();
}

static void
drops_the_hello_of_another_generation(void **unused)
{
	(void)unused;
	begin_with(NULL, true, 5000);
	fakeagent_hello(t.agent, 6);
	drive_for(t.loop, 20);
	assert_false(t.hello);
	fakeagent_hello(t.agent, 7);
	assert_true(drive_flag(t.loop, &t.hello));
	end();
}

static void
refuses_events_before_hello(void **unused)
{
	(void)unused;
	begin_with(NULL, true, 5000);
	ask_output(t.agent, 1, 1, 1);
	assert_true(drive_flag(t.loop, &t.gone));
	assert_int_equal(t.why.code, ERR_PROTO);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_the_stream_of_an_offender),
		cmocka_unit_test(drops_what_is_of_no_call),
		cmocka_unit_test(waits_for_hello_so_long_and_no_longer),
		cmocka_unit_test(drops_the_hello_of_another_generation),
		cmocka_unit_test(refuses_events_before_hello),
	};

	return cmocka_run_group_tests_name("guest_hostile", tests, NULL, NULL);
}
