/*
 * seccomp_rule: a verdict for each number and rules on arguments, as a program
 * that is quick to load and to walk.
 *
 * The kernel compiles a filter and walks it once for every number there is,
 * each time one is installed; that is a good part of a sandbox's start.  So
 * the numbers become a binary tree over ranges of equal verdicts, a third of
 * the instructions that one test for each call would be.
 *
 * All rules of one call stand together; the first whose conditions all hold
 * decides.  A condition looks at 32 bits of an argument, because that is what
 * the kernel looks at where flags, commands and families are concerned; upper
 * halves are there to be set by an attacker.
 */
#ifndef ISOLATOR_SECCOMP_RULE_H
#define ISOLATOR_SECCOMP_RULE_H

#include <stddef.h>
#include <stdint.h>
#include <linux/filter.h>

enum rule_op {
	RULE_END, /* no further condition */
	RULE_IS,  /* (word & mask) == value */
	RULE_ANY, /* (word & mask) != 0 */
};

struct rule_if {
	enum rule_op op;
	unsigned arg; /* 0..5; + RULE_HIGH: its upper half */
	uint32_t mask, value;
};
#define RULE_HIGH 8u

#define RULE_PASS 0     /* verdict: what the number alone has */
#define RULE_NOTHING -1 /* success, and nothing is done */

struct rule {
	int nr;
	int verdict; /* RULE_PASS, RULE_NOTHING or an errno */
	struct rule_if when[3];
};

/* SECCOMP_RET_* by number, 0..last; beyond it nobody knows: ENOSYS. */
struct verdicts {
	const uint32_t *by_nr;
	unsigned last;
};

/* Returns how many instructions; more than room: it did not fit. */
size_t rules_program(const struct verdicts *, const struct rule *, size_t n,
    struct sock_filter *out, size_t room);

/* What prog, which looks at the number only, says to nr on this machine. */
uint32_t rules_evaluate(const struct sock_filter *prog, size_t n, int nr);

#endif
