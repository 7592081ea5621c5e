#include <errno.h>
#include <stddef.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include "isolator/seccomp_rule.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "seccomp: name this machine"
#endif
#define FOREIGN 0x40000000u /* x32: from here on, on x86_64 */

struct out {
	struct sock_filter *at;
	size_t n, room;
};

static void
put(struct out *o, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	if (o->n < o->room)
		o->at[o->n] = (struct sock_filter){ code, yes, no, k };
	o->n++; /* beyond room: noticed by who asked */
}

static void
load(struct out *o, size_t offset)
{
	put(o, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* Little-endian, as both machines above are. */
static size_t
word_at(unsigned arg)
{
	return offsetof(struct seccomp_data, args) + (arg & 7) * 8 +
	    (arg & RULE_HIGH ? 4 : 0);
}

static unsigned
length(const struct rule *r)
{
	unsigned n = 1;

	for (size_t i = 0; i < 3 && r->when[i].op != RULE_END; i++)
		n += r->when[i].op == RULE_IS && r->when[i].mask != ~0u ? 3 : 2;
	return n;
}

/* A jump over all rules to what follows them is patched in at the end. */
static void
verdict(struct out *o, int code)
{
	if (code == RULE_PASS)
		put(o, BPF_JMP | BPF_JA, 0, 0, 0);
	else
		put(o, BPF_RET | BPF_K, 0, 0,
		    SECCOMP_RET_ERRNO | (uint32_t)code);
}

/* If a condition fails, the next rule begins after `left` more instructions. */
static void
one_rule(struct out *o, const struct rule *r)
{
	size_t end = o->n + length(r);

	for (size_t i = 0; i < 3 && r->when[i].op != RULE_END; i++) {
		const struct rule_if *c = &r->when[i];

		load(o, word_at(c->arg));
		if (c->op == RULE_ANY) {
			put(o, BPF_JMP | BPF_JSET | BPF_K, 0,
			    (uint8_t)(end - o->n - 1), c->mask);
			continue;
		}
		if (c->mask != ~0u)
			put(o, BPF_ALU | BPF_AND | BPF_K, 0, 0, c->mask);
		put(o, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(end - o->n - 1),
		    c->value);
	}
	verdict(o, r->verdict);
}

/* All rules of one call; returns the first that is of another. */
static size_t
one_call(struct out *o, const struct rule *r, size_t i, size_t n)
{
	unsigned span = 1; /* the jump behind the last */
	int nr = r[i].nr;
	size_t end = i;

	for (; end < n && r[end].nr == nr; end++)
		span += length(&r[end]);
	if (span < 256)
		put(o, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)span,
		    (uint32_t)nr);
	else
		o->n = o->room + 1; /* too long for its jump */
	for (; i < end; i++)
		one_rule(o, &r[i]);
	verdict(o, RULE_PASS);
	return end;
}

size_t
rules_program(const struct rule *r, size_t n, unsigned last,
    struct sock_filter *out, size_t room)
{
	struct out o = { out, 0, room };

	load(&o, offsetof(struct seccomp_data, arch));
	put(&o, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE);
	verdict(&o, RULE_PASS);
	load(&o, offsetof(struct seccomp_data, nr));
	put(&o, BPF_JMP | BPF_JGE | BPF_K, 0, 1, FOREIGN);
	verdict(&o, RULE_PASS);
	put(&o, BPF_JMP | BPF_JGT | BPF_K, 0, 1, last);
	verdict(&o, ENOSYS);
	for (size_t i = 0; i < n;)
		i = one_call(&o, r, i, n);
	for (size_t i = 0; i < o.n && i < room; i++)
		if (out[i].code == (BPF_JMP | BPF_JA))
			out[i].k = (uint32_t)(o.n - i - 1);
	return o.n;
}
