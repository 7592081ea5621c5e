/*
 * probe: what a program in a sandbox can do, and what it is told.
 *
 *	probe GROUP [ARGUMENT]
 *
 * Static, so that any image can hold it.  Each line is "what=verdict": 0 for
 * success, else the errno's name; or whatever value is asked for.  The tests
 * say what should be there; here is only what is.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/sys/probe.h"

void
say(const char *name, long got)
{
	if (got >= 0)
		printf("%s=0\n", name);
	else
		printf("%s=%s\n", name,
		    strerrorname_np(errno) ? strerrorname_np(errno) : "?");
}

#define CALL(name, ...) say(#name, syscall(SYS_##name, __VA_ARGS__))

/* ---- 13, 14, 15, 19, 20, 28, 61: calls ---- */

static void
calls(const char *unused)
{
	struct clone_args a = { .flags = CLONE_NEWUSER,
		.exit_signal = SIGCHLD };

	(void)unused;
	say("unshare_user", unshare(CLONE_NEWUSER));
	say("unshare_net", unshare(CLONE_NEWNET));
	say("unshare_ns", unshare(CLONE_NEWNS));
	say("unshare_0", unshare(0));
	say("clone_user",
	    syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	say("clone_user_high",
	    syscall(SYS_clone, (1ULL << 40) | CLONE_NEWUSER | SIGCHLD, 0, 0, 0,
		0));
	say("clone_net",
	    syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
	say("clone3", syscall(SYS_clone3, &a, sizeof a));
	say("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	say("mount_cgroup", mount("cgroup", "/tmp", "cgroup", 0, "memory"));
	say("umount", umount2("/proc", MNT_DETACH));
	CALL(pivot_root, "/", "/");
	CALL(fsopen, "tmpfs", 0);
	CALL(fsopen, "cgroup2", 0);
	CALL(fspick, AT_FDCWD, "/", 0);
	CALL(fsconfig, 0, 0, 0, 0, 0);
	CALL(fsmount, 0, 0, 0);
	CALL(open_tree, AT_FDCWD, "/proc", OPEN_TREE_CLONE);
	CALL(move_mount, 0, "", 0, "", 0);
	CALL(mount_setattr, AT_FDCWD, "/", 0, 0, 0);
	say("open_tree_attr", syscall(467, AT_FDCWD, "/", 0, 0, 0));
	say("statmount", syscall(457, 0, 0, 0, 0));
	say("listmount", syscall(458, 0, 0, 0, 0));
	say("setns", setns(0, 0));
	CALL(bpf, 0, 0, 0);
	CALL(perf_event_open, 0, 0, 0, 0, 0);
	CALL(userfaultfd, 0);
	CALL(io_uring_setup, 1, 0);
	CALL(init_module, 0, 0, "");
	CALL(finit_module, 0, "", 0);
	CALL(kexec_load, 0, 0, 0, 0);
	CALL(open_by_handle_at, AT_FDCWD, 0, 0);
	CALL(name_to_handle_at, AT_FDCWD, "/", 0, 0, 0);
	CALL(keyctl, 1, 0, 0, 0, 0);
	CALL(add_key, "user", "a", "b", 1, -2);
	CALL(request_key, "user", "a", 0, -2);
	CALL(pidfd_getfd, 0, 0, 0);
	CALL(swapon, "/x", 0);
	CALL(reboot, 0, 0, 0, 0);
	CALL(acct, "/x");
	CALL(syslog, 3, 0, 0);
	CALL(settimeofday, 0, 0);
	CALL(sethostname, "x", 1);
	say("unknown", syscall(999));
	say("chroot", chroot("/tmp"));
}

/* ---- 22, 23, 24: sockets ---- */

static void
one_socket(const char *name, int family, int type, int protocol)
{
	int fd = socket(family, type, protocol);

	say(name, fd);
	if (fd >= 0)
		close(fd);
}

static void
sockets(const char *unused)
{
	(void)unused;
	one_socket("unix", AF_UNIX, SOCK_STREAM, 0);
	one_socket("tcp", AF_INET, SOCK_STREAM, 0);
	one_socket("udp6", AF_INET6, SOCK_DGRAM, 0);
	one_socket("route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	one_socket("alg", AF_ALG, SOCK_SEQPACKET, 0);
	one_socket("rxrpc", AF_RXRPC, SOCK_DGRAM, 0);
	one_socket("packet", AF_PACKET, SOCK_RAW, 0);
	one_socket("vsock", AF_VSOCK, SOCK_STREAM, 0);
	one_socket("tipc", AF_TIPC, SOCK_STREAM, 0);
	one_socket("xdp", 44, SOCK_RAW, 0);
	one_socket("can", AF_CAN, SOCK_RAW, 0);
	one_socket("bluetooth", AF_BLUETOOTH, SOCK_RAW, 0);
	one_socket("raw_icmp", AF_INET, SOCK_RAW, 1);
	one_socket("sctp", AF_INET, SOCK_STREAM, 132);
	one_socket("netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
	one_socket("xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM);
	one_socket("kobject", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
	say("alg_high",
	    syscall(SYS_socket, (1ULL << 32) | AF_ALG, SOCK_SEQPACKET, 0));
	errno = 0;
	one_socket("ulp", AF_INET, SOCK_STREAM, 0);
	{
		int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

		say("udp_encap", setsockopt(fd, 17, 100, &on, sizeof on));
		close(fd);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		say("tcp_ulp", setsockopt(fd, 6, 31, "tls", 3));
		close(fd);
	}
}

/* ---- 16, 17, 18, 31, 32: files ---- */

void
open_all(const char *const *path, size_t n, int flags)
{
	for (size_t i = 0; i < n; i++) {
		int fd = open(path[i], flags | O_NONBLOCK);

		say(path[i], fd);
		if (fd >= 0)
			close(fd);
	}
}

static void
writes(const char *unused)
{
	static const char *const path[] = { "/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe", "/proc/sys/net/ipv4/ip_forward",
		"/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname",
		"/proc/sysrq-trigger", "/proc/pressure/cpu",
		"/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/memory.max", "/proc/irq/default_smp_affinity",
		"/sys/devices/system/cpu/online", "/proc/1/oom_score_adj",
		"/proc/1/mem", "/proc/1/attr/current", "/proc/mtrr" };

	(void)unused;
	open_all(path, sizeof path / sizeof *path, O_WRONLY);
}

static void
devices(const char *unused)
{
	static const char *const path[] = { "/dev/null", "/dev/zero",
		"/dev/full", "/dev/random", "/dev/urandom", "/dev/ptmx",
		"/dev/sda", "/dev/vda", "/dev/mem", "/dev/kmsg", "/dev/kvm",
		"/dev/fuse", "/dev/net/tun", "/dev/vhost-net",
		"/dev/vhost-vsock", "/dev/loop-control", "/dev/console",
		"/dev/userfaultfd" };
	int fd;

	(void)unused;
	open_all(path, sizeof path / sizeof *path, O_RDWR);
	say("mknod_chr", mknod("/tmp/c", S_IFCHR | 0666, makedev(1, 3)));
	say("mknod_blk", mknod("/tmp/b", S_IFBLK | 0666, makedev(8, 0)));
	say("mknod_mem", mknod("/tmp/m", S_IFCHR | 0666, makedev(1, 1)));
	say("mknod_dev", mknod("/dev/m", S_IFCHR | 0666, makedev(1, 1)));
	say("mkfifo", mknod("/tmp/f", S_IFIFO | 0666, 0));
	fd = open("/dev/full", O_WRONLY);
	say("full", write(fd, "x", 1));
	close(fd);
	say("whiteout", mknod("/tmp/w", S_IFCHR | 0666, 0));
	say("open_whiteout", open("/tmp/w", O_RDWR));
}

static void
one_masked(const char *path)
{
	char buf[256];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf);

	if (n > 0)
		printf("%s=shown\n", path);
	else if (n == 0)
		printf("%s=empty\n", path);
	else
		say(path, -1);
	if (fd >= 0)
		close(fd);
}

static void
masked(const char *unused)
{
	static const char *const path[] = { "/proc/kcore", "/proc/kallsyms",
		"/proc/keys", "/proc/key-users", "/proc/timer_list",
		"/proc/kmsg", "/proc/sched_debug", "/proc/vmallocinfo",
		"/proc/kpageflags", "/proc/slabinfo", "/proc/interrupts",
		"/sys/firmware/memmap/0/start",
		"/sys/class/dmi/id/product_name", "/sys/kernel/vmcoreinfo",
		"/sys/kernel/notes", "/sys/kernel/debug/x",
		"/sys/module/kernel/parameters/panic" };

	(void)unused;
	for (size_t i = 0; i < sizeof path / sizeof *path; i++)
		one_masked(path[i]);
}

static void
agent(const char *unused)
{
	static const char *const link[] = { "/proc/1/exe", "/proc/1/root",
		"/proc/1/cwd", "/proc/1/fd/0", "/proc/1/fd/3", "/proc/1/fd/4",
		"/proc/1/ns/net" };
	static const char *const file[] = { "/proc/1/environ", "/proc/1/mem",
		"/proc/1/maps", "/proc/1/fd/3", "/proc/1/root/etc",
		"/proc/1/exe", "/proc/1/map_files", "/proc/1/auxv",
		"/proc/1/syscall", "/proc/1/stack", "/proc/1/pagemap" };
	char buf[64];
	int fd;

	(void)unused;
	for (size_t i = 0; i < sizeof link / sizeof *link; i++) {
		printf("readlink ");
		say(link[i], readlink(link[i], buf, sizeof buf));
	}
	open_all(file, sizeof file / sizeof *file, O_RDONLY);
	say("exe_write", open("/proc/1/exe", O_WRONLY));
	say("list", open("/proc/1/fd", O_RDONLY | O_DIRECTORY));
	say("ptrace", syscall(SYS_ptrace, 16 /* ATTACH */, 1, 0, 0));
	say("seize", syscall(SYS_ptrace, 0x4206, 1, 0, 0));
	say("vm_read",
	    syscall(SYS_process_vm_readv, 1, &(struct iovec){ buf, sizeof buf },
		1, &(struct iovec){ (void *)0x400000, sizeof buf }, 1, 0));
	fd = (int)syscall(SYS_pidfd_open, 1, 0);
	say("pidfd", fd);
	say("getfd", syscall(SYS_pidfd_getfd, fd, 3, 0));
	say("setns_pidfd", setns(fd, CLONE_NEWNET));
	say("prlimit",
	    syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &(struct rlimit){ 0, 0 },
		NULL));
	say("kill_stop", kill(1, SIGSTOP)); /* ignored by a first process */
	say("kill_kill", kill(1, SIGKILL));
}

/* ---- 27, 29, 30, 64: odds ---- */

static void
terminal(const char *unused)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), slave, zero = 0;

	(void)unused;
	say("ptmx", master);
	say("unlock", ioctl(master, TIOCSPTLCK, &zero));
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	say("slave", slave);
	say("sti", ioctl(slave, TIOCSTI, "x"));
	say("sti_high", syscall(SYS_ioctl, slave, (1ULL << 32) | TIOCSTI, "x"));
	say("linux", ioctl(slave, TIOCLINUX, &(char[]){ 3 }));
	say("setd", ioctl(slave, TIOCSETD, &(int[]){ 1 }));
	say("cons", ioctl(slave, TIOCCONS, 0));
	say("winsize",
	    ioctl(slave, TIOCSWINSZ, &(struct winsize){ 24, 80, 0, 0 }));
}

static void
print_caps(const char *when)
{
	static const char *const key[] = { "CapInh", "CapPrm", "CapEff",
		"CapBnd", "CapAmb" };

	for (size_t i = 0; i < 5; i++)
		printf("%s_%s=%lx\n", when, key[i], status_caps(key[i]));
}

static void
capabilities(const char *unused)
{
	struct __user_cap_header_struct h = { .version =
						  _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2] = { { ~0u, ~0u, ~0u },
		{ 0x1ff, 0x1ff, 0x1ff } };

	(void)unused;
	print_caps("before");
	say("capset_all", syscall(SYS_capset, &h, all));
	say("keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	say("securebits", prctl(PR_SET_SECUREBITS, 1 << 2, 0, 0, 0));
	say("ambient",
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
	say("ambient_chown",
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0));
	say("bound_drop", prctl(PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0));
	say("nnp", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -1);
	say("to_user", setresuid(1000, 1000, 1000));
	print_caps("user");
	say("back", setresuid(0, 0, 0));
	print_caps("after");
}

/* ---- 62: namespaces by handle ---- */

static void
handles(const char *unused)
{
	int ns = open("/proc/self/ns/user", O_RDONLY);
	int pid = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct file_handle *fh = calloc(1, sizeof *fh + 128);
	struct clone_args into = { .flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD };
	int mount_id;

	(void)unused;
	say("own_ns", ns);
	say("ns_parent", ioctl(ns, 0xb702));
	say("ns_userns", ioctl(ns, 0xb701));
	say("ns_owner", ioctl(ns, 0xb704, &mount_id));
	say("ns_next", ioctl(ns, 0xb70b, fh));
	say("pidfd_ns", ioctl(pid, 0xff04));
	say("setns_own", setns(ns, 0));
	say("setns_pidfd", setns(pid, CLONE_NEWNS | CLONE_NEWNET));
	fh->handle_bytes = 128;
	say("handle",
	    syscall(SYS_name_to_handle_at, ns, "", fh, &mount_id,
		AT_EMPTY_PATH));
	say("by_handle", syscall(SYS_open_by_handle_at, ns, fh, O_RDONLY));
	say("listmount",
	    syscall(458, &(uint64_t[4]){ 32, ~0ull, 0, 1 }, fh, 8, 0));
	say("statmount",
	    syscall(457, &(uint64_t[4]){ 32, 1, 1, 1 }, fh, 128, 0));
	say("clone_cgroup", syscall(SYS_clone3, &into, sizeof into));
	free(fh);
}

static const struct {
	const char *name;
	void (*run)(const char *);
} groups[] = { { "calls", calls }, { "sockets", sockets }, { "writes", writes },
	{ "devices", devices }, { "masked", masked }, { "agent", agent },
	{ "abi", probe_abi }, { "whoami", probe_whoami },
	{ "leaks", probe_leaks }, { "terminal", terminal },
	{ "caps", capabilities }, { "handles", handles },
	{ "notify", probe_notify }, { "mounts", probe_mounts },
	{ "doors", probe_doors }, { "escape", probe_escape },
	{ "eat", probe_eat }, { "spin", probe_spin }, { "forks", probe_forks },
	{ "survive", probe_survive }, { "fill", probe_fill },
	{ "reach", probe_reach }, { "abstract", probe_abstract },
	{ "counted", probe_counted }, { "exchange", probe_exchange },
	{ "flows", probe_flows } };

int
main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 4096);
	for (size_t i = 0; i < sizeof groups / sizeof *groups && argc > 1; i++)
		if (strcmp(groups[i].name, argv[1]) == 0) {
			groups[i].run(argc > 2 ? argv[2] : "");
			return 0;
		}
	fprintf(stderr, "probe GROUP [ARGUMENT]\n");
	return 2;
}
