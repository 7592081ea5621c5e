/*
 * seccomp_hardened: the rules of the profile hardened, and of our own
 * processes.  The lever is arguments, not names: what is left of each call is
 * what real work was seen to use.  Included by seccomp.c only, whose macros it
 * uses.
 */
#ifndef ISOLATOR_SECCOMP_HARDENED_H
#define ISOLATOR_SECCOMP_HARDENED_H

/* clang-format off */
#define ONE(call, arg, value) { SYS_##call, RULE_PASS, { IS(arg, value) } }
#define TWO(call, a, v, b, w) { SYS_##call, RULE_PASS, { IS(a, v), IS(b, w) } }
#define REST(call, code)      { SYS_##call, code, { { 0 } } }
#define OPTION(level, name)   TWO(setsockopt, 1, level, 2, name)
#define NO_FLAGS(call, arg)						\
	{ SYS_##call, EOPNOTSUPP,					\
	    { ANY(arg, MSG_OOB | MSG_ZEROCOPY) } }

static const struct rule hardened_rules[] = {
	RULES_CLONE, RULES_PROCESS,

	{ SYS_socket, EPROTONOSUPPORT,
	    { IS(0, AF_INET), TYPE(SOCK_DGRAM), IS(2, IPPROTO_ICMP) } },
	{ SYS_socket, EPROTONOSUPPORT,
	    { IS(0, AF_INET6), TYPE(SOCK_DGRAM), IS(2, ICMP6) } },
	RULES_SOCKET,

	OPTION(SOL_SOCKET, SO_REUSEADDR), OPTION(SOL_SOCKET, SO_REUSEPORT),
	OPTION(SOL_SOCKET, SO_KEEPALIVE), OPTION(SOL_SOCKET, SO_BROADCAST),
	OPTION(SOL_SOCKET, SO_SNDBUF), OPTION(SOL_SOCKET, SO_RCVBUF),
	OPTION(SOL_SOCKET, SO_LINGER), OPTION(SOL_SOCKET, SO_PASSCRED),
	OPTION(SOL_SOCKET, SO_RCVTIMEO_OLD), OPTION(SOL_SOCKET, SO_SNDTIMEO_OLD),
	OPTION(IPPROTO_TCP, TCP_NODELAY), OPTION(IPPROTO_TCP, TCP_CORK),
	OPTION(IPPROTO_TCP, TCP_KEEPIDLE), OPTION(IPPROTO_TCP, TCP_KEEPINTVL),
	OPTION(IPPROTO_TCP, TCP_KEEPCNT), OPTION(IPPROTO_TCP, TCP_QUICKACK),
	OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT), OPTION(IPPROTO_TCP, TCP_FASTOPEN),
	OPTION(IPPROTO_IP, IP_TOS), OPTION(IPPROTO_IP, IP_TTL),
	OPTION(IPPROTO_IP, IP_RECVERR), OPTION(IPPROTO_IP, IP_MTU_DISCOVER),
	OPTION(IPPROTO_IP, IP_MULTICAST_TTL), OPTION(IPPROTO_IP, IP_MULTICAST_IF),
	OPTION(IPPROTO_IP, IP_MULTICAST_LOOP),
	OPTION(IPPROTO_IP, IP_ADD_MEMBERSHIP),
	OPTION(IPPROTO_IPV6, IPV6_V6ONLY), OPTION(IPPROTO_IPV6, IPV6_RECVERR),
	REST(setsockopt, ENOPROTOOPT),

	NO_FLAGS(sendto, 3), NO_FLAGS(sendmsg, 2), NO_FLAGS(sendmmsg, 3),
	NO_FLAGS(recvfrom, 3), NO_FLAGS(recvmsg, 2), NO_FLAGS(recvmmsg, 3),

	/* cp, shutil, git and pip fall back by themselves. */
	REST(splice, ENOSYS), REST(vmsplice, ENOSYS), REST(tee, ENOSYS),
	REST(sendfile, ENOSYS), REST(copy_file_range, ENOSYS),
	{ SYS_pipe2, EINVAL, { ANY(1, O_EXCL) } }, /* a notification pipe */

	ONE(fcntl, 1, F_DUPFD), ONE(fcntl, 1, F_DUPFD_CLOEXEC),
	ONE(fcntl, 1, F_GETFD), ONE(fcntl, 1, F_SETFD),
	ONE(fcntl, 1, F_GETFL), ONE(fcntl, 1, F_SETFL),
	ONE(fcntl, 1, F_GETLK), ONE(fcntl, 1, F_SETLK),
	ONE(fcntl, 1, F_SETLKW), ONE(fcntl, 1, F_OFD_GETLK),
	ONE(fcntl, 1, F_OFD_SETLK), ONE(fcntl, 1, F_OFD_SETLKW),
	ONE(fcntl, 1, F_GETPIPE_SZ), ONE(fcntl, 1, F_ADD_SEALS),
	ONE(fcntl, 1, F_GET_SEALS), REST(fcntl, EINVAL),

	/* WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_ and WAKE_BITSET */
	{ SYS_futex, RULE_PASS, { IS_MASKED(1, 0x7e, 0) } },
	{ SYS_futex, RULE_PASS, { IS_MASKED(1, 0x7f, 3) } },
	{ SYS_futex, RULE_PASS, { IS_MASKED(1, 0x7e, 4) } },
	{ SYS_futex, RULE_PASS, { IS_MASKED(1, 0x7f, 9) } },
	{ SYS_futex, RULE_PASS, { IS_MASKED(1, 0x7f, 10) } },
	REST(futex, ENOSYS),

	ONE(ioctl, 1, TCGETS), ONE(ioctl, 1, TCSETS), ONE(ioctl, 1, TCSETSW),
	ONE(ioctl, 1, TCSETSF), ONE(ioctl, 1, TCSBRK), ONE(ioctl, 1, TCXONC),
	ONE(ioctl, 1, TCFLSH), ONE(ioctl, 1, TIOCSCTTY),
	ONE(ioctl, 1, TIOCNOTTY), ONE(ioctl, 1, TIOCGPGRP),
	ONE(ioctl, 1, TIOCSPGRP), ONE(ioctl, 1, TIOCGWINSZ),
	ONE(ioctl, 1, TIOCSWINSZ), ONE(ioctl, 1, TIOCGPTN),
	ONE(ioctl, 1, TIOCSPTLCK), ONE(ioctl, 1, TIOCGPTPEER),
	ONE(ioctl, 1, FIONREAD), ONE(ioctl, 1, FIONBIO),
	ONE(ioctl, 1, FIOCLEX), ONE(ioctl, 1, FIONCLEX),
	ONE(ioctl, 1, SIOCGIFNAME), ONE(ioctl, 1, SIOCGIFCONF),
	ONE(ioctl, 1, SIOCGIFFLAGS), ONE(ioctl, 1, SIOCGIFADDR),
	ONE(ioctl, 1, SIOCGIFBRDADDR), ONE(ioctl, 1, SIOCGIFNETMASK),
	ONE(ioctl, 1, SIOCGIFMTU), ONE(ioctl, 1, SIOCGIFHWADDR),
	ONE(ioctl, 1, SIOCGIFINDEX), REST(ioctl, ENOTTY),

	ONE(prctl, 0, PR_SET_NAME), ONE(prctl, 0, PR_GET_NAME),
	ONE(prctl, 0, PR_SET_PDEATHSIG), ONE(prctl, 0, PR_GET_PDEATHSIG),
	ONE(prctl, 0, PR_SET_DUMPABLE), ONE(prctl, 0, PR_GET_DUMPABLE),
	ONE(prctl, 0, PR_SET_NO_NEW_PRIVS), ONE(prctl, 0, PR_GET_NO_NEW_PRIVS),
	ONE(prctl, 0, PR_CAPBSET_READ), ONE(prctl, 0, PR_SET_THP_DISABLE),
	ONE(prctl, 0, PR_GET_THP_DISABLE), ONE(prctl, 0, PR_SET_TIMERSLACK),
	ONE(prctl, 0, PR_GET_TIMERSLACK), ONE(prctl, 0, PR_SET_VMA),
	ONE(prctl, 0, PR_SET_CHILD_SUBREAPER),
	ONE(prctl, 0, PR_GET_CHILD_SUBREAPER), REST(prctl, EINVAL),

	ONE(setitimer, 0, ITIMER_REAL), REST(setitimer, EINVAL),
	ONE(timer_create, 0, CLOCK_REALTIME),
	ONE(timer_create, 0, CLOCK_MONOTONIC),
	ONE(timer_create, 0, CLOCK_BOOTTIME), REST(timer_create, EINVAL),

#ifdef SYS_mknod
	{ SYS_mknod, RULE_PASS, { IS_MASKED(1, S_IFMT, S_IFIFO) } },
	{ SYS_mknod, RULE_PASS, { IS_MASKED(1, S_IFMT, S_IFREG) } },
	{ SYS_mknod, RULE_PASS, { IS_MASKED(1, S_IFMT, S_IFSOCK) } },
	{ SYS_mknod, RULE_PASS, { IS_MASKED(1, S_IFMT, 0) } },
	REST(mknod, EPERM),
#endif
	{ SYS_mknodat, RULE_PASS, { IS_MASKED(2, S_IFMT, S_IFIFO) } },
	{ SYS_mknodat, RULE_PASS, { IS_MASKED(2, S_IFMT, S_IFREG) } },
	{ SYS_mknodat, RULE_PASS, { IS_MASKED(2, S_IFMT, S_IFSOCK) } },
	{ SYS_mknodat, RULE_PASS, { IS_MASKED(2, S_IFMT, 0) } },
	REST(mknodat, EPERM),

	/* Not ENOSYS: ls -l and copy2() complain then. */
	REST(getxattr, EOPNOTSUPP), REST(lgetxattr, EOPNOTSUPP),
	REST(fgetxattr, EOPNOTSUPP), REST(listxattr, EOPNOTSUPP),
	REST(llistxattr, EOPNOTSUPP), REST(flistxattr, EOPNOTSUPP),
	REST(setxattr, EOPNOTSUPP), REST(lsetxattr, EOPNOTSUPP),
	REST(fsetxattr, EOPNOTSUPP), REST(removexattr, EOPNOTSUPP),
	REST(lremovexattr, EOPNOTSUPP), REST(fremovexattr, EOPNOTSUPP),
};

/* Replaced by the number of the descriptor that is executed. */
#define EXEC_AT 0xec5ec5ecu

#define RULES_OWN							\
	TWO(execveat, 0, EXEC_AT, 4, AT_EMPTY_PATH), REST(execveat, EPERM), \
	ONE(prlimit64, 0, 0), REST(prlimit64, EPERM),			\
	ONE(socketpair, 0, AF_UNIX), REST(socketpair, EAFNOSUPPORT),	\
	ONE(ioctl, 1, TCGETS), ONE(ioctl, 1, FIONBIO), ONE(ioctl, 1, FIONREAD), \
	ONE(ioctl, 1, FIOCLEX), REST(ioctl, ENOTTY),			\
	ONE(prctl, 0, PR_SET_NAME), ONE(prctl, 0, PR_GET_NAME),		\
	ONE(prctl, 0, PR_SET_PDEATHSIG), ONE(prctl, 0, PR_SET_DUMPABLE), \
	ONE(prctl, 0, PR_GET_DUMPABLE), ONE(prctl, 0, PR_SET_VMA),	\
	ONE(prctl, 0, PR_CAPBSET_READ), REST(prctl, EINVAL)

static const struct rule own_rules[] = {
	RULES_OWN,
};

/* Threads and no processes; no socket that could reach a name of the host's
 * own, which abstract ones would be in its network. */
static const struct rule model_rules[] = {
	RULES_OWN,
	{ SYS_clone3, ENOSYS, { { 0 } } },
	{ SYS_clone, RULE_PASS,
	    { IS_MASKED(0, NAMESPACES | CLONE_THREAD, CLONE_THREAD) } },
	{ SYS_clone, EPERM, { { 0 } } },
	{ SYS_socket, RULE_PASS, { IS(0, AF_INET), TYPE(SOCK_STREAM) } },
	{ SYS_socket, RULE_PASS, { IS(0, AF_INET), TYPE(SOCK_DGRAM) } },
	{ SYS_socket, RULE_PASS, { IS(0, AF_INET6), TYPE(SOCK_STREAM) } },
	{ SYS_socket, RULE_PASS, { IS(0, AF_INET6), TYPE(SOCK_DGRAM) } },
	{ SYS_socket, RULE_PASS,
	    { IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE) } },
	{ SYS_socket, EAFNOSUPPORT, { { 0 } } },
};
/* clang-format on */

#endif
