#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/seccomp.h"
#include "isolator/seccomp_box.h"
#include "isolator/seccomp_own.h"
#include "isolator/seccomp_rule.h"
#include "isolator/spec.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* The newest call that the lists were written against: file_setattr, 6.17. */
enum { LAST_KNOWN = 469 };

/* Newer than Debian 12's libseccomp and headers; the same on all machines. */
static const struct {
	const char *name;
	int nr;
} newer[] = { { "cachestat", 451 }, { "fchmodat2", 452 },
	{ "map_shadow_stack", 453 }, { "futex_wake", 454 },
	{ "futex_wait", 455 }, { "futex_requeue", 456 }, { "mseal", 462 },
	{ "setxattrat", 463 }, { "getxattrat", 464 }, { "listxattrat", 465 },
	{ "removexattrat", 466 }, { "file_getattr", 468 } };

/* ---- rules on arguments ---- */

#define ALL ~0u
#define IS(arg, value)                                                         \
	{                                                                      \
		RULE_IS, arg, ALL, value                                       \
	}
#define IS_MASKED(arg, mask, value)                                            \
	{                                                                      \
		RULE_IS, arg, mask, value                                      \
	}
#define ANY(arg, mask)                                                         \
	{                                                                      \
		RULE_ANY, arg, mask, 0                                         \
	}
#define TYPE(t) IS_MASKED(1, 0xf, t) /* without SOCK_CLOEXEC, _NONBLOCK */
#define NAMESPACES                                                             \
	((unsigned)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |             \
	    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET))
#define ICMP6 58
#define UDP_ULP_ENCAP 100 /* UDP_ENCAP of linux/udp.h */
#define TCP_UPPER 31      /* TCP_ULP */
#define IOC_NSFS 0xb700u
#define IOC_PIDFS 0xff00u

/* clang-format off */
#define RULES_CLONE							\
	{ SYS_clone3,	ENOSYS,	{ { 0 } } }, /* its flags are in memory */	\
	{ SYS_clone,	EPERM,	{ ANY(0, NAMESPACES) } }

#define RULES_SOCKET							\
	{ SYS_socket, RULE_PASS, { IS(0, AF_UNIX) } },			\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET), TYPE(SOCK_STREAM), IS(2, 0) } },		\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET), TYPE(SOCK_STREAM), IS(2, IPPROTO_TCP) } },	\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, 0) } },		\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, IPPROTO_UDP) } },	\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, IPPROTO_ICMP) } },	\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET6), TYPE(SOCK_STREAM), IS(2, 0) } },		\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET6), TYPE(SOCK_STREAM), IS(2, IPPROTO_TCP) } },	\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET6), TYPE(SOCK_DGRAM), IS(2, 0) } },		\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET6), TYPE(SOCK_DGRAM), IS(2, IPPROTO_UDP) } },	\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_INET6), TYPE(SOCK_DGRAM), IS(2, ICMP6) } },	\
	{ SYS_socket, RULE_PASS,					\
	    { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) } },		\
	{ SYS_socket, EPROTONOSUPPORT,	{ IS(0, AF_INET) } },		\
	{ SYS_socket, EPROTONOSUPPORT,	{ IS(0, AF_INET6) } },		\
	{ SYS_socket, EPROTONOSUPPORT,	{ IS(0, AF_NETLINK) } },	\
	{ SYS_socket, EAFNOSUPPORT,	{ { 0 } } },			\
	{ SYS_socketpair, RULE_PASS,	{ IS(0, AF_UNIX) } },		\
	{ SYS_socketpair, EAFNOSUPPORT,	{ { 0 } } }

/* Faking input of a terminal, line disciplines, and namespaces by handle. */
#define RULES_IOCTL							\
	{ SYS_ioctl, EPERM, { IS(1, TIOCSTI) } },			\
	{ SYS_ioctl, EPERM, { IS(1, TIOCLINUX) } },			\
	{ SYS_ioctl, EPERM, { IS(1, TIOCSETD) } },			\
	{ SYS_ioctl, EPERM, { IS(1, TIOCCONS) } },			\
	{ SYS_ioctl, EPERM, { IS_MASKED(1, 0xff00, IOC_NSFS) } },	\
	{ SYS_ioctl, EPERM, { IS_MASKED(1, 0xff00, IOC_PIDFS) } }

#ifdef SYS_setrlimit
#define RULES_SETRLIMIT							\
	{ SYS_setrlimit, RULE_NOTHING, { IS(0, RLIMIT_CORE) } },
#else
#define RULES_SETRLIMIT
#endif

/*
 * Own limits only, but anyone's may be read.  The limit on core dumps stays at
 * 1, the one value at which the kernel starts no handler on the host
 * (rlimit.c); who lowers it to 0, as cautious programs do, is told yes.
 */
#define RULES_PROCESS							\
	{ SYS_prlimit64, RULE_PASS, { IS(2, 0), IS(2 | RULE_HIGH, 0) } },	\
	{ SYS_prlimit64, RULE_NOTHING, { IS(1, RLIMIT_CORE),		\
	    IS(3, 0), IS(3 | RULE_HIGH, 0) } },				\
	{ SYS_prlimit64, EINVAL, { IS(1, RLIMIT_CORE) } },		\
	{ SYS_prlimit64, RULE_PASS, { IS(0, 0) } },			\
	{ SYS_prlimit64, EPERM, { { 0 } } },				\
	RULES_SETRLIMIT							\
	{ SYS_personality, RULE_PASS, { IS(0, 0xffffffffu) } },		\
	{ SYS_personality, RULE_PASS, { IS_MASKED(0, ~0x60008u, 0) } },	\
	{ SYS_personality, EPERM, { { 0 } } }

static const struct rule box_rules[] = {
	RULES_CLONE, RULES_SOCKET, RULES_IOCTL, RULES_PROCESS,
	{ SYS_setsockopt, ENOPROTOOPT,
	    { IS(1, IPPROTO_TCP), IS(2, TCP_UPPER) } },
	{ SYS_setsockopt, ENOPROTOOPT,
	    { IS(1, IPPROTO_UDP), IS(2, UDP_ULP_ENCAP) } },
};
/* clang-format on */

#include "isolator/seccomp_hardened.h"

/* ---- profiles ---- */

struct list {
	const char *const *name;
	size_t n;
};
#define LIST(a)                                                                \
	{                                                                      \
		a, COUNT(a)                                                    \
	}

static const struct {
	struct list list[8];
	const struct rule *rule;
	size_t nrule;
} profiles[PROFILES] = {
	[PROFILE_BOX] = { { LIST(seccomp_files), LIST(seccomp_memory),
			      LIST(seccomp_processes), LIST(seccomp_sockets),
			      LIST(seccomp_xattrs), LIST(seccomp_box_only) },
	    box_rules, COUNT(box_rules) },
	[PROFILE_HARDENED] = { { LIST(seccomp_files), LIST(seccomp_memory),
				   LIST(seccomp_processes),
				   LIST(seccomp_sockets),
				   LIST(seccomp_xattrs) },
	    hardened_rules, COUNT(hardened_rules) },
	[PROFILE_FRONT] = { { LIST(seccomp_start), LIST(seccomp_io),
				LIST(seccomp_front) },
	    own_rules, COUNT(own_rules) },
	[PROFILE_MODEL] = { { LIST(seccomp_start), LIST(seccomp_io),
				LIST(seccomp_front), LIST(seccomp_model) },
	    model_rules, COUNT(model_rules) },
	[PROFILE_FETCH] = { { LIST(seccomp_start), LIST(seccomp_io),
				LIST(seccomp_fetch) },
	    own_rules, COUNT(own_rules) },
};

static int
number(const char *name)
{
	for (size_t i = 0; i < COUNT(newer); i++)
		if (strcmp(newer[i].name, name) == 0)
			return newer[i].nr;
	return seccomp_syscall_resolve_name(name);
}

/* Negative numbers are calls that this machine doesn't have. */
static int
allow(scmp_filter_ctx ctx, const struct list *l, struct err *err)
{
	for (size_t i = 0; i < l->n; i++) {
		int nr = number(l->name[i]), got;

		if (nr == __NR_SCMP_ERROR)
			return err_set(err, ERR_INVALID, "no system call %s",
			    l->name[i]);
		if (nr < 0)
			continue;
		got = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
		if (got < 0 && got != -EEXIST)
			return err_set(err, ERR_SYS, "rule for %s: %s",
			    l->name[i], strerror(-got));
	}
	return 0;
}

static int export(scmp_filter_ctx ctx, struct sock_filter *at, size_t room,
    size_t *n, struct err *err)
{
	auto_fd int fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "export filter");
	*n = (size_t)st.st_size / sizeof *at;
	if (*n > room)
		return err_set(err, ERR_LIMIT, "filter of %zu instructions",
		    *n);
	if (pread(fd, at, *n * sizeof *at, 0) != st.st_size)
		return err_sys(err, "read filter");
	return 0;
}

static int
compile(enum profile p, struct sock_filter *at, size_t room, size_t *n,
    struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int got = 0;

	if (ctx == NULL)
		return err_set(err, ERR_SYS, "libseccomp");
	/* A tree instead of a ladder; not every version has it. */
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < COUNT(profiles[p].list) && got == 0; i++)
		got = allow(ctx, &profiles[p].list[i], err);
	if (got == 0)
		got = export(ctx, at, room, n, err);
	seccomp_release(ctx);
	return got;
}

/* Rules with EXEC_AT where the number of a descriptor belongs. */
static size_t
rules_with(enum profile p, unsigned exec_at, struct rule *out)
{
	size_t n = profiles[p].nrule;

	memcpy(out, profiles[p].rule, n * sizeof *out);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < COUNT(out[i].when); k++)
			if (out[i].when[k].value == EXEC_AT)
				out[i].when[k].value = exec_at;
	return n;
}

/* What the list alone says, number by number. */
static int
by_number(enum profile p, uint32_t *verdict, struct sock_filter *space,
    struct err *err)
{
	size_t n = 0;

	if (compile(p, space, SPEC_FILTER, &n, err) < 0)
		return -1;
	for (int nr = 0; nr <= LAST_KNOWN; nr++)
		verdict[nr] = rules_evaluate(space, n, nr);
	return 0;
}

int
filter_make(enum profile p, unsigned exec_at, struct filter *out,
    struct err *err)
{
	auto_free struct sock_filter *at = xcalloc(SPEC_FILTER, sizeof *at);
	auto_free struct rule *rule =
	    xcalloc(profiles[p].nrule + 1, sizeof *rule);
	uint32_t verdict[LAST_KNOWN + 1];
	const struct verdicts v = { verdict, LAST_KNOWN };
	size_t n;

	if (by_number(p, verdict, at, err) < 0)
		return err_wrap(err, "filter");
	n = rules_program(&v, rule, rules_with(p, exec_at, rule), at,
	    SPEC_FILTER);
	if (n > SPEC_FILTER)
		return err_set(err, ERR_LIMIT, "filter: too many rules");
	out->n = (uint16_t)n;
	out->at = take_ptr(&at);
	return 0;
}

void
filter_free(struct filter *f)
{
	free(f->at);
	*f = (struct filter){ 0 };
}
