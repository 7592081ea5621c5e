#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include "agent/reap.h"
#include "base/str.h"
#include "wire/loop.h"

#define BUCKETS 64

struct child {
	LIST_ENTRY(child) next;
	pid_t pid;
	reap_fn *fn;
	void *arg;
};

static LIST_HEAD(, child) children[BUCKETS];

static struct child *
find(pid_t pid)
{
	struct child *c;

	LIST_FOREACH(c, &children[pid % BUCKETS], next)
	if (c->pid == pid)
		return c;
	return NULL;
}

static void
collect(void *arg, int what)
{
	pid_t pid;
	int status;

	(void)arg;
	(void)what;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct child *c = find(pid);

		if (c == NULL)
			continue; /* adopted, or nobody cares any more */
		LIST_REMOVE(c, next);
		c->fn(c->arg, status);
		free(c);
	}
}

void
reap_start(struct loop *l)
{
	watch_signal(l, SIGCHLD, collect, NULL);
}

void
reap_on(pid_t pid, reap_fn *fn, void *arg)
{
	struct child *c = xcalloc(1, sizeof *c);

	c->pid = pid;
	c->fn = fn;
	c->arg = arg;
	LIST_INSERT_HEAD(&children[pid % BUCKETS], c, next);
}

int
reap_exit(int status)
{
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}
