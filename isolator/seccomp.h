/*
 * seccomp: which system calls a profile has, as a program for the kernel.
 *
 * A profile is a list of names (seccomp_*.h) and a table of rules on
 * arguments.  libseccomp compiles the list; what it says to each number is then
 * condensed, and the rules are added (seccomp_rule.h), because libseccomp can't
 * say "allowed unless" of 32-bit arguments whose upper halves the kernel
 * ignores.  Made once, at start, in the broker; installed as is by the stage.
 *
 * Verdicts: a call that the list lacks is EPERM, a number that
 * nobody knew when this was written ENOSYS, a foreign ABI the end.
 */
#ifndef ISOLATOR_SECCOMP_H
#define ISOLATOR_SECCOMP_H

#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>
#include "isolator/backend.h"

struct err;

struct filter {
	struct sock_filter *at; /* yours: filter_free */
	uint16_t n;
};

/* exec_at: the one descriptor whose execveat() the front and the fetcher are
 * permitted, on their way in. */
int filter_make(enum profile, unsigned exec_at, struct filter *, struct err *);
void filter_free(struct filter *);

#endif
