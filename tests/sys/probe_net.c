#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/sys/probe.h"

#define WAIT_MS 900

struct place {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at;
	socklen_t len;
};

/* 192.0.2.1, 2001:db8::1, fe80::1%eth0 */
static int
place_of(char *host, int port, struct place *p)
{
	char *link = strchr(host, '%');

	memset(p, 0, sizeof *p);
	if (link != NULL)
		*link++ = '\0';
	if (inet_pton(AF_INET, host, &p->at.v4.sin_addr) == 1) {
		p->at.v4.sin_family = AF_INET;
		p->at.v4.sin_port = htons((uint16_t)port);
		p->len = sizeof p->at.v4;
		return 0;
	}
	if (inet_pton(AF_INET6, host, &p->at.v6.sin6_addr) != 1)
		return -1;
	p->at.v6.sin6_family = AF_INET6;
	p->at.v6.sin6_port = htons((uint16_t)port);
	p->at.v6.sin6_scope_id = link != NULL ? if_nametoindex(link) : 0;
	p->len = sizeof p->at.v6;
	return 0;
}

static int
wait_for(int fd, short what)
{
	struct pollfd p = { fd, what, 0 };
	int r = poll(&p, 1, WAIT_MS);

	if (r == 0)
		errno = ETIMEDOUT;
	return r == 1 ? 0 : -1;
}

/* Connected, or with a byte of an answer to what is no connection. */
static int
reach(const char *kind, const struct place *p)
{
	static const char ping6[8] = { (char)ICMP6_ECHO_REQUEST },
			  ping4[8] = { ICMP_ECHO }, dns[20] = "x";
	bool six = p->at.any.sa_family == AF_INET6;
	const char *say = strcmp(kind, "udp") == 0 ? dns : six ? ping6 : ping4;
	int error = 0, fd;
	socklen_t n = sizeof error;

	if (strcmp(kind, "tcp") == 0) {
		fd =
		    socket(p->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fd, &p->at.any, p->len) < 0 &&
		    (errno != EINPROGRESS || wait_for(fd, POLLOUT) < 0))
			return -1;
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
		errno = error;
		return error == 0 ? 0 : -1;
	}
	fd = socket(p->at.any.sa_family, SOCK_DGRAM,
	    say == dns ? 0
		: six  ? IPPROTO_ICMPV6
		       : IPPROTO_ICMP);
	if (sendto(fd, say, say == dns ? 20 : 8, 0, &p->at.any, p->len) < 0 ||
	    wait_for(fd, POLLIN) < 0 ||
	    recv(fd, &(char[64]){ 0 }, 64, MSG_DONTWAIT) < 0)
		return -1;
	return 0;
}

/* KIND/HOST/PORT,...: all at once; a line for each. */
void
probe_reach(const char *targets)
{
	char *list = strdup(targets), *save = NULL;

	for (char *one = strtok_r(list, ",", &save); one != NULL;
	     one = strtok_r(NULL, ",", &save)) {
		char name[128], kind[8], host[64];
		struct place p;
		int port;

		snprintf(name, sizeof name, "%s", one);
		if (sscanf(one, "%7[^/]/%63[^/]/%d", kind, host, &port) != 3 ||
		    place_of(host, port, &p) < 0) {
			printf("%s=what?\n", name);
			continue;
		}
		fflush(stdout);
		if (fork() == 0) {
			say(name, reach(kind, &p));
			fflush(stdout);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	free(list);
}

/* A socket of the abstract namespace: streams, then datagrams. */
void
probe_abstract(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	    strlen(name));

	snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%s", name);
	say("stream",
	    connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, n));
	say("dgram",
	    sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0,
		(struct sockaddr *)&a, n));
}

/*
 * What the kernel counts for the owner of a user namespace: takes all there
 * is, says how many, and keeps them for so many seconds.
 */
void
probe_counted(const char *seconds)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	siginfo_t si = { .si_signo = 40, .si_code = SI_QUEUE };
	sigset_t set;
	int n;

	sigemptyset(&set);
	sigaddset(&set, 40);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (n = 0;
	     n < 100000 && syscall(SYS_rt_sigqueueinfo, getpid(), 40, &si) == 0;
	     n++)
		;
	printf("signals=%d\n", n);
	for (n = 0; n < 1000; n++) {
		char name[16];

		snprintf(name, sizeof name, "q%d", n);
		if (syscall(SYS_mq_open, name, O_CREAT | O_RDWR, 0600, &attr) <
		    0)
			break;
	}
	printf("queues=%d\n", n);
	for (n = 0; n < 5000 && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0; n++)
		;
	printf("terminals=%d\n", n);
	fflush(stdout);
	sleep((unsigned)atoi(seconds));
}

/* So many flows to UDP port 9 of there, each from a port of its own. */
void
probe_flows(const char *target)
{
	char host[64] = "";
	struct place p;
	int count = 0, sent = 0;

	if (sscanf(target, "%d/%63s", &count, host) != 2 ||
	    place_of(host, 9, &p) < 0)
		return;
	for (int i = 0; i < count; i++) {
		int fd = socket(p.at.any.sa_family, SOCK_DGRAM, 0);

		sent += sendto(fd, "x", 1, 0, &p.at.any, p.len) == 1;
		close(fd);
	}
	printf("sent=%d\n", sent);
}
