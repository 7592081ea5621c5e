#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "isolator/backend.h"
#include "isolator/caps.h"
#include "isolator/host.h"
#include "isolator/mount.h"
#include "isolator/nest.h"
#include "isolator/profile.h"
#include "isolator/root.h"
#include "isolator/seccomp.h"
#include "isolator/spec.h"
#include "isolator/zygote.h"
#include "wire/link.h"

#define ZYGOTE_LINK 3
#define ZYGOTE_EXIT 72

/* What a JOIN datagram carries; the filter's instructions stand behind it. */
struct join_head {
	uint64_t caps;
	uint32_t nfilter, pad;
};

/* ---- the child, before it executes the image's interpreter ---- */

static int
furnish(int tree, int dev, const struct zygote_want *w, struct err *err)
{
	static const struct mount_opt opt[] = { { "mode", "1777" },
		{ "size", "16m" }, { NULL } };
	auto_fd int tmp = mount_new("tmpfs", opt,
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);

	if (tmp < 0)
		return -1;
	for (const char *const *p = w->program; *p != NULL; p += 2)
		if (file_replace_at(tmp, p[0], p[1], strlen(p[1]), 0444, err) <
		    0)
			return -1;
	if (mount_over_root(tree, err) < 0 ||
	    mount_move(tmp, tree, "tmp", err) < 0 ||
	    mount_move(dev, tree, "dev", err) < 0)
		return -1;
	return mount_pivot(tree, err);
}

static int
become(uid_t uid, struct err *err)
{
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, uid, uid, uid) < 0)
		return err_sys(err, "group id");
	/* Bounding set first, while that is still allowed. */
	if (caps_bound(0, err) < 0 || caps_set(CAPS(CAP_SETUID), err) < 0)
		return -1;
	if (syscall(SYS_setresuid, uid, uid, uid) < 0)
		return err_sys(err, "user id");
	if (caps_set(0, err) < 0)
		return -1;
	/* A change of ids clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(err, "death signal");
	return 0;
}

static int
descriptors(int link, struct err *err)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0)
		return err_sys(err, "open /dev/null");
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(link, ZYGOTE_LINK) < 0 ||
	    close_range(ZYGOTE_LINK + 1, ~0u, 0) < 0)
		return err_sys(err, "descriptors");
	/* Python's own idea of blocking. */
	if (fcntl(ZYGOTE_LINK, F_SETFL, 0) < 0 ||
	    fcntl(ZYGOTE_LINK, F_SETFD, 0) < 0)
		return err_sys(err, "link");
	return 0;
}

static void
execute(const struct zygote_want *w)
{
	static const char *const dirs[] = { "/opt/venv/bin", "/usr/local/bin",
		"/usr/bin", "/bin" };
	static char path[] = "PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin";
	static char home[] = "HOME=/tmp", lang[] = "LANG=C.UTF-8";
	char *envp[] = { path, home, lang, NULL };
	char file[PATH_MAX];

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		snprintf(file, sizeof file, "%s/%s", dirs[i], w->argv[0]);
		execve(file, (char *const *)(uintptr_t)w->argv, envp);
	}
}

static void
child(int tree, int dev, int link, const struct zygote_want *w)
{
	struct err err = { 0 };

	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) <
	    0)
		err_sys(&err, "namespaces");
	else if (furnish(tree, dev, w, &err) == 0 &&
	    descriptors(link, &err) == 0 && become(w->uid, &err) == 0) {
		execute(w);
		err_sys(&err, "no %s in the image", w->argv[0]);
	}
	dprintf(2, "<4>level=warning prog=hutch-zygote msg=\"%s\"\n", err.text);
	_exit(ZYGOTE_EXIT);
}

/* ---- the broker ---- */

void
zygote_init(struct zygote *z)
{
	z->pid = z->pidfd = z->link = -1;
}

static int
fork_in_nest(struct host *h, const struct zygote_want *w, int tree, int link,
    struct err *err)
{
	auto_fd int dev = -1;
	pid_t pid;

	if (nest_enter(h->nest, err) < 0)
		return -1;
	dev = nest_dev(h->nest, err);
	pid = dev < 0 ? -1 : fork();
	if (pid == 0)
		child(tree, dev, link, w);
	if (pid < 0 && dev >= 0)
		err_sys(err, "fork");
	nest_leave(h->nest);
	return pid;
}

int
zygote_start(struct host *h, const struct zygote_want *w, struct zygote *z,
    struct err *err)
{
	auto_fd int tree = -1, mine = -1, its = -1;
	int pair[2], pid;

	if (link_pair(pair, err) < 0)
		return -1;
	mine = pair[0];
	its = pair[1];
	tree = root_merged(h->roots, w->layer, w->nlayer, err);
	if (tree < 0)
		return -1;
	pid = fork_in_nest(h, w, tree, its, err);
	if (pid < 0)
		return -1;
	z->pid = pid;
	z->pidfd = pidfd_open(pid, 0);
	z->link = take_fd(&mine);
	return 0;
}

void
zygote_stop(struct zygote *z)
{
	if (z->pid > 0) {
		kill(z->pid, SIGKILL);
		while (waitpid(z->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (z->pidfd >= 0)
		close(z->pidfd);
	if (z->link >= 0)
		close(z->link);
	zygote_init(z);
}

/* ---- joining ---- */

static int
pair_of(int type, int *ours, int *theirs, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socket pair");
	*ours = pair[0];
	*theirs = pair[1];
	return 0;
}

int
zygote_join(struct zygote *z, const struct instance *in, int *out_gate,
    struct err *err)
{
	const struct filter *f = &in->host->filter[PROFILE_BOX];
	struct join_head head = { .caps = profile_row(PROFILE_BOX)->caps,
		.nfilter = f->n };
	struct link_msg m = { .nfd = 4 };
	size_t code = f->n * sizeof *f->at;
	auto_fd int cell = -1, status = -1, gate = -1; /* the copy's ends */
	auto_fd int at_cell = -1, at_status = -1;      /* the agent's */
	auto_fd int door = -1;                         /* ours */
	int on = 1;

	if (sizeof head + code > sizeof m.body)
		return err_set(err, ERR_LIMIT, "filter of %u instructions",
		    (unsigned)f->n);
	if (pair_of(SOCK_SEQPACKET, &at_cell, &cell, err) < 0 ||
	    pair_of(SOCK_SEQPACKET, &at_status, &status, err) < 0 ||
	    pair_of(SOCK_SEQPACKET | SOCK_NONBLOCK, &door, &gate, err) < 0)
		return -1;
	/* The kernel's word for who stands at the gate. */
	if (setsockopt(door, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return err_sys(err, "gate");
	memcpy(m.fd, (int[]){ in->pidfd, cell, status, gate },
	    4 * sizeof *m.fd);
	memcpy(m.body, &head, sizeof head);
	memcpy(m.body + sizeof head, f->at, code);
	m.len = sizeof head + code;
	if (link_send(z->link, &m, err) < 0 ||
	    spec_word_send(in->control, SPEC_JOIN,
		(int[]){ at_cell, at_status }, err) < 0)
		return -1;
	*out_gate = take_fd(&door);
	return 0;
}

/* The pid of who sent a byte through the gate; 0: nobody yet. */
static int
at_gate(int gate, pid_t *pid, struct err *err)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} space;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr mh = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space.buf,
		.msg_controllen = sizeof space.buf };
	ssize_t n = recvmsg(gate, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	struct ucred who;

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return err_set(err, ERR_BUSY, "the interpreter has ended");
	c = CMSG_FIRSTHDR(&mh);
	if (c == NULL || c->cmsg_level != SOL_SOCKET ||
	    c->cmsg_type != SCM_CREDENTIALS ||
	    c->cmsg_len != CMSG_LEN(sizeof who))
		return err_set(err, ERR_PROTO, "nobody at the gate");
	memcpy(&who, CMSG_DATA(c), sizeof who);
	*pid = who.pid;
	return 1;
}

int
zygote_admit(int gate, const struct cgroup *cg, struct err *err)
{
	pid_t pid = 0;
	int got = at_gate(gate, &pid, err);

	if (got <= 0)
		return got;
	if (cgroup_adopt(cg, pid, err) < 0)
		return -1;
	if (send(gate, "g", 1, MSG_NOSIGNAL) != 1)
		return err_sys(err, "open the gate");
	return 1;
}
