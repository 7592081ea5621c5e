#include <stddef.h>
#include "tests/lib/drive.h"

static void
expired(void *arg, int what)
{
	bool *over = arg;

	(void)what;
	*over = true;
}

bool
drive(struct loop *l, bool (*so)(void *), void *arg, int ms)
{
	bool over = false;
	struct watch *timer = watch_timer(l, expired, &over);

	watch_arm(timer, ms);
	while (!over && !so(arg))
		loop_turn(l);
	watch_free(timer);
	return so(arg);
}

static bool
is_set(void *arg)
{
	return *(const bool *)arg;
}

bool
drive_flag(struct loop *l, const bool *flag)
{
	return drive(l, is_set, (void *)(uintptr_t)flag, 5000);
}

static bool
never(void *arg)
{
	(void)arg;
	return false;
}

void
drive_for(struct loop *l, int ms)
{
	drive(l, never, NULL, ms);
}
