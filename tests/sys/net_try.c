/*
 * net_try STATE-DIRECTORY COUNT [RESOLVER]: starts isolator/net in the current
 * network namespace, takes COUNT leases, leaves one sleeping process in each
 * and prints "lease PID IPV4 LINK"; ends all at end of file on standard input.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "isolator/net.h"

static int
die(const struct err *err, const char *what)
{
	log_err(LOG_ERROR, err, what, NULL);
	return 1;
}

static pid_t
live_in(const struct net_lease *l)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setns(l->netns, CLONE_NEWNET) < 0)
		_exit(1);
	close_range(3, ~0u, 0);
	for (;;)
		pause();
}

int
main(int argc, char **argv)
{
	struct net_conf conf = { .instance = 7,
		.prefix = 0x64680000,
		.ready = 4,
		.owner = 61234 };
	int count = argc > 2 ? atoi(argv[2]) : 0;
	struct net_lease l;
	pid_t pid[64];
	struct err err;
	struct net *n;
	char c;

	if (argc < 3 || count < 1 || count > 64)
		return 2;
	conf.state = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	conf.resolver = argc > 3 ? argv[3] : NULL;
	n = net_start(&conf, &err);
	if (n == NULL)
		return die(&err, "start");
	for (int i = 0; i < count; i++) {
		char text[INET_ADDRSTRLEN];
		int64_t t = clock_us();

		if (net_take(n, &l, 3000, &err) < 0)
			return die(&err, "take");
		t = clock_us() - t;
		pid[i] = live_in(&l);
		close(l.netns);
		inet_ntop(AF_INET, &l.ipv4, text, sizeof text);
		printf("lease %d %s %s %lld\n", (int)pid[i], text, l.link,
		    (long long)t);
	}
	printf("ipv6 %d resolver %s\n", net_has_ipv6(n), net_resolver(n));
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	for (int i = 0; i < count; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	net_stop(n);
	return 0;
}
