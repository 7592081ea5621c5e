#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/driver.h"
#include "agent/env.h"
#include "agent/interp.h"
#include "agent/reap.h"
#include "agent/spawn.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "wire/loop.h"

#define DEAF_MS 200   /* between the end of its socket and its own */
#define STEP_MS 1000  /* between one interrupt and the next */
#define STEPS_MAX 10  /* then it is killed */
#define JOINED (-1)   /* a pid that is not known yet */
#define ENV_MAX 65536 /* what a joined one is told in one message */

static struct {
	const struct world *world;
	struct interp_owner owner;
	pid_t pid;  /* 0: none */
	int socket; /* -1: none, or it hung up */
	struct watch *readable, *ladder, *deaf;
	int status_fd; /* of a joined one; -1: a child of ours */
	struct watch *status;
	bool ready;   /* it has said hello */
	bool hung_up; /* it closed its socket and lives */
	bool told;    /* a joined one: where it is, and its environment */
	int steps;    /* interrupts sent; 0: none is wanted */
} in = { .socket = -1, .status_fd = -1 };

/* ---- its end ---- */

static void
calm(void)
{
	in.steps = 0;
	watch_stop(in.ladder);
}

static void
hang_up(void)
{
	watch_free(in.readable);
	in.readable = NULL;
	if (in.socket >= 0)
		close(take_fd(&in.socket));
}

static void
describe(char *why, size_t room, int how)
{
	if (!in.ready)
		snprintf(why, room, "Python could not start: ");
	else
		snprintf(why, room, "the interpreter ended: ");
	why += strlen(why);
	room -= 32;
	if (in.hung_up)
		snprintf(why, room, "it closed its connection to the agent");
	else if (how == -SIGKILL && in.steps >= STEPS_MAX)
		snprintf(why, room,
		    "it did not heed interrupts and was killed");
	else if (how == -SIGKILL)
		snprintf(why, room,
		    "killed by signal 9, as happens when "
		    "memory runs out");
	else if (how < 0)
		snprintf(why, room, "killed by signal %d (%s)", -how,
		    strsignal(-how));
	else
		snprintf(why, room, "exit status %d", how);
}

static void
ended(void *arg, int status)
{
	char why[160];
	int how = reap_exit(status);

	(void)arg;
	describe(why, sizeof why, how);
	in.pid = 0;
	watch_free(in.status);
	in.status = NULL;
	if (in.status_fd >= 0)
		close(take_fd(&in.status_fd));
	calm();
	hang_up();
	in.owner.ended(why, how);
}

static void
still_there(void *arg, int what)
{
	(void)arg;
	(void)what;
	if (in.pid == 0 || in.socket >= 0)
		return;
	in.hung_up = true;
	if (in.pid > 0)
		kill(in.pid, SIGKILL);
}

/* The first message has the kernel's word for who sent it: a joined
 * interpreter's pid as it is in here. */
static ssize_t
receive(char *message, size_t room)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} space;
	struct iovec iov = { message, room };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space.buf,
		.msg_controllen = sizeof space.buf };
	ssize_t n = recvmsg(in.socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	struct ucred who;

	if (in.pid == JOINED && c != NULL && c->cmsg_level == SOL_SOCKET &&
	    c->cmsg_type == SCM_CREDENTIALS &&
	    c->cmsg_len == CMSG_LEN(sizeof who)) {
		memcpy(&who, CMSG_DATA(c), sizeof who);
		if (who.pid > 1)
			in.pid = who.pid;
	}
	return n;
}

static void
readable(void *arg, int what)
{
	char message[256];
	ssize_t n = receive(message, sizeof message);

	(void)arg;
	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* its end, which its status will tell; or it is deaf */
		hang_up();
		watch_arm(in.deaf, DEAF_MS);
		return;
	}
	if (message[0] == 'H')
		in.ready = true;
	if (message[0] == 'D') {
		calm();
		in.owner.done();
	}
}

/* ---- its beginning ---- */

static pid_t
start_as(const char *name, const int fd[5], struct err *err)
{
	const char *const argv[] = { name, "-c",
		"import os;exec(compile(os.fdopen(4,'rb').read(),'hutch_cell',"
		"'exec'),{'__name__':'hutch_cell_run'})",
		NULL };
	struct spawn s = { .argv = argv,
		.env = in.world->env,
		.cwd = in.world->cwd,
		.fd = fd,
		.nfd = 5 };

	return spawn(&s, err);
}

static pid_t
start_any(const int fd[5], struct err *err)
{
	pid_t pid = start_as("python3", fd, err);
	const char *path = env_get(in.world->env, "PATH");

	if (pid < 0 && err->code == ERR_MISSING && err->sys != ENOTDIR)
		pid = start_as("python", fd, err);
	if (pid < 0 && err->code == ERR_MISSING && err->sys != ENOTDIR)
		return err_set(err, ERR_MISSING,
		    "no Python in this image: run_ipython_cell needs a "
		    "python3 in PATH (%s)",
		    path != NULL ? path : "not set");
	return pid;
}

static int
start(int out, int err_fd, struct err *err)
{
	auto_fd int script = -1, ours = -1, theirs = -1;
	int pair[2];

	script = file_memfd("hutch_cell", driver, driver_len, err);
	if (script < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	in.pid =
	    start_any((const int[]){ -1, out, err_fd, theirs, script }, err);
	if (in.pid < 0) {
		in.pid = 0;
		return -1;
	}
	in.socket = take_fd(&ours);
	in.ready = in.hung_up = false;
	in.readable =
	    watch_fd(in.world->loop, in.socket, WATCH_READ, readable, NULL);
	reap_on(in.pid, ended, NULL);
	return 0;
}

/* ---- one that joins ---- */

static void
status(void *arg, int what)
{
	int value = 0;
	ssize_t n = recv(in.status_fd, &value, sizeof value, MSG_DONTWAIT);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* No status: whoever would have told it is gone, and so is it. */
	ended(arg, n == (ssize_t)sizeof value ? value : SIGKILL);
}

/* Directory and environment, each with its NUL but the last. */
static int
send_setup(int cells, struct err *err)
{
	auto_str struct str told = { 0 };

	str_puts(&told, in.world->cwd);
	for (char **e = in.world->env; *e != NULL; e++) {
		str_putc(&told, '\0');
		str_puts(&told, *e);
	}
	if (told.len > ENV_MAX)
		return err_set(err, ERR_LIMIT, "environment");
	if (send(cells, told.at, told.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return err_sys(err, "set up the interpreter");
	return 0;
}

void
interp_join(int cells, int status_fd)
{
	auto_fd int c = cells, s = status_fd;
	int on = 1;

	if (in.pid != 0 ||
	    setsockopt(c, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return;
	in.pid = JOINED;
	in.socket = take_fd(&c);
	in.status_fd = take_fd(&s);
	in.ready = in.hung_up = in.told = false;
	in.readable =
	    watch_fd(in.world->loop, in.socket, WATCH_READ, readable, NULL);
	in.status =
	    watch_fd(in.world->loop, in.status_fd, WATCH_READ, status, NULL);
}

/* ---- cells ---- */

static int
send_cell(int code, int out, int err_fd, struct err *err)
{
	union {
		char buf[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} space = { .buf = { 0 } };
	struct iovec iov = { (void *)(uintptr_t) "R", 1 };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space.buf,
		.msg_controllen = sizeof space.buf };
	int fd[3] = { out, err_fd, code };

	space.align.cmsg_level = SOL_SOCKET;
	space.align.cmsg_type = SCM_RIGHTS;
	space.align.cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(&space.align), fd, sizeof fd);
	if (sendmsg(in.socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	    errno == EPIPE || errno == ECONNRESET)
		return 0; /* it has ended already: ended() will say how */
	return err_sys(err, "hand the cell to the interpreter");
}

int
interp_run(int code, int out, int err_fd, struct err *err)
{
	if (in.pid == 0)
		in.world->control(); /* one may stand at the door */
	if (in.status_fd >= 0 && !in.told && send_setup(in.socket, err) < 0)
		return -1;
	in.told = true;
	if (in.pid == 0 && start(out, err_fd, err) < 0)
		return -1;
	return send_cell(code, out, err_fd, err);
}

static void
next_step(void *arg, int what)
{
	(void)arg;
	(void)what;
	if (in.pid == 0)
		return;
	in.steps++;
	watch_arm(in.ladder, STEP_MS);
	if (in.pid == JOINED) /* on its way in: there is nobody to signal */
		return;
	if (in.steps >= STEPS_MAX)
		kill(-in.pid, SIGKILL);
	else if (in.steps == 1)
		kill(in.pid, SIGINT);
	else
		kill(-in.pid, SIGINT); /* it may be waiting for a child */
}

void
interp_interrupt(void)
{
	if (in.steps == 0)
		next_step(NULL, 0);
}

void
interp_init(const struct world *world, const struct interp_owner *owner)
{
	in.world = world;
	in.owner = *owner;
	in.ladder = watch_timer(world->loop, next_step, NULL);
	in.deaf = watch_timer(world->loop, still_there, NULL);
}

bool
interp_ending(void)
{
	return in.pid != 0 && in.socket < 0;
}
