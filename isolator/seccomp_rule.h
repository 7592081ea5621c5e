/*
 * seccomp_rule: rules on arguments, and their program.
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

#define RULE_PASS 0 /* verdict: on to the list of names */

struct rule {
	int nr;
	int verdict; /* RULE_PASS or an errno */
	struct rule_if when[3];
};

/* Bytecode for them; returns how many instructions, at most room.  Numbers
 * above last are ENOSYS, those of another ABI are left to what follows. */
size_t rules_program(const struct rule *, size_t n, unsigned last,
    struct sock_filter *out, size_t room);

#endif
