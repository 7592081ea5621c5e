/*
 * progress: signs of life on standard error while something long goes on.
 *
 * On a terminal one line that changes; elsewhere what goes on, a line every two
 * seconds at most, and none for bytes.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress;

struct progress *progress_new(bool quiet);
void progress_end(struct progress *); /* clears the line, frees */
/* Shown at most five times a second; total 0: not known. */
void progress_bytes(struct progress *, uint64_t done, uint64_t total);
/* A line of its own that stays; detail is cleaned, may be NULL. */
void progress_say(struct progress *, const char *text, const char *detail);
/* What goes on now; cleaned. */
void progress_now(struct progress *, const char *text);

#endif
