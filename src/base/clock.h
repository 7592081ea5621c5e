/*
 * clock: monotonic time in milliseconds, for deadlines; wall time for records.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);                  /* CLOCK_MONOTONIC */
int64_t clock_us(void);                  /* CLOCK_MONOTONIC, microseconds */
double clock_unix(void);                 /* seconds since 1970, with fraction */
int64_t clock_left(int64_t deadline_ms); /* ms until then, never below 0 */

#endif
