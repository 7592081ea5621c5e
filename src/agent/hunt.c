#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/hunt.h"
#include "base/own.h"
#include "base/str.h"
#include "wire/loop.h"

#define MOST 4096 /* processes looked at */

struct process {
	pid_t pid, parent, group, session;
	bool ours;
};

struct hunt {
	struct watch *timer;
	int *fd; /* pidfds: numbers may be given anew while we wait */
	size_t n;
};

static bool
look(int proc, const char *name, struct process *p)
{
	char path[64], text[512], *at;
	auto_fd int fd = -1;
	ssize_t n;

	if (snprintf(path, sizeof path, "%s/stat", name) >= (int)sizeof path)
		return false;
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name before it may hold anything */
	p->pid = (pid_t)strtol(name, NULL, 10);
	p->ours = false;
	return at != NULL &&
	    sscanf(at + 1, " %*c %d %d %d", &p->parent, &p->group,
		&p->session) == 3;
}

static size_t
all_processes(struct process *p, size_t most)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	if (d == NULL)
		return 0;
	while (n < most && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    look(dirfd(d), e->d_name, &p[n]))
			n++;
	closedir(d);
	return n;
}

static bool
belongs(const struct process *all, size_t n, const struct process *p,
    pid_t leader)
{
	if (p->pid == leader || p->group == leader || p->session == leader)
		return true;
	for (size_t i = 0; i < n; i++)
		if (all[i].pid == p->parent)
			return all[i].ours;
	return false;
}

static void
mark(struct process *all, size_t n, pid_t leader)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < n; i++)
			if (!all[i].ours && all[i].pid != getpid() &&
			    belongs(all, n, &all[i], leader))
				again = all[i].ours = true;
	}
}

static void
strike(void *arg, int what)
{
	struct hunt *h = arg;

	(void)what;
	for (size_t i = 0; i < h->n; i++) {
		syscall(SYS_pidfd_send_signal, h->fd[i], SIGKILL, NULL, 0);
		close(h->fd[i]);
	}
	watch_free(h->timer);
	free(h->fd);
	free(h);
}

void
hunt(struct loop *loop, pid_t leader)
{
	auto_free struct process *all = xcalloc(MOST, sizeof *all);
	size_t n = all_processes(all, MOST);
	struct hunt *h = xcalloc(1, sizeof *h);

	mark(all, n, leader);
	h->fd = xcalloc(n, sizeof *h->fd);
	for (size_t i = 0; i < n; i++) {
		int fd;

		if (!all[i].ours)
			continue;
		fd = (int)syscall(SYS_pidfd_open, all[i].pid, 0);
		if (fd >= 0)
			h->fd[h->n++] = fd;
	}
	kill(leader, SIGTERM); /* even without /proc */
	kill(-leader, SIGTERM);
	for (size_t i = 0; i < h->n; i++)
		syscall(SYS_pidfd_send_signal, h->fd[i], SIGTERM, NULL, 0);
	h->timer = watch_timer(loop, strike, h);
	watch_arm(h->timer, HUNT_GRACE_MS);
}
