/*
 * seccomp_own: what our own front, model and fetcher may call.
 *
 * The front: an event loop over sockets that it was given, SQLite, nothing
 * that makes a socket or a process.  The fetcher: files, in every way that an
 * archive can name them.
 */
#ifndef ISOLATOR_SECCOMP_OWN_H
#define ISOLATOR_SECCOMP_OWN_H

/* clang-format off */
/* What any dynamic program does before and after main(). */
static const char *const seccomp_start[] = {
	"execveat", "brk", "mmap", "munmap", "mprotect", "mremap", "madvise",
	"arch_prctl", "set_tid_address", "set_robust_list", "rseq", "futex",
	"prlimit64", "getrandom", "rt_sigaction", "rt_sigprocmask",
	"rt_sigreturn", "sigaltstack", "exit", "exit_group", "getpid",
	"gettid", "getppid", "tgkill", "getuid", "geteuid", "getgid",
	"getegid", "uname", "sysinfo", "sched_yield", "sched_getaffinity",
	"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep",
	"gettimeofday", "time", "getrusage", "prctl", "membarrier",
	"restart_syscall", "getcpu",
};

static const char *const seccomp_io[] = {
	"access", "faccessat", "faccessat2", "close", "close_range", "dup",
	"dup2", "dup3", "fcntl", "fdatasync", "fsync", "flock", "fstat",
	"newfstatat", "lstat", "stat", "statx", "fstatfs", "statfs",
	"ftruncate", "fallocate", "fadvise64", "getcwd", "getdents64",
	"lseek", "open", "openat", "openat2", "pipe2", "pread64", "preadv",
	"pwrite64", "pwritev", "read", "readv", "write", "writev",
	"readlink", "readlinkat", "rename", "renameat", "renameat2",
	"unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "fchmod",
	"fchmodat", "utimensat", "umask", "ioctl", "poll", "ppoll",
	"select", "pselect6", "memfd_create",
};

static const char *const seccomp_front[] = {
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"epoll_pwait2", "eventfd2", "signalfd4", "timerfd_create",
	"timerfd_settime", "accept4", "getsockname", "getpeername",
	"getsockopt", "setsockopt", "sendto", "sendmsg", "recvfrom",
	"recvmsg", "shutdown", "socketpair", "splice", "tee", "sendfile",
};

/* Besides what the front has: sockets that connect, and libcurl's threads. */
static const char *const seccomp_model[] = {
	"socket", "connect", "bind", "clone", "clone3", "sendmmsg",
	"recvmmsg",
};

static const char *const seccomp_fetch[] = {
	"chdir", "fchdir", "chmod", "fchmodat2", "chown", "fchown", "lchown",
	"fchownat", "link", "linkat", "symlink", "symlinkat", "mknod",
	"mknodat", "truncate", "sync_file_range", "syncfs",
	"copy_file_range", "sendfile", "splice", "utime", "utimes",
	"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr",
	"flistxattr", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
	"lremovexattr", "fremovexattr", "recvmsg", "sendmsg", "recvfrom",
	"sendto", "getsockopt", "setsockopt", "shutdown", "epoll_create1",
	"epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2",
	"timerfd_create", "timerfd_settime", "signalfd4", "socketpair",
};
/* clang-format on */

#endif
