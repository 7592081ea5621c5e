#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "isolator/net_link.h"
#include "isolator/net_worker.h"
#include "wire/link.h"

#define START_MS 5000
#define WORK_NICE 10 /* who waits for a sandbox goes before them */

/* Blocking receive on a non-blocking socket: 1, 0 peer left, -1. */
static int
receive(int fd, struct link_msg *m, int ms, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return err_set(err, ERR_TIMEOUT, "no answer");
	return n < 0 ? err_sys(err, "poll") : link_recv(fd, m, err);
}

/* The child's first acts: its socket is 3, and it dies with its parent. */
static void
settle(int fd, const char *name)
{
	if (fd != 3 && dup2(fd, 3) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	setpriority(PRIO_PROCESS, 0, WORK_NICE);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN);
}

/* ---- the owner ---- */

static int
own_namespace(struct err *err)
{
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(err, "network namespace");
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "open network namespace") : fd;
}

static void
owner_main(void)
{
	struct link_msg m;
	struct err err;
	int home;

	close_range(4, ~0u, 0);
	if (unshare(CLONE_NEWUSER) < 0)
		_exit(2);
	home = own_namespace(&err);
	while (home >= 0 && receive(3, &m, -1, &err) == 1) {
		int ns = own_namespace(&err);
		struct link_msg reply = { .type = NET_READY, .nfd = 1 };

		link_msg_drop(&m);
		reply.fd[0] = ns;
		if (ns < 0)
			reply.type = NET_FAILED, reply.nfd = 0;
		/* Back home, or this process would keep it alive. */
		if (link_send(3, &reply, &err) < 0 ||
		    setns(home, CLONE_NEWNET) < 0)
			break;
		if (ns >= 0)
			close(ns);
	}
	_exit(0);
}

/* euid of the owner while it unshares: the namespace is then its. */
static int
owner_start(uid_t owner, struct err *err)
{
	auto_fd int mine = -1, its = -1;
	int pair[2];
	pid_t pid;

	if (link_pair(pair, err) < 0)
		return -1;
	mine = pair[0];
	its = pair[1];
	pid = fork();
	if (pid < 0)
		return err_sys(err, "fork");
	if (pid > 0)
		return take_fd(&mine);
	settle(its, "hutch-netown");
	prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP);
	if (owner != 0 && setresuid((uid_t)-1, owner, (uid_t)-1) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a new euid has cleared it */
	owner_main();
	return -1;
}

/* ---- the linker ---- */

static int
wire_inside(int home, const struct net_pair *p, struct err *err)
{
	struct nl_sock *s;
	int r = -1;

	if (setns(p->netns, CLONE_NEWNET) < 0)
		return err_sys(err, "enter network namespace");
	s = net_link_open(err);
	if (s != NULL)
		r = net_link_inside(s, p, err);
	net_link_close(s);
	if (setns(home, CLONE_NEWNET) < 0)
		_exit(3); /* lost in a namespace of a sandbox: start anew */
	return r;
}

static int
make_one(struct nl_sock *s, int owner, int home, const struct net_want *w,
    struct err *err)
{
	struct link_msg m = { .type = NET_WANT };
	struct net_pair p = { .ipv4 = w->ipv4, .ipv6 = w->ipv6 };
	auto_fd int netns = -1;

	memcpy(p.host, w->link, sizeof p.host);
	p.host[sizeof p.host - 1] = '\0';
	if (link_send(owner, &m, err) < 0)
		return -1;
	if (receive(owner, &m, START_MS, err) != 1 || m.nfd != 1) {
		link_msg_drop(&m);
		return err_set(err, ERR_SYS, "no network namespace");
	}
	netns = p.netns = m.fd[0];
	if (net_link_pair(s, &p, err) < 0 || wire_inside(home, &p, err) < 0)
		return -1; /* the pair goes with the namespace */
	return take_fd(&netns);
}

static void
linker_main(int owner)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	struct err err = { 0 };
	struct nl_sock *s = net_link_open(&err);
	struct link_msg m;

	while (s != NULL && home >= 0 && receive(3, &m, -1, &err) == 1) {
		const struct net_want *w = (const void *)m.body;
		struct link_msg reply = { .type = NET_READY, .nfd = 1 };

		if (m.type != NET_WANT || m.len != sizeof *w || m.nfd != 0)
			break;
		memcpy(reply.body, w, reply.len = sizeof *w);
		reply.fd[0] = make_one(s, owner, home, w, &err);
		if (reply.fd[0] < 0) {
			log_err(LOG_DEBUG, &err, "namespace not made", NULL);
			reply.type = NET_FAILED;
			reply.nfd = 0;
		}
		if (link_send(3, &reply, &err) < 0)
			break;
		link_msg_drop(&reply);
	}
	_exit(0);
}

int
net_worker_start(uid_t owner, pid_t *pid, struct err *err)
{
	auto_fd int mine = -1, its = -1;
	int pair[2], to_owner;
	pid_t child;

	if (link_pair(pair, err) < 0)
		return -1;
	mine = pair[0];
	its = pair[1];
	child = fork();
	if (child < 0)
		return err_sys(err, "fork");
	if (child == 0) {
		struct err why = { 0 };

		settle(its, "hutch-netlink");
		close_range(4, ~0u, 0);
		to_owner = owner_start(owner, &why);
		if (to_owner < 0)
			_exit(1);
		linker_main(to_owner);
	}
	*pid = child;
	return take_fd(&mine);
}
