#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "isolator/seccomp.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

enum { EXEC_AT = 1000, KILL = -1, STRANGE = -2, NOTHING = -3 };

static struct filter filters[PROFILES];

/* ---- what the kernel would do with the program ---- */

static uint32_t
jump(const struct sock_filter *f, uint32_t a)
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
	case BPF_JSET:
		yes = (a & f->k) != 0;
		break;
	}
	return yes ? f->jt : f->jf;
}

static uint32_t
run(const struct filter *p, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (uint32_t pc = 0; pc < p->n; pc++) {
		const struct sock_filter *f = &p->at[pc];

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			assert_true(f->k <= sizeof *d - 4);
			memcpy(&a, (const char *)d + f->k, 4);
			break;
		case BPF_ALU:
			assert_int_equal(BPF_OP(f->code), BPF_AND);
			a &= f->k;
			break;
		case BPF_JMP:
			pc += jump(f, a);
			break;
		case BPF_RET:
			return f->k;
		default:
			fail();
		}
	}
	fail(); /* fell off the end */
	return 0;
}

/* 0: allowed; an errno; KILL */
static int
verdict(enum profile p, uint32_t arch, int nr, const uint64_t arg[6])
{
	struct seccomp_data d = { .nr = nr, .arch = arch };
	uint32_t got;

	memcpy(d.args, arg, sizeof d.args);
	got = run(&filters[p], &d);
	if (got == SECCOMP_RET_ALLOW)
		return 0;
	if (got == SECCOMP_RET_KILL_PROCESS)
		return KILL;
	if (got == SECCOMP_RET_ERRNO)
		return NOTHING;
	if ((got & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
		return (int)(got & SECCOMP_RET_DATA);
	return STRANGE;
}

#define ARGS(...)                                                              \
	(const uint64_t[6])                                                    \
	{                                                                      \
		__VA_ARGS__                                                    \
	}
#define BOX(nr, ...) verdict(PROFILE_BOX, NATIVE, SYS_##nr, ARGS(__VA_ARGS__))
#define HARD(nr, ...)                                                          \
	verdict(PROFILE_HARDENED, NATIVE, SYS_##nr, ARGS(__VA_ARGS__))
#define FRONT(nr, ...)                                                         \
	verdict(PROFILE_FRONT, NATIVE, SYS_##nr, ARGS(__VA_ARGS__))
#define HIGH UINT64_C(0xdeadbeef00000000)

static int
make_all(void **unused)
{
	struct err err;

	(void)unused;
	for (int p = 0; p < PROFILES; p++)
		if (filter_make((enum profile)p, EXEC_AT, &filters[p], &err) <
		    0) {
			print_error("%s\n", err.text);
			return -1;
		}
	return 0;
}

static int
free_all(void **unused)
{
	(void)unused;
	for (int p = 0; p < PROFILES; p++)
		filter_free(&filters[p]);
	return 0;
}

/* ---- what is promised ---- */

static void
every_profile_is_sound(void **unused)
{
	(void)unused;
	for (int p = 0; p < PROFILES; p++) {
		assert_in_range(filters[p].n, 20, BPF_MAXINSNS);
		for (int i = 0; i < filters[p].n; i++) {
			const struct sock_filter *f = &filters[p].at[i];

			if (BPF_CLASS(f->code) == BPF_RET)
				assert_int_not_equal(f->k &
					SECCOMP_RET_ACTION_FULL,
				    SECCOMP_RET_USER_NOTIF);
		}
		assert_int_equal(verdict((enum profile)p, NATIVE, SYS_read,
				     ARGS(0)),
		    0);
		assert_int_equal(verdict((enum profile)p, NATIVE, 4000,
				     ARGS(0)),
		    ENOSYS);
		assert_int_equal(verdict((enum profile)p, NATIVE, 470, ARGS(0)),
		    ENOSYS);
		assert_int_equal(verdict((enum profile)p, NATIVE, SYS_mount,
				     ARGS(0)),
		    EPERM);
		/* i386, and x32 on x86_64 */
		assert_int_equal(verdict((enum profile)p, AUDIT_ARCH_I386, 3,
				     ARGS(0)),
		    KILL);
#if defined(__x86_64__)
		assert_int_equal(verdict((enum profile)p, NATIVE, 0x40000000,
				     ARGS(0)),
		    KILL);
#endif
	}
}

static void
namespaces_and_mounts_are_refused(void **unused)
{
	static const int nr[] = { SYS_unshare, SYS_setns, SYS_mount,
		SYS_umount2, SYS_pivot_root, SYS_fsopen, SYS_fsconfig,
		SYS_fsmount, SYS_fspick, SYS_open_tree, SYS_move_mount,
		SYS_mount_setattr, 467, 457, 458, SYS_bpf, SYS_keyctl,
		SYS_add_key, SYS_request_key, SYS_perf_event_open,
		SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter,
		SYS_init_module, SYS_finit_module, SYS_kexec_load,
		SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_swapon,
		SYS_reboot, SYS_acct, SYS_quotactl, SYS_syslog,
		SYS_clock_settime, SYS_settimeofday, SYS_pidfd_getfd, SYS_kcmp,
		SYS_mbind, SYS_fanotify_init, SYS_sethostname };

	(void)unused;
	for (size_t i = 0; i < sizeof nr / sizeof *nr; i++)
		for (int p = 0; p < PROFILES; p++)
			assert_int_equal(verdict((enum profile)p, NATIVE, nr[i],
					     ARGS(0)),
			    EPERM);
}

static void
clone_shows_its_flags(void **unused)
{
	(void)unused;
	assert_int_equal(BOX(clone3, 0), ENOSYS);
	assert_int_equal(BOX(clone, 17), 0);
	assert_int_equal(BOX(clone, 0x3d0f00), 0); /* a thread */
	for (int bit = 0; bit < 32; bit++) {
		uint64_t flag = UINT64_C(1) << bit;
		int want = flag & 0x7e020000 ? EPERM : 0;

		assert_int_equal(BOX(clone, flag), want);
		assert_int_equal(BOX(clone, HIGH | flag), want);
		assert_int_equal(HARD(clone, flag), want);
	}
}

static void
sockets_are_of_few_families(void **unused)
{
	(void)unused;
	for (unsigned family = 0; family < 64; family++) {
		int want =
		    family == AF_UNIX || family == AF_INET || family == AF_INET6
		    ? 0
		    : family == AF_NETLINK ? 0
					   : EAFNOSUPPORT;

		assert_int_equal(BOX(socket, family, SOCK_STREAM, 0), want);
		assert_int_equal(BOX(socket, HIGH | family, SOCK_STREAM, 0),
		    want);
	}
	assert_int_equal(BOX(socket, 1u << 31, SOCK_STREAM), EAFNOSUPPORT);
	assert_int_equal(BOX(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 17),
	    0);
	assert_int_equal(BOX(socket, AF_INET, SOCK_DGRAM, 1), 0); /* ping */
	assert_int_equal(HARD(socket, AF_INET, SOCK_DGRAM, 1), EPROTONOSUPPORT);
	assert_int_equal(BOX(socket, AF_INET, SOCK_RAW, 1), EPROTONOSUPPORT);
	assert_int_equal(BOX(socket, AF_INET, SOCK_STREAM, 132),
	    EPROTONOSUPPORT);
	for (unsigned proto = 1; proto < 32; proto++)
		assert_int_equal(BOX(socket, AF_NETLINK, SOCK_RAW, proto),
		    EPROTONOSUPPORT);
	assert_int_equal(BOX(socketpair, AF_UNIX, SOCK_STREAM), 0);
	assert_int_equal(BOX(socketpair, 30, SOCK_STREAM), EAFNOSUPPORT);
}

static void
terminals_take_no_faked_input(void **unused)
{
	(void)unused;
	assert_int_equal(BOX(ioctl, 0, TCGETS), 0);
	assert_int_equal(BOX(ioctl, 0, TIOCSTI), EPERM);
	assert_int_equal(BOX(ioctl, 0, HIGH | TIOCSTI), EPERM);
	assert_int_equal(BOX(ioctl, 0, TIOCLINUX), EPERM);
	assert_int_equal(BOX(ioctl, 0, TIOCSETD), EPERM);
	assert_int_equal(BOX(ioctl, 0, 0xb701), EPERM); /* NS_GET_USERNS */
	assert_int_equal(HARD(ioctl, 0, TIOCSTI), ENOTTY);
	assert_int_equal(HARD(ioctl, 0, HIGH | TCGETS), 0);
}

static void
limits_of_others_are_read_only(void **unused)
{
	(void)unused;
	assert_int_equal(BOX(prlimit64, 0, 7, 0x1000, 0), 0);
	assert_int_equal(BOX(prlimit64, 1, 7, 0, 0x1000), 0);
	assert_int_equal(BOX(prlimit64, 1, 7, 0x1000, 0), EPERM);
	assert_int_equal(BOX(prlimit64, 1, 7, HIGH, 0), EPERM);
	assert_int_equal(BOX(prlimit64, HIGH, 7, 0x1000, 0), 0);
	/* core dumps: "yes", and the filter, not the kernel, says it */
	assert_int_equal(BOX(prlimit64, 0, 4, 0x1000, 0), NOTHING);
	assert_int_equal(BOX(prlimit64, 0, HIGH | 4, 0x1000, 0), NOTHING);
	assert_int_equal(BOX(prlimit64, 0, 4, 0x1000, 0x2000), EINVAL);
	assert_int_equal(BOX(prlimit64, 0, 4, 0, 0x2000), 0);
#ifdef SYS_setrlimit
	assert_int_equal(BOX(setrlimit, 4, 0x1000), NOTHING);
	assert_int_equal(BOX(setrlimit, 7, 0x1000), 0);
#endif
	assert_int_equal(BOX(personality, 0xffffffff), 0);
	assert_int_equal(BOX(personality, 0x40000), 0);
	assert_int_equal(BOX(personality, 0x400000), EPERM);
}

static void
hardened_knows_arguments(void **unused)
{
	(void)unused;
	assert_int_equal(HARD(splice, 0), ENOSYS);
	assert_int_equal(BOX(splice, 0), 0);
	assert_int_equal(HARD(fcntl, 0, F_SETPIPE_SZ), EINVAL);
	assert_int_equal(HARD(fcntl, 0, F_SETLK), 0);
	assert_int_equal(HARD(futex, 0, 128 | 1), 0);
	assert_int_equal(HARD(futex, 0, 9 | 256), 0);
	for (int pi = 6; pi <= 8; pi++)
		assert_int_equal(HARD(futex, 0, (unsigned)pi), ENOSYS);
	assert_int_equal(HARD(futex, 0, 2), ENOSYS);
	assert_int_equal(HARD(futex, 0, 11), ENOSYS);
	assert_int_equal(HARD(sendto, 0, 0, 0, MSG_OOB), EOPNOTSUPP);
	assert_int_equal(HARD(sendto, 0, 0, 0, MSG_NOSIGNAL), 0);
	assert_int_equal(HARD(recvmsg, 0, 0, HIGH | MSG_OOB), EOPNOTSUPP);
	assert_int_equal(HARD(setsockopt, 0, 6, 31), ENOPROTOOPT);
	assert_int_equal(BOX(setsockopt, 0, 6, 31), ENOPROTOOPT);
	assert_int_equal(HARD(setsockopt, 0, 6, 1), 0);
	assert_int_equal(HARD(setsockopt, 0, SOL_SOCKET, 26), ENOPROTOOPT);
	assert_int_equal(HARD(getxattr, 0), EOPNOTSUPP);
	assert_int_equal(HARD(ptrace, 0), EPERM);
	assert_int_equal(HARD(mknodat, 0, 0, S_IFCHR | 0600), EPERM);
	assert_int_equal(HARD(mknodat, 0, 0, S_IFIFO | 0600), 0);
	assert_int_equal(HARD(prctl, PR_SET_NAME), 0);
	assert_int_equal(HARD(prctl, PR_SET_MM), EINVAL);
	assert_int_equal(HARD(timer_create, 2), EINVAL);
	assert_int_equal(HARD(pipe2, 0, O_EXCL), EINVAL);
	assert_int_equal(HARD(pipe2, 0, O_CLOEXEC), 0);
}

static void
the_front_makes_nothing(void **unused)
{
	(void)unused;
	assert_int_equal(FRONT(socket, AF_INET, SOCK_STREAM), EPERM);
	assert_int_equal(FRONT(clone, 17), EPERM);
	assert_int_equal(FRONT(execve, 0), EPERM);
	assert_int_equal(FRONT(execveat, 3, 0, 0, 0, AT_EMPTY_PATH), EPERM);
	assert_int_equal(FRONT(execveat, EXEC_AT, 0, 0, 0, AT_EMPTY_PATH), 0);
	assert_int_equal(FRONT(execveat, EXEC_AT, 0, 0, 0, 0), EPERM);
	assert_int_equal(FRONT(ptrace, 0), EPERM);
	assert_int_equal(FRONT(accept4, 0), 0);
	assert_int_equal(FRONT(recvmsg, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_profile_is_sound),
		cmocka_unit_test(namespaces_and_mounts_are_refused),
		cmocka_unit_test(clone_shows_its_flags),
		cmocka_unit_test(sockets_are_of_few_families),
		cmocka_unit_test(terminals_take_no_faked_input),
		cmocka_unit_test(limits_of_others_are_read_only),
		cmocka_unit_test(hardened_knows_arguments),
		cmocka_unit_test(the_front_makes_nothing),
	};

	return cmocka_run_group_tests_name("seccomp", tests, make_all,
	    free_all);
}
