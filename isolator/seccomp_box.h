/*
 * seccomp_box: what programs in a sandbox may call.
 *
 * What is left out, by family: namespaces and mounts, modules and kexec, bpf,
 * perf, io_uring, userfaultfd, keys, clocks that are the machine's, NUMA
 * policy, port i/o, swap, accounting, quota, file handles, the kernel's log.
 * ptrace is in, for debuggers: the agent is not dumpable.
 */
#ifndef ISOLATOR_SECCOMP_BOX_H
#define ISOLATOR_SECCOMP_BOX_H

/* Kept apart: every profile below has these, and hardened takes some away. */
/* clang-format off */
static const char *const seccomp_files[] = {
	"access", "faccessat", "faccessat2", "chdir", "fchdir", "chmod",
	"fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown",
	"fchownat", "close", "close_range", "creat", "dup", "dup2", "dup3",
	"fallocate", "fadvise64", "fcntl", "fdatasync", "fsync", "syncfs",
	"sync", "sync_file_range", "flock", "fstat", "newfstatat", "lstat",
	"stat", "statx", "fstatfs", "statfs", "ftruncate", "truncate",
	"getcwd", "getdents", "getdents64", "link", "linkat", "lseek",
	"mkdir", "mkdirat", "mknod", "mknodat", "open", "openat", "openat2",
	"pipe", "pipe2", "pread64", "preadv", "preadv2", "pwrite64",
	"pwritev", "pwritev2", "read", "readv", "write", "writev",
	"readahead", "readlink", "readlinkat", "rename", "renameat",
	"renameat2", "rmdir", "symlink", "symlinkat", "unlink", "unlinkat",
	"umask", "utime", "utimes", "utimensat", "futimesat", "ioctl",
	"select", "pselect6", "poll", "ppoll", "epoll_create",
	"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
	"epoll_pwait2", "epoll_ctl_old", "epoll_wait_old", "eventfd",
	"eventfd2", "signalfd", "signalfd4", "timerfd_create",
	"timerfd_settime", "timerfd_gettime", "inotify_init",
	"inotify_init1", "inotify_add_watch", "inotify_rm_watch",
	"file_getattr",
};

static const char *const seccomp_memory[] = {
	"brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "mincore",
	"mlock", "mlock2", "mlockall", "munlock", "munlockall", "msync",
	"memfd_create", "membarrier", "pkey_alloc", "pkey_free",
	"pkey_mprotect", "mseal", "map_shadow_stack", "remap_file_pages",
	"cachestat", "process_madvise",
};

static const char *const seccomp_processes[] = {
	"clone", "fork", "vfork", "execve", "execveat", "exit", "exit_group",
	"wait4", "waitid", "kill", "tkill", "tgkill", "rt_sigqueueinfo",
	"rt_tgsigqueueinfo", "getpid", "gettid", "getppid", "getpgid",
	"setpgid", "getpgrp", "getsid", "setsid", "getuid", "geteuid",
	"getgid", "getegid", "setuid", "setgid", "setreuid", "setregid",
	"setresuid", "setresgid", "getresuid", "getresgid", "setfsuid",
	"setfsgid", "getgroups", "setgroups", "capget", "capset", "prctl",
	"arch_prctl", "personality", "getrlimit", "setrlimit", "prlimit64",
	"getrusage", "times", "uname", "sysinfo", "getcpu", "getpriority",
	"setpriority", "ioprio_get", "ioprio_set", "sched_yield",
	"sched_getaffinity", "sched_setaffinity", "sched_getattr",
	"sched_setattr", "sched_getparam", "sched_setparam",
	"sched_getscheduler", "sched_setscheduler", "sched_get_priority_max",
	"sched_get_priority_min", "sched_rr_get_interval",
	"set_tid_address", "set_robust_list", "get_robust_list", "futex",
	"futex_waitv", "futex_wake", "futex_wait", "futex_requeue", "rseq",
	"seccomp", "landlock_create_ruleset", "landlock_add_rule",
	"landlock_restrict_self", "pidfd_open", "pidfd_send_signal",
	"restart_syscall", "rt_sigaction", "rt_sigprocmask", "rt_sigpending",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack",
	"pause", "alarm", "getitimer", "setitimer", "timer_create",
	"timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
	"nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
	"gettimeofday", "time", "getrandom", "chroot",
};

static const char *const seccomp_sockets[] = {
	"socket", "socketpair", "bind", "connect", "listen", "accept",
	"accept4", "getsockname", "getpeername", "getsockopt", "setsockopt",
	"sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg",
	"shutdown",
};

static const char *const seccomp_xattrs[] = {
	"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr",
	"flistxattr", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
	"lremovexattr", "fremovexattr", "setxattrat", "getxattrat",
	"listxattrat", "removexattrat",
};

/* What hardened goes without. */
static const char *const seccomp_box_only[] = {
	"sendfile", "splice", "tee", "vmsplice", "copy_file_range", "ptrace",
	"process_vm_readv", "process_vm_writev", "shmget", "shmat", "shmdt",
	"shmctl", "semget", "semop", "semtimedop", "semctl", "msgget",
	"msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
	"mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
};
/* clang-format on */

#endif
