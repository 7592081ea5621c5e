#include <errno.h>
#include <stdbool.h>
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
#define FOREIGN 0x40000000u /* x32 begins here on x86_64, nothing elsewhere */

enum { RANGES = 256 };

struct out {
	struct sock_filter *at;
	size_t n, room;
};

static void
put(struct out *o, uint16_t code, size_t yes, size_t no, uint32_t k)
{
	if (yes > 255 || no > 255)
		o->n = o->room + 1; /* a jump too far: as if it didn't fit */
	if (o->n < o->room)
		o->at[o->n] =
		    (struct sock_filter){ code, (uint8_t)yes, (uint8_t)no, k };
	o->n++;
}

static void
load(struct out *o, size_t offset)
{
	put(o, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void
answer(struct out *o, uint32_t action)
{
	put(o, BPF_RET | BPF_K, 0, 0, action);
}

/* ---- the rules of a call ---- */

/* Little-endian, as both machines above are. */
static size_t
word_at(unsigned arg)
{
	return offsetof(struct seccomp_data, args) + (arg & 7) * 8 +
	    (arg & RULE_HIGH ? 4 : 0);
}

static size_t
length(const struct rule *r)
{
	size_t n = 1;

	for (size_t i = 0; i < 3 && r->when[i].op != RULE_END; i++)
		n += r->when[i].op == RULE_IS && r->when[i].mask != ~0u ? 3 : 2;
	return n;
}

/* If a condition fails, on to the next rule. */
static void
one_rule(struct out *o, const struct rule *r, uint32_t pass)
{
	size_t end = o->n + length(r);

	for (size_t i = 0; i < 3 && r->when[i].op != RULE_END; i++) {
		const struct rule_if *c = &r->when[i];

		load(o, word_at(c->arg));
		if (c->op == RULE_ANY) {
			put(o, BPF_JMP | BPF_JSET | BPF_K, 0, end - o->n - 1,
			    c->mask);
			continue;
		}
		if (c->mask != ~0u)
			put(o, BPF_ALU | BPF_AND | BPF_K, 0, 0, c->mask);
		put(o, BPF_JMP | BPF_JEQ | BPF_K, 0, end - o->n - 1, c->value);
	}
	if (r->verdict == RULE_PASS)
		answer(o, pass);
	else
		answer(o,
		    SECCOMP_RET_ERRNO |
			(uint32_t)(r->verdict > 0 ? r->verdict : 0));
}

/* ---- ranges ---- */

/* From .from to where the next begins, all numbers have .action, or (then it
 * is one number only) the rules from .rule on. */
struct range {
	uint32_t from, action;
	const struct rule *rule;
};

struct ranges {
	struct range at[RANGES];
	size_t n;
};

static void
add(struct ranges *rs, uint32_t from, uint32_t action, const struct rule *rule)
{
	const struct range *last = rs->n > 0 ? &rs->at[rs->n - 1] : NULL;

	if (last != NULL && last->rule == NULL && rule == NULL &&
	    last->action == action)
		return;
	if (rs->n < RANGES)
		rs->at[rs->n] = (struct range){ from, action, rule };
	rs->n++;
}

static const struct rule *
first_rule(const struct rule *r, size_t n, uint32_t nr)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].nr == (int)nr)
			return &r[i];
	return NULL;
}

static void
divide(const struct verdicts *v, const struct rule *r, size_t n,
    struct ranges *rs)
{
	rs->n = 0;
	for (uint32_t nr = 0; nr <= v->last; nr++)
		add(rs, nr, v->by_nr[nr], first_rule(r, n, nr));
	add(rs, v->last + 1, SECCOMP_RET_ERRNO | ENOSYS, NULL);
	add(rs, FOREIGN, SECCOMP_RET_KILL_PROCESS, NULL);
}

/* ---- the program ---- */

/* A leaf is one instruction: an answer, or a jump that is aimed later. */
static size_t
size_of(size_t n)
{
	return 2 * n - 1;
}

static void
tree(struct out *o, const struct range *r, size_t n)
{
	size_t left = n / 2;

	if (n == 1) {
		if (r->rule != NULL)
			put(o, BPF_JMP | BPF_JA, 0, 0, r->from);
		else
			answer(o, r->action);
		return;
	}
	put(o, BPF_JMP | BPF_JGE | BPF_K, size_of(left), 0, r[left].from);
	tree(o, r, left);
	tree(o, r + left, n - left);
}

static void
aim(struct out *o, size_t tree_end, uint32_t nr)
{
	for (size_t i = 0; i < tree_end && i < o->room; i++)
		if (o->at[i].code == (BPF_JMP | BPF_JA) && o->at[i].jt == 0 &&
		    o->at[i].k == nr) {
			o->at[i].k = (uint32_t)(o->n - i - 1);
			o->at[i].jt =
			    1; /* aimed: not to be taken for another */
			return;
		}
}

static void
blocks(struct out *o, const struct ranges *rs, const struct rule *end)
{
	size_t tree_end = o->n;

	for (size_t i = 0; i < rs->n; i++) {
		const struct rule *r = rs->at[i].rule;

		if (r == NULL)
			continue;
		aim(o, tree_end, rs->at[i].from);
		for (; r < end && r->nr == (int)rs->at[i].from; r++)
			one_rule(o, r, rs->at[i].action);
		answer(o, rs->at[i].action);
	}
	for (size_t i = 0; i < tree_end && i < o->room; i++)
		if (o->at[i].code == (BPF_JMP | BPF_JA))
			o->at[i].jt = 0;
}

size_t
rules_program(const struct verdicts *v, const struct rule *r, size_t n,
    struct sock_filter *out, size_t room)
{
	struct out o = { out, 0, room };
	struct ranges rs;

	divide(v, r, n, &rs);
	if (rs.n > RANGES)
		return room + 1;
	load(&o, offsetof(struct seccomp_data, arch));
	put(&o, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, NATIVE);
	answer(&o, SECCOMP_RET_KILL_PROCESS);
	load(&o, offsetof(struct seccomp_data, nr));
	tree(&o, rs.at, rs.n);
	if (o.n <= room)
		blocks(&o, &rs, r + n);
	return o.n;
}

/* ---- libseccomp's programs ---- */

static size_t
step(const struct sock_filter *f, uint32_t a)
{
	bool yes = false;

	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		yes = a == f->k;
		break;
	case BPF_JGT:
		yes = a > f->k;
		break;
	case BPF_JGE:
		yes = a >= f->k;
		break;
	}
	return yes ? f->jt : f->jf;
}

uint32_t
rules_evaluate(const struct sock_filter *prog, size_t n, int nr)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < n; pc++) {
		const struct sock_filter *f = &prog[pc];

		if (f->code == (BPF_LD | BPF_W | BPF_ABS))
			a = f->k == offsetof(struct seccomp_data, nr)
			    ? (uint32_t)nr
			    : NATIVE;
		else if (BPF_CLASS(f->code) == BPF_JMP)
			pc += step(f, a);
		else if (BPF_CLASS(f->code) == BPF_RET)
			return f->k;
		else
			break;
	}
	return SECCOMP_RET_KILL_PROCESS; /* not a program of the kind */
}
