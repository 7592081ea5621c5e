#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "tests/sys/probe.h"

/* ---- 61: a notifier in front of the sandbox's filter ---- */

/*
 * A filter that sends mount(2) to a listener which answers "go on": the
 * sandbox's own filter must still have the last word.
 */
void
probe_notify(const char *unused)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);

	(void)unused;
	say("listener", fd);
	/* Were it notified, it would hang: nobody listens. */
	alarm(5);
	say("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
}

/* ---- 63 ---- */

void
probe_mounts(const char *unused)
{
	struct mount_attr idmap = { .attr_set = MOUNT_ATTR_IDMAP };
	int proc = (int)syscall(SYS_fsopen, "proc", 0);

	(void)unused;
	say("fsopen_proc", proc);
	say("fsopen_sysfs", syscall(SYS_fsopen, "sysfs", 0));
	say("fsopen_cgroup2", syscall(SYS_fsopen, "cgroup2", 0));
	say("fspick", syscall(SYS_fspick, AT_FDCWD, "/proc", 0));
	say("open_tree",
	    syscall(SYS_open_tree, AT_FDCWD, "/proc/sys", OPEN_TREE_CLONE));
	say("open_tree_plain", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
	say("setattr_rw",
	    syscall(SYS_mount_setattr, AT_FDCWD, "/proc/sys", 0,
		&(struct mount_attr){ .attr_clr = MOUNT_ATTR_RDONLY },
		sizeof idmap));
	say("setattr_idmap",
	    syscall(SYS_mount_setattr, AT_FDCWD, "/workspace", 0, &idmap,
		sizeof idmap));
	say("beneath",
	    syscall(SYS_move_mount, AT_FDCWD, "/workspace", AT_FDCWD, "/",
		0x200));
	say("remount",
	    syscall(SYS_mount, NULL, "/proc/sys", NULL, 0x1020, NULL));
	say("umount_mask", syscall(SYS_umount2, "/proc/keys", 0));
	say("umount_sys", syscall(SYS_umount2, "/proc/sys", 2));
}

void
probe_escape(const char *unused)
{
	char cwd[256];
	struct stat a, b;
	int root = open("/", O_RDONLY | O_DIRECTORY);

	(void)unused;
	mkdir("/tmp/jail", 0755);
	say("chroot", chroot("/tmp/jail"));
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	stat("/", &a);
	stat(".", &b);
	printf("same_root=%d\n", a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	printf("cwd=%s\n", getcwd(cwd, sizeof cwd) ? cwd : "unreachable");
	say("dotdot", openat(root, "../../../../etc/hutch-outside", O_RDONLY));
	for (int fd = 3; fd < 256; fd++) {
		char path[64];

		if (fd == root || fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(path, sizeof path, "fd_%d", fd);
		say(path, 0);
	}
}

/* ---- 65 ---- */

static void
attributes(void)
{
	int fd = open("/workspace/stuck", O_CREAT | O_RDWR, 0600);
	int flags = FS_IMMUTABLE_FL;
	struct fsxattr x = { .fsx_projid = 7 };

	say("immutable", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	flags = FS_APPEND_FL;
	say("append", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	say("project", ioctl(fd, FS_IOC_FSSETXATTR, &x));
	say("trusted", fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0));
	say("security", fsetxattr(fd, "security.capability", "x", 1, 0));
	close(fd);
}

void
probe_doors(const char *unused)
{
	struct sched_param one = { .sched_priority = 1 }, zero = { 0 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { sizeof attr, 6, 0, 0, 0, 1000000, 10000000, 10000000 };
	struct rlimit r;

	(void)unused;
	attributes();
	say("fifo", sched_setscheduler(0, SCHED_FIFO, &one));
	say("idle", sched_setscheduler(0, SCHED_IDLE, &zero));
	say("deadline", syscall(SYS_sched_setattr, 0, &attr, 0));
	errno = 0;
	say("nice_down", setpriority(PRIO_PROCESS, 0, -5));
	say("prlimit_1",
	    syscall(SYS_prlimit64, 1, RLIMIT_CPU, &(struct rlimit){ 1, 1 },
		NULL));
	getrlimit(RLIMIT_CORE, &r);
	printf("core=%lu\n", (unsigned long)r.rlim_max);
	getrlimit(RLIMIT_NOFILE, &r);
	printf("nofile=%lu\n", (unsigned long)r.rlim_max);
	r.rlim_max++;
	say("raise_nofile", setrlimit(RLIMIT_NOFILE, &r));
	r = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	say("raise_core", setrlimit(RLIMIT_CORE, &r));
	say("oom_adj", open("/proc/self/oom_score_adj", O_WRONLY));
	{
		int fd = open("/proc/self/oom_score_adj", O_WRONLY);

		say("oom_lower", write(fd, "-1000", 5));
		close(fd);
	}
}

/* ---- limits ---- */

void
probe_eat(const char *mib)
{
	size_t want = strtoul(mib, NULL, 10) << 20;
	char *at = mmap(NULL, want, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED) {
		say("map", -1);
		return;
	}
	for (size_t i = 0; i < want; i += 4096)
		at[i] = 1;
	say("eat", 0);
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void
probe_spin(const char *ms)
{
	double end = seconds(CLOCK_MONOTONIC) + atof(ms) / 1e3;

	while (seconds(CLOCK_MONOTONIC) < end)
		;
	printf("cpu_ms=%.0f\n", seconds(CLOCK_PROCESS_CPUTIME_ID) * 1e3);
}

void
probe_forks(const char *most)
{
	int n = 0, max = atoi(most);

	for (; n < max; n++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			pause();
			_exit(0);
		}
	}
	if (n < max)
		say("fork", -1);
	printf("forked=%d\n", n);
	fflush(stdout);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
}

void
probe_survive(const char *unused)
{
	(void)unused;
	if (fork() > 0)
		return;
	setsid();
	if (fork() > 0)
		_exit(0);
	for (int s = 1; s < 64; s++)
		signal(s, SIG_IGN);
	close(0);
	close(1);
	close(2);
	prctl(PR_SET_NAME, "survivor");
	for (;;)
		pause();
}

void
probe_fill(const char *path)
{
	static char block[1 << 20];
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	long total = 0;
	ssize_t n;

	if (fd < 0) {
		say("open", -1);
		return;
	}
	memset(block, 'x', sizeof block);
	while ((n = write(fd, block, sizeof block)) > 0 && total < 1L << 32)
		total += n;
	say("write", n);
	printf("mib=%ld\n", total >> 20);
	close(fd);
	unlink(path);
}

/* A folder and a link to where it must not lead, exchanged for ever. */
void
probe_exchange(const char *at)
{
	static const char *const to[] = { "/etc/hutch", "../etc/hutch",
		"/proc/self/root/etc/hutch", "/proc/1/cwd/etc/hutch" };

	if (chdir(at) < 0) {
		say("chdir", -1);
		return;
	}
	for (int i = 0; i < 4; i++)
		say("link", symlink(to[i], (char[2]){ (char)('k' + i), 0 }));
	printf("ready\n");
	fflush(stdout);
	for (unsigned n = 0;; n++) {
		const char link[2] = { (char)('k' + n / 64 % 4), 0 };

		/* Twice: where it was, before another link has its turn. */
		for (int k = 0; k < 2; k++)
			if (syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD,
				link, RENAME_EXCHANGE) < 0)
				_exit(1);
	}
}
