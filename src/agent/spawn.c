#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "agent/env.h"
#include "agent/spawn.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"

#define FDS_MAX 8
#define PATH_FALLBACK                                                          \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum step { STEP_FDS, STEP_CWD, STEP_TTY, STEP_EXEC };

struct start { /* shared with the child, in both directions */
	const struct spawn *spec;
	const char *path;
	int cwd, null;
	enum step step;
	int error;
};

/* The child runs on this while we wait for it: one at a time. */
static char stack[64 * 1024] __attribute__((aligned(64)));
static char candidate[PATH_MAX];

static int
put_fds(const struct start *s)
{
	int from[FDS_MAX];

	for (size_t i = 0; i < s->spec->nfd; i++) {
		from[i] = s->spec->fd[i] < 0 ? s->null : s->spec->fd[i];
		/* Out of the way of the numbers that are about to be taken. */
		if (from[i] < (int)s->spec->nfd && from[i] != (int)i)
			from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, FDS_MAX);
		if (from[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < s->spec->nfd; i++) {
		if (from[i] == (int)i && fcntl(from[i], F_SETFD, 0) < 0)
			return -1;
		if (from[i] != (int)i && dup2(from[i], (int)i) < 0)
			return -1;
	}
	return close_range((unsigned)s->spec->nfd, ~0U, 0);
}

/* As execvp does, in the guest's PATH instead of ours. */
static void
execute(const struct start *s)
{
	char *const *argv = (char *const *)(uintptr_t)s->spec->argv;
	const char *name = argv[0], *end;
	int worst = ENOENT;

	if (strchr(name, '/') != NULL) {
		execve(name, argv, s->spec->env);
		return;
	}
	for (const char *at = s->path;; at = end + 1) {
		size_t dir, n = strlen(name);

		end = strchrnul(at, ':');
		dir = (size_t)(end - at);
		if (dir > 0 && dir + 1 + n < sizeof candidate) {
			memcpy(candidate, at, dir);
			candidate[dir] = '/';
			memcpy(candidate + dir + 1, name, n + 1);
			execve(candidate, argv, s->spec->env);
			if (errno != ENOENT && errno != ENOTDIR)
				worst = errno;
			if (worst != ENOENT && worst != EACCES)
				break;
		}
		if (*end == '\0')
			break;
	}
	errno = worst;
}

static int
child(void *arg)
{
	struct start *s = arg;
	sigset_t none;

	setsid();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	s->step = STEP_CWD;
	if (fchdir(s->cwd) < 0)
		goto failed;
	s->step = STEP_FDS;
	if (put_fds(s) < 0)
		goto failed;
	s->step = STEP_TTY;
	if (s->spec->tty && ioctl(0, TIOCSCTTY, 0) < 0)
		goto failed;
	s->step = STEP_EXEC;
	sigprocmask(SIG_SETMASK, &none, NULL);
	execute(s);
failed:
	s->error = errno;
	_exit(127);
}

static const char *
path_of(char *const *env)
{
	const char *path = env_get(env, "PATH");

	return path != NULL ? path : PATH_FALLBACK;
}

static int
explain(const struct start *s, struct err *err)
{
	const char *name = s->spec->argv[0];

	switch (s->step) {
	case STEP_CWD:
		errno = s->error;
		return err_sys(err, "directory %s", s->spec->cwd);
	case STEP_EXEC:
		break;
	default:
		errno = s->error;
		return err_sys(err, "%s: start", name);
	}
	switch (s->error) {
	case ENOENT:
	case ENOTDIR:
		err_set(err, ERR_MISSING, "%s: no such program in %s", name,
		    strchr(name, '/') ? "the sandbox" : s->path);
		err->sys = ENOENT;
		return -1;
	case EACCES:
	case EPERM:
		return err_set(err, ERR_DENIED, "%s: not allowed to run it",
		    name);
	case ENOEXEC:
		return err_set(err, ERR_DENIED, "%s: not a program", name);
	case E2BIG:
		return err_set(err, ERR_LIMIT,
		    "%s: arguments and environment are too long", name);
	default:
		errno = s->error;
		return err_sys(err, "%s: execute", name);
	}
}

/*
 * Magic links would lead to descriptors of ours (attack: cwd=/proc/self/fd).
 * Our own directory is "/", always.
 */
static int
open_cwd(const char *cwd, struct err *err)
{
	int fd = path_open(AT_FDCWD, cwd, O_PATH | O_DIRECTORY, 0, PATH_IN_ROOT,
	    err);

	if (fd >= 0)
		return fd;
	if (err->sys == ENOENT || err->sys == ENOTDIR) {
		err_set(err, ERR_MISSING, "no such directory: %s", cwd);
		err->sys = ENOTDIR;
		return -1;
	}
	return err_wrap(err, "working directory");
}

pid_t
spawn(const struct spawn *spec, struct err *err)
{
	static int null = -1; /* of our own /dev: not in the way of anything */
	auto_fd int cwd = open_cwd(spec->cwd, err);
	struct start s = { .spec = spec,
		.path = path_of(spec->env),
		.cwd = cwd };
	sigset_t all, before;
	pid_t pid;

	if (cwd < 0)
		return -1;
	if (null < 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_sys(err, "open /dev/null");
	s.null = null;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(child, stack + sizeof stack,
	    CLONE_VM | CLONE_VFORK | SIGCHLD, &s);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return err_sys(err, "%s: new process", spec->argv[0]);
	if (s.error != 0)
		return explain(&s, err); /* reap() collects what is left */
	return pid;
}
