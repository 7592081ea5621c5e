/*
 * raw: system calls for code that runs on borrowed memory.
 *
 * Between clone3(CLONE_VM) and execve a child shares the broker's memory,
 * errno and thread state included, so it may use nothing of libc that writes.
 * These return -errno and touch nothing.
 */
#ifndef ISOLATOR_RAW_H
#define ISOLATOR_RAW_H

#include <stddef.h>
#include <linux/sched.h>
#include <sys/syscall.h>

/* Compiled without what a sanitizer would add: its shadow isn't the child's. */
#define RAW_CODE __attribute__((no_sanitize("address", "undefined")))

#if defined(__x86_64__)

static inline long
raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long got;

	__asm__ volatile("syscall"
			 : "=a"(got)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			 "r"(r9)
			 : "rcx", "r11", "memory");
	return got;
}

/* The child calls fn(arg) on a->stack and exits with what it returns. */
static inline long
raw_clone3(struct clone_args *a, size_t size, int (*fn)(void *), void *arg)
{
	register void *r8 __asm__("r8") = arg;
	register int (*r9)(void *) __asm__("r9") = fn;
	long got;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r8, %%rdi\n\t"
			 "call *%%r9\n\t"
			 "mov %%eax, %%edi\n\t"
			 "mov %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "1:"
			 : "=a"(got)
			 : "0"((long)SYS_clone3), "D"(a), "S"(size), "r"(r8),
			 "r"(r9), [exit] "i"(SYS_exit)
			 : "rcx", "rdx", "r10", "r11", "memory", "cc");
	return got;
}

#elif defined(__aarch64__)

static inline long
raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

static inline long
raw_clone3(struct clone_args *a, size_t size, int (*fn)(void *), void *arg)
{
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)a;
	register long x1 __asm__("x1") = (long)size;
	register void *x2 __asm__("x2") = arg;
	register int (*x3)(void *) __asm__("x3") = fn;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, x2\n\t"
			 "blr x3\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc #0\n\t"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2),
			 "r"(x3), [exit] "i"(SYS_exit)
			 : "x30", "memory", "cc");
	return x0;
}

#else
#error "hutch needs a few lines for this machine: see isolator/raw.h"
#endif

#define RAW_1(nr, a) raw6(nr, (long)(a), 0, 0, 0, 0, 0)
#define RAW_2(nr, a, b) raw6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW_3(nr, a, b, c) raw6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW_5(nr, a, b, c, d, e)                                               \
	raw6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif
