#include <stdlib.h>
#include "tests/unit/unit.h"
#include "base/clock.h"
#include "manager/inner.h"
#include "tests/unit/manager_fixture.h"

/*
 * Everything at once, in an order that a seed decides: creations that fail,
 * callers that leave, sandboxes that die, agents that break rules, idleness,
 * pauses, stops, and fronts that are killed.  What must hold at the end is
 * little and strict: what lives is what the records say, and a cleanup leaves
 * nothing.
 */

#define NAMES 6
#define OPEN 64

static uint32_t dice;

static unsigned
roll(unsigned sides)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 16) % sides;
}

struct asked {
	struct wait *wait; /* NULL: free */
	unsigned told;
};
static struct asked open_[OPEN];

static void
on_told(void *arg, struct sandbox *sb, const struct err *err)
{
	struct asked *a = arg;

	assert_true((sb == NULL) != (err == NULL));
	assert_non_null(a->wait); /* once, and not when forgotten */
	a->wait = NULL;
}

static struct asked *
slot(void)
{
	for (size_t i = 0; i < OPEN; i++)
		if (open_[i].wait == NULL)
			return &open_[i];
	return NULL;
}

/* Any record, of any state. */
static struct sandbox *
any(void)
{
	struct sandbox *sb = NULL;
	unsigned n = 0, pick;

	while ((sb = manager_next(t.m, -1, sb)) != NULL)
		n++;
	if (n == 0)
		return NULL;
	for (pick = roll(n) + 1; pick > 0; pick--)
		sb = manager_next(t.m, -1, sb);
	return sb;
}

static void
do_create(void)
{
	static const char *const names[NAMES] = { "a", "b", "c", "d", NULL,
		NULL };
	const char *name = names[roll(NAMES)];
	json_t *meta = name != NULL ? session_meta(name) : NULL;
	struct create c = { .type = "base", .meta = meta, .pooled = roll(2) };
	struct asked *a = slot();
	struct err err;

	if (a != NULL)
		a->wait = manager_create(t.m, &c, on_told, a, &err);
	json_decref(meta);
}

static void
do_ready(void)
{
	struct sandbox *sb = any();
	struct asked *a = slot();
	struct err err;

	if (sb != NULL && a != NULL)
		a->wait = manager_ready(t.m, 0, sandbox_record(sb)->id, roll(2),
		    on_told, a, &err);
}

static void
do_forget(void)
{
	struct asked *a = &open_[roll(OPEN)];

	manager_forget(a->wait);
	a->wait = NULL;
}

static void
do_release(void)
{
	struct sandbox *sb = any();

	if (sb != NULL)
		manager_release(t.m, 0, sandbox_record(sb)->id);
}

static void
do_die(void)
{
	unsigned n = fakebroker_count(t.fb);

	if (n > 0)
		fakebroker_end(t.fb, fakebroker_box(t.fb, roll(n)),
		    (int)roll(BROKER_ENDS), 9);
}

static void
do_break(void)
{
	unsigned n = fakebroker_count(t.fb);
	struct fakebox *b = n > 0 ? fakebroker_box(t.fb, roll(n)) : NULL;

	if (b != NULL && b->agent != NULL)
		fakeagent_raw(b->agent, "\xff\xff\xff\xff", 4);
}

static void
do_idle(void)
{
	struct sandbox *sb;

	TAILQ_FOREACH(sb, &t.m->all, all) {
		sb->rec.last_active_at -= roll(2) * 400;
		sb->save_again = 0;
	}
	reap_scan(t.m);
}

static void
do_stop(void)
{
	struct sandbox *sb = any();
	struct asked *a = slot();
	struct err err;

	if (sb == NULL || a == NULL)
		return;
	a->wait = (roll(2) ? manager_stop : manager_start)(t.m, 0,
	    sandbox_record(sb)->id, on_told, a, &err);
}

static void
do_pause(void)
{
	struct sandbox *sb = any();
	struct asked *a = slot();
	struct err err;

	if (sb != NULL && a != NULL)
		a->wait = manager_pause(t.m, sb, roll(2), on_told, a, &err);
}

static void
do_fail(void)
{
	t.fb->fail_builds = roll(3);
	t.fb->silent = false;
}

static void
do_turn(void)
{
	drive_for(t.loop, 1);
}

static void
do_restart(void)
{
	if (roll(8) != 0)
		return;
	restart_front(); /* forgets all that was asked */
	memset(open_, 0, sizeof open_);
}

static void (*const deeds[])(void) = { do_create, do_create, do_create,
	do_ready, do_ready, do_forget, do_release, do_die, do_break, do_idle,
	do_stop, do_pause, do_fail, do_turn, do_turn, do_turn, do_restart };

/* Nothing is on its way any more. */
static bool
settled(void *arg)
{
	struct sandbox *sb;

	(void)arg;
	for (size_t i = 0; i < OPEN; i++)
		if (open_[i].wait != NULL)
			return false;
	TAILQ_FOREACH(sb, &t.m->all, all)
		if (sandbox_alive(sb) && sb->life.state != LIFE_READY &&
		    sb->life.state != LIFE_PAUSED)
			return false;
	return t.m->adopted;
}

/* A box that no record means, or the reverse: named, for who has to find out
 * why. */
static bool
all_are_known(void *arg)
{
	struct sandbox *ghost;

	(void)arg;
	TAILQ_FOREACH(ghost, &t.m->all, all)
		if (sandbox_alive(ghost) &&
		    fakebroker_find(t.fb, ghost->hex) == NULL) {
			print_message("# no box for %s, %s\n", ghost->hex,
			    life_state_name(ghost->life.state));
			return false;
		}
	for (unsigned i = 0; i < fakebroker_count(t.fb); i++) {
		const uint8_t *id = fakebroker_box(t.fb, i)->id;
		struct sandbox *sb = table_find(&t.m->by_key, id, BROKER_ID);
		char hex[2 * BROKER_ID + 1];

		hex_put(hex, id, BROKER_ID);
		if (sb == NULL || !sandbox_alive(sb)) {
			print_message("# stray box %s\n", hex);
			return false;
		}
	}
	return true;
}

static void
check_figures(void)
{
	unsigned by_state[REC_STATES] = { 0 }, alive = 0;
	struct manager_counts c;
	struct sandbox *sb;

	/* Ends are told, and orphans of a front before go, in a moment. */
	assert_true(drive(t.loop, all_are_known, NULL, 8000));
	TAILQ_FOREACH(sb, &t.m->all, all) {
		if (sb->listed)
			by_state[sb->rec.state]++;
		alive += sandbox_alive(sb);
		/* Only these may have a process. */
		if (sandbox_alive(sb))
			assert_true(sb->rec.state == REC_RUNNING ||
			    sb->rec.state == REC_WARM);
		assert_int_equal(sb->holds, 0);
	}
	manager_counts(t.m, &c);
	assert_memory_equal(c.by_state, by_state, sizeof by_state);
	assert_int_equal(t.m->alive, alive);
	assert_int_equal(fakebroker_count(t.fb), alive);
}

static void
storm(uint32_t seed)
{
	json_t *names;

	dice = seed;
	memset(open_, 0, sizeof open_);
	begin();
	t.config->pool_size = seed % 3;
	t.config->max_instances = 12;
	start_manager();
	for (int i = 0; i < 600; i++)
		deeds[roll(sizeof deeds / sizeof *deeds)]();
	t.fb->fail_builds = 0;
	assert_true(drive(t.loop, settled, NULL, 20000));
	check_figures();
	t.config->pool_size = 0;
	manager_cleanup(t.m, -1);
	until_count(0);
	assert_true(drive(t.loop, settled, NULL, 20000));
	check_figures();
	assert_int_equal(t.m->alive, 0);
	names = manager_session_keys(t.m, -1);
	assert_int_equal(json_array_size(names), 0);
	json_decref(names);
	end();
}

static void
leaves_what_the_records_say(void **unused)
{
	/* One takes two seconds; HUTCH_STORMS=100 looks further. */
	const char *more = getenv("HUTCH_STORMS");
	uint32_t n = more != NULL ? (uint32_t)atoi(more) : 1;

	(void)unused;
	for (uint32_t seed = 1; seed <= n; seed++)
		storm(seed * 7919);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_what_the_records_say),
	};

	return cmocka_run_group_tests_name("manager_storm", tests, NULL, NULL);
}
