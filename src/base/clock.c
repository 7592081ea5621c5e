#include <time.h>
#include "base/clock.h"

int64_t
clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t
clock_ms(void)
{
	return clock_us() / 1000;
}

double
clock_unix(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int64_t
clock_left(int64_t deadline_ms)
{
	int64_t left = deadline_ms - clock_ms();

	return left > 0 ? left : 0;
}
