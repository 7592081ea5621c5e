#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/trash.h"
#include "wire/loop.h"

struct trash {
	struct loop *loop;
	int dir;
	pid_t pid; /* 0: none */
	int pidfd;
	struct watch *end;
	bool again;
};

int
trash_add(int trash, int dir, const char *name, struct err *err)
{
	uint8_t random[16];
	char fresh[2 * sizeof random + 1];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_sys(err, "random name");
	hex_put(fresh, random, sizeof random);
	if (renameat2(dir, name, trash, fresh, RENAME_NOREPLACE) < 0)
		return err_sys(err, "throw away %s", name);
	return 0;
}

static DIR *
listing(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d == NULL && fd >= 0)
		close(fd);
	return d;
}

static bool
dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void
trash_add_all(int trash, int dir)
{
	DIR *d = listing(dir);
	struct dirent *e;
	struct err err;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (!dots(e->d_name) &&
		    trash_add(trash, dir, e->d_name, &err) < 0)
			log_err(LOG_WARN, &err, "left over", NULL);
	if (d != NULL)
		closedir(d);
}

/* The process: no way back into the broker. */
static _Noreturn void
remover(int dir, pid_t parent)
{
	DIR *d;
	struct dirent *e;
	struct err err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	d = listing(dir);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (!dots(e->d_name) &&
		    file_remove_tree(dir, e->d_name, &err) < 0)
			log_err(LOG_WARN, &err, "not removed", NULL);
	_exit(0);
}

struct trash *
trash_new(struct loop *l, int dir)
{
	struct trash *t = xcalloc(1, sizeof *t);

	t->loop = l;
	t->dir = dir;
	t->pidfd = -1;
	return t;
}

static void
reap(struct trash *t)
{
	int status = 0;

	watch_free(t->end);
	t->end = NULL;
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->pidfd = -1;
	waitpid(t->pid, &status, 0);
	t->pid = 0;
	if (status != 0)
		log_f(LOG_WARN, "the remover has ended: status %#x", status);
}

static void
ended(void *arg, int what)
{
	struct trash *t = arg;

	(void)what;
	reap(t);
	if (t->again)
		trash_empty(t);
}

void
trash_empty(struct trash *t)
{
	pid_t self = getpid();

	if (t == NULL)
		return;
	t->again = t->pid != 0;
	if (t->again)
		return;
	t->pid = fork();
	if (t->pid == 0)
		remover(t->dir, self);
	t->pidfd = t->pid > 0 ? pidfd_open(t->pid, 0) : -1;
	if (t->pidfd < 0) {
		log_f(LOG_WARN, "no process to remove with: %s",
		    strerror(errno));
		if (t->pid > 0) {
			kill(t->pid, SIGKILL);
			reap(t);
		}
		t->pid = 0;
		return;
	}
	fcntl(t->pidfd, F_SETFD, FD_CLOEXEC);
	t->end = watch_fd(t->loop, t->pidfd, WATCH_READ, ended, t);
}

void
trash_free(struct trash *t)
{
	if (t == NULL)
		return;
	if (t->pid > 0) {
		kill(t->pid, SIGKILL);
		reap(t);
	}
	free(t);
}
