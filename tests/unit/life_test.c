#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "manager/life.h"

static enum life_state trace[16];
static int traced;

static void
record(struct life *l)
{
	trace[traced++] = l->state;
}

static life_act *const recorders[LIFE_STATES] = {
	[LIFE_PREPARING] = record,
	[LIFE_BUILDING] = record,
	[LIFE_BOOTING] = record,
	[LIFE_LOADING] = record,
	[LIFE_READY] = record,
	[LIFE_SAVING] = record,
	[LIFE_STOPPING] = record,
	[LIFE_DEAD] = record,
};

static struct life
at(enum life_state state)
{
	traced = 0;
	return (struct life){ .state = state, .acts = recorders };
}

static void
lives_and_dies(void **unused)
{
	static const enum life_event life[] = { LIFE_CREATE, LIFE_PREPARED,
		LIFE_BUILT, LIFE_HELLO, LIFE_LOADED, LIFE_PAUSE, LIFE_RESUME,
		LIFE_SAVE, LIFE_SAVED, LIFE_EXITED, LIFE_CREATE };
	static const enum life_state want[] = { LIFE_PREPARING, LIFE_BUILDING,
		LIFE_BOOTING, LIFE_LOADING, LIFE_READY, LIFE_READY, LIFE_SAVING,
		LIFE_STOPPING, LIFE_DEAD, LIFE_PREPARING };
	struct life l = at(LIFE_NEW);
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof life / sizeof *life; i++)
		assert_int_equal(life_event(&l, life[i], &err), 0);
	assert_int_equal(traced, sizeof want / sizeof *want);
	assert_memory_equal(trace, want, sizeof want);
}

static void
refuses_what_the_table_lacks(void **unused)
{
	struct life l = at(LIFE_PAUSED);
	struct err err;

	(void)unused;
	assert_int_equal(life_event(&l, LIFE_HELLO, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_string_equal(err.text, "the sandbox is paused");
	assert_int_equal(l.state, LIFE_PAUSED);
}

/* No state with a process, and none with a deadline, is a trap. */
static void
every_state_can_end(void **unused)
{
	(void)unused;
	for (int from = LIFE_NEW; from < LIFE_DEAD; from++) {
		struct life l = at((enum life_state)from);
		struct err err;

		assert_int_equal(life_event(&l, LIFE_STOP, &err), 0);
		if (l.state != LIFE_DEAD)
			assert_int_equal(life_event(&l, LIFE_EXITED, &err), 0);
		assert_int_equal(l.state, LIFE_DEAD);
		if (life_deadline((enum life_state)from) > 0) {
			l = at((enum life_state)from);
			assert_int_equal(life_event(&l, LIFE_TIMEOUT, &err), 0);
		}
	}
}

/* Wherever there may be a process, its end is understood. */
static void
every_process_can_exit(void **unused)
{
	(void)unused;
	for (int from = LIFE_BUILDING; from < LIFE_DEAD; from++) {
		struct life l = at((enum life_state)from);
		struct err err;

		assert_int_equal(life_event(&l, LIFE_EXITED, &err), 0);
		assert_int_equal(l.state, LIFE_DEAD);
	}
}

/* Nothing brings back what has ended but a new beginning. */
static void
the_dead_stay_dead(void **unused)
{
	(void)unused;
	for (int ev = 0; ev < LIFE_EVENTS; ev++) {
		struct life l = at(LIFE_DEAD);
		struct err err;

		assert_int_equal(life_event(&l, (enum life_event)ev, &err),
		    ev == LIFE_CREATE ? 0 : -1);
	}
}

static void
everything_has_a_name(void **unused)
{
	(void)unused;
	for (int s = 0; s < LIFE_STATES; s++)
		assert_non_null(life_state_name((enum life_state)s));
	for (int e = 0; e < LIFE_EVENTS; e++)
		assert_non_null(life_event_name((enum life_event)e));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lives_and_dies),
		cmocka_unit_test(refuses_what_the_table_lacks),
		cmocka_unit_test(every_state_can_end),
		cmocka_unit_test(every_process_can_exit),
		cmocka_unit_test(the_dead_stay_dead),
		cmocka_unit_test(everything_has_a_name),
	};

	return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
