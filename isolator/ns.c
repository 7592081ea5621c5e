#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <linux/futex.h>
#include <linux/securebits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/ns.h"
#include "isolator/raw.h"
#include "isolator/stage.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif

enum { STACK = 32768, PLUGS = 64 };
enum go { GO_WAIT, GO_ON };

/*
 * What broker and child share, in front of the child's stack.  The kernel
 * clears .tid when the child has let go of the memory: it has executed, or it
 * is dead.
 */
struct task {
	struct task *next;
	uint32_t tid, go, apart; /* futexes */
	uint64_t unshare;
	int low_control, low_image, low_end;
	char name[16];
	char *argv[2], *envp[1];
};

struct ns {
	struct task *task;          /* all; one is free when its .tid is 0 */
	struct task *latest;        /* that was lent low_control */
	int low_control, low_image; /* as low as there was room */
	int plug[PLUGS], nplug;     /* lower ones that were free */
	int home_net;
};

static int
low_end(const struct ns *ns)
{
	return 1 +
	    (ns->low_control > ns->low_image ? ns->low_control : ns->low_image);
}

/* ---- memory ---- */

static struct task *
task_new(struct ns *ns)
{
	struct task *t;

	for (t = ns->task; t != NULL; t = t->next)
		if (__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) == 0)
			return t;
	t = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	t->next = ns->task;
	ns->task = t;
	return t;
}

/* Until *word is no longer is, or the child has let go; it takes microseconds,
 * the seconds are the bound. */
static void
wait_while(const struct task *t, const uint32_t *word, uint32_t is)
{
	int64_t end = clock_ms() + 2000;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == is &&
	    __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) != 0 &&
	    clock_left(end) > 0) {
		struct timespec most = { .tv_nsec = 2000000 };

		syscall(SYS_futex, word, FUTEX_WAIT, is, &most, NULL, 0);
	}
}

/* ---- the child ---- */

RAW_CODE static void
child_set(uint32_t *word, uint32_t to)
{
	__atomic_store_n(word, to, __ATOMIC_RELEASE);
	RAW_3(SYS_futex, word, FUTEX_WAKE, 1);
}

/* The broker writes the id maps meanwhile; it does not take seconds. */
RAW_CODE static int
child_wait(uint32_t *go)
{
	struct timespec most = { .tv_sec = 5 };

	while (__atomic_load_n(go, __ATOMIC_ACQUIRE) == GO_WAIT)
		if (RAW_5(SYS_futex, go, FUTEX_WAIT, GO_WAIT, &most, 0) ==
		    -ETIMEDOUT)
			return -1;
	return 0;
}

/*
 * The table of descriptors is the broker's until close_range() gives this
 * process its own, made of the lowest few only: neither copying nor closing
 * thousands of them costs anything.
 */
RAW_CODE static int
child_run(void *arg)
{
	struct task *t = arg;

	RAW_2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (RAW_3(SYS_close_range, t->low_end, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		return STAGE_EXIT;
	child_set(&t->apart, 1);
	if (RAW_1(SYS_unshare, t->unshare) < 0 || child_wait(&t->go) < 0)
		return STAGE_EXIT;
	if (RAW_3(SYS_setresgid, 0, 0, 0) < 0 ||
	    RAW_2(SYS_setgroups, 0, 0) < 0 || RAW_3(SYS_setresuid, 0, 0, 0) < 0)
		return STAGE_EXIT;
	if (t->low_image == STAGE_CONTROL) { /* its place is needed */
		t->low_image = (int)RAW_3(SYS_fcntl, t->low_image,
		    F_DUPFD_CLOEXEC, STAGE_CONTROL + 1);
		if (t->low_image < 0)
			return STAGE_EXIT;
	}
	if (t->low_control == STAGE_CONTROL)
		RAW_3(SYS_fcntl, STAGE_CONTROL, F_SETFD, 0);
	else if (RAW_3(SYS_dup3, t->low_control, STAGE_CONTROL, 0) < 0)
		return STAGE_EXIT;
	RAW_5(SYS_execveat, t->low_image, "", t->argv, t->envp, AT_EMPTY_PATH);
	return STAGE_EXIT;
}

/* For ns_user: there, and nothing else. */
RAW_CODE static int
child_idle(void *arg)
{
	struct task *t = arg;

	RAW_2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	child_wait(&t->go);
	return 0;
}

/* ---- the broker ---- */

static int
clone_task(struct task *t, uint64_t flags, int cgroup, int (*fn)(void *),
    int *pidfd)
{
	struct clone_args a = {
		.flags = flags | CLONE_VM | CLONE_FILES | CLONE_PIDFD |
		    CLONE_CLEAR_SIGHAND | CLONE_CHILD_SETTID |
		    CLONE_CHILD_CLEARTID |
		    (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)pidfd,
		.child_tid = (uintptr_t)&t->tid,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)t,
		.stack_size = STACK,
		.cgroup = cgroup >= 0 ? (uint64_t)cgroup : 0,
	};
	sigset_t all, before;
	long pid;

	t->go = GO_WAIT;
	t->apart = 0;
	t->tid = ~0u;
	/* A handler of ours must never run over there. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = raw_clone3(&a, sizeof a, fn, t);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		t->tid = 0;
		errno = (int)-pid;
		return -1;
	}
	return (int)pid;
}

/* euid decides who owns a user namespace. */
static void
as_owner(uid_t owner, bool on)
{
	if (owner == 0)
		return;
	if (on) {
		prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
		syscall(SYS_setresuid, -1, owner, -1);
	} else {
		syscall(SYS_setresuid, -1, 0, -1);
		prctl(PR_SET_SECUREBITS, 0, 0, 0, 0);
	}
}

static int
write_map(pid_t pid, const char *which, const char *text, struct err *err)
{
	char path[48];
	auto_fd int fd = -1;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, which);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "open %s", path);
	if (write(fd, text, strlen(text)) < 0)
		return err_sys(err, "%s \"%s\"", which, text);
	return 0;
}

static int
map_ids(pid_t pid, const uint32_t inside[2], uint32_t outside, uint32_t count,
    struct err *err)
{
	static const char *const file[2] = { "uid_map", "gid_map" };
	char text[40];

	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text, "%u %u %u", inside[i], outside,
		    count);
		if (write_map(pid, file[i], text, err) < 0)
			return -1;
	}
	return 0;
}

static void
go_on(struct task *t)
{
	__atomic_store_n(&t->go, GO_ON, __ATOMIC_RELEASE);
	syscall(SYS_futex, &t->go, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void
ns_end(struct ns_born *b)
{
	siginfo_t si;

	if (b->pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0);
	while (
	    waitid(P_PIDFD, (id_t)b->pidfd, &si, WEXITED) < 0 && errno == EINTR)
		;
	close(b->pidfd);
	if (b->control >= 0)
		close(b->control);
	b->pidfd = b->control = -1;
}

static int
clone_in(struct ns *ns, const struct ns_child *c, struct task *t,
    struct ns_born *b, struct err *err)
{
	int pid;

	if (c->net >= 0 && setns(c->net, CLONE_NEWNET) < 0)
		return err_sys(err, "enter network namespace");
	as_owner(c->owner, true);
	pid = clone_task(t, CLONE_NEWUSER | CLONE_NEWPID, c->cgroup, child_run,
	    &b->pidfd);
	as_owner(c->owner, false);
	if (pid < 0)
		err_sys(err, "clone");
	if (c->net >= 0 && setns(ns->home_net, CLONE_NEWNET) < 0) {
		if (pid >= 0)
			ns_end(b);
		return err_sys(err, "leave network namespace");
	}
	b->pid = pid;
	return pid < 0 ? -1 : 0;
}

/*
 * The child gets a copy of every descriptor below low_end.  None of them may be
 * one that comes and goes here meanwhile: it would be open over there until the
 * child executes, and a writer, say, where there must be none.
 */
static int
plug_holes(struct ns *ns, struct err *err)
{
	while (ns->nplug < PLUGS) {
		int fd = fcntl(ns->low_image, F_DUPFD_CLOEXEC, 0);

		if (fd < 0)
			return err_sys(err, "descriptor");
		if (fd >= low_end(ns)) {
			close(fd);
			break;
		}
		ns->plug[ns->nplug++] = fd;
	}
	return 0;
}

/* What the latest child was lent is free once it has its own table. */
static int
lower(struct ns *ns, int control, struct err *err)
{
	struct task *t = ns->latest;

	if (t != NULL)
		wait_while(t, &t->apart, 0);
	/* Else it would take the next one's control socket for its own. */
	if (t != NULL && __atomic_load_n(&t->apart, __ATOMIC_ACQUIRE) == 0 &&
	    __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) != 0)
		return err_set(err, ERR_BUSY, "the child before does not run");
	if (plug_holes(ns, err) < 0)
		return -1;
	if (dup3(control, ns->low_control, O_CLOEXEC) < 0)
		return err_sys(err, "descriptor");
	return 0;
}

int
ns_start(struct ns *ns, const struct ns_child *c, struct ns_born *out,
    struct err *err)
{
	struct task *t = task_new(ns);
	struct ns_born b = { -1, -1, -1, 0, 0 };
	int64_t from = clock_us(), mapped;
	int pair[2], got;

	if (t == NULL)
		return err_sys(err, "child's memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "control socket");
	b.control = pair[0];
	t->unshare = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
	    (c->net < 0 ? CLONE_NEWNET : 0);
	t->low_control = ns->low_control;
	t->low_image = ns->low_image;
	t->low_end = low_end(ns);
	strcpy(t->name, "hutch-agent");
	t->argv[0] = t->name;
	t->argv[1] = t->envp[0] = NULL;
	got = lower(ns, pair[1], err);
	if (got == 0) {
		got = clone_in(ns, c, t, &b, err);
		ns->latest = t;
	}
	close(pair[1]);
	if (got < 0) {
		close(pair[0]);
		return -1;
	}
	mapped = clock_us();
	b.clone_us = (uint32_t)(mapped - from);
	if (map_ids(b.pid, (uint32_t[2]){ 0 }, c->first, c->count, err) < 0) {
		ns_end(&b);
		return -1;
	}
	go_on(t);
	b.maps_us = (uint32_t)(clock_us() - mapped);
	*out = b;
	return 0;
}

int
ns_user(struct ns *ns, uint32_t uid, uint32_t gid, uint32_t outside,
    uint32_t count, struct err *err)
{
	struct task *t = task_new(ns);
	struct ns_born b = { -1, -1, -1, 0, 0 };
	char path[48];
	int fd = -1;

	if (t == NULL)
		return err_sys(err, "child's memory");
	b.pid = clone_task(t, CLONE_NEWUSER, -1, child_idle, &b.pidfd);
	if (b.pid < 0)
		return err_sys(err,
		    "user namespace (sysctl user.max_user_namespaces)");
	if (map_ids(b.pid, (uint32_t[2]){ uid, gid }, outside, count, err) ==
	    0) {
		snprintf(path, sizeof path, "/proc/%d/ns/user", (int)b.pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			err_sys(err, "open %s", path);
	}
	go_on(t);
	ns_end(&b);
	return fd;
}

/* ---- made once ---- */

struct ns *
ns_open(int image, struct err *err)
{
	struct ns *ns = xcalloc(1, sizeof *ns);

	ns->low_image = fcntl(image, F_DUPFD_CLOEXEC, 3);
	ns->low_control = fcntl(image, F_DUPFD_CLOEXEC, 3);
	ns->home_net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns->low_image >= 0 && ns->low_control >= 0 && ns->home_net >= 0)
		return ns;
	err_sys(err, "namespaces of our own");
	ns_close(ns);
	return NULL;
}

void
ns_close(struct ns *ns)
{
	struct task *next;

	if (ns == NULL)
		return;
	for (int i = 0; i < 3; i++) {
		int fd =
		    (int[]){ ns->low_image, ns->low_control, ns->home_net }[i];

		if (fd >= 0)
			close(fd);
	}
	while (ns->nplug > 0)
		close(ns->plug[--ns->nplug]);
	for (struct task *t = ns->task; t != NULL; t = next) {
		next = t->next;
		if (t->tid != 0) /* still somebody's stack */
			wait_while(t, &t->tid, t->tid);
		if (t->tid == 0)
			munmap(t, STACK);
	}
	free(ns);
}
