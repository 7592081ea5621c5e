#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "agent/call.h"
#include "agent/hunt.h"
#include "agent/pump.h"
#include "agent/reap.h"
#include "agent/run.h"
#include "agent/spawn.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "wire/loop.h"

/*
 * A pipe that is still open after the end: either something in the background
 * has it, or something is about to write its last words (a tee, a pager).
 */
#define GRACE_MS 50
#define INPUT_ROOM (64 * 1024)

struct job {
	struct call *call;
	pid_t pid;
	bool ended; /* the process; reaped */
	int status;
	bool hunted, timeout;
	struct pump out, err;
	struct watch *grace;
	/* input */
	int in; /* pipe, or the terminal; -1: closed */
	bool tty, in_eof;
	struct watch *in_watch;
	struct str in_buf;
};

static void
close_input(struct job *j)
{
	watch_free(j->in_watch);
	j->in_watch = NULL;
	if (j->in >= 0)
		close(take_fd(&j->in));
	str_free(&j->in_buf);
}

static void
finish(struct job *j)
{
	struct err why;
	struct call_result r = { .has_exit = true,
		.exit = reap_exit(j->status) };

	if (j->timeout)
		err_set(&why, ERR_TIMEOUT,
		    "not done in the time it was given; ended");
	else
		err_set(&why, ERR_BUSY, "ended on request");
	if (j->hunted)
		r.err = &why;
	close_input(j);
	watch_free(j->grace);
	loop_unpost(call_world(j->call)->loop, j);
	call_done(j->call, &r);
	free(j);
}

static void
check(void *arg)
{
	struct job *j = arg;

	if (j->ended && j->out.fd < 0 && j->err.fd < 0)
		finish(j);
}

static void
pump_over(void *arg)
{
	struct job *j = arg;

	if (j->ended) /* not from inside: finish() frees the pump */
		loop_post(call_world(j->call)->loop, check, j);
}

static void
grace_over(void *arg, int what)
{
	struct job *j = arg;

	(void)what;
	pump_finish(&j->out);
	pump_finish(&j->err);
}

static void
ended(void *arg, int status)
{
	struct job *j = arg;

	j->ended = true;
	j->status = status;
	if (j->out.fd < 0 && j->err.fd < 0) {
		finish(j);
		return;
	}
	j->grace = watch_timer(call_world(j->call)->loop, grace_over, j);
	watch_arm(j->grace, GRACE_MS);
}

/* ---- what the front says to it ---- */

static void
on_room(void *work)
{
	struct job *j = work;

	pump_room(&j->out);
	pump_room(&j->err);
}

static void
on_end(void *work, enum call_end why)
{
	struct job *j = work;

	if (j->ended) { /* only its output is still on its way */
		pump_drop(&j->out);
		pump_drop(&j->err);
		return;
	}
	if (j->hunted)
		return;
	j->hunted = true;
	j->timeout = why == END_TIMEOUT;
	hunt(call_world(j->call)->loop, j->pid);
}

static void
feed(void *arg, int what)
{
	struct job *j = arg;
	ssize_t n = 0;

	(void)what;
	if (j->in_buf.len > 0) {
		n = write(j->in, j->in_buf.at, j->in_buf.len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) { /* it does not read: take the rest, drop it */
			call_want(j->call, j->in_buf.len);
			close_input(j);
			return;
		}
		str_drop(&j->in_buf, (size_t)n);
		call_want(j->call, (size_t)n);
	}
	if (j->in_buf.len > 0)
		return;
	watch_stop(j->in_watch);
	if (j->in_eof)
		close_input(j);
}

static void
on_input(void *work, const uint8_t *bytes, size_t n, bool eof)
{
	struct job *j = work;
	static const char eot = 4;

	if (j->in < 0) {
		call_want(j->call, n);
		return;
	}
	str_add(&j->in_buf, bytes, n);
	if (eof && j->tty)
		str_add(&j->in_buf, &eot,
		    1); /* a terminal can't be half shut */
	else if (eof)
		j->in_eof = true;
	watch_go(j->in_watch);
}

static void
on_resize(void *work, unsigned rows, unsigned cols)
{
	struct job *j = work;
	struct winsize w = { .ws_row = (unsigned short)rows,
		.ws_col = (unsigned short)cols };

	if (j->tty && j->out.fd >= 0)
		ioctl(j->out.fd, TIOCSWINSZ, &w);
}

static const struct call_ops ops = {
	.room = on_room,
	.input = on_input,
	.resize = on_resize,
	.end = on_end,
};

/* ---- start ---- */

struct ends { /* the child's side and ours */
	int child[4];
	int out, err, in;
};

static void
ends_close(struct ends *e)
{
	for (int i = 0; i < 4; i++)
		own_closep(&e->child[i]);
	own_closep(&e->out);
	own_closep(&e->err);
	own_closep(&e->in);
}

static int
pipe_to(int *ours, int *childs, bool child_reads, struct err *err)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	*ours = fd[child_reads ? 1 : 0];
	*childs = fd[child_reads ? 0 : 1];
	return 0;
}

static int
make_pipes(const struct run *r, struct ends *e, struct err *err)
{
	if (r->input && pipe_to(&e->in, &e->child[0], true, err) < 0)
		return -1;
	if (pipe_to(&e->out, &e->child[1], false, err) < 0)
		return -1;
	return pipe_to(&e->err, &e->child[2], false, err);
}

static int
make_tty(const struct run *r, struct ends *e, struct err *err)
{
	struct winsize w = { .ws_row = (unsigned short)r->rows,
		.ws_col = (unsigned short)r->cols };
	int unlock = 0;

	e->out = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->out < 0)
		return err_sys(err, "open /dev/ptmx");
	if (ioctl(e->out, TIOCSPTLCK, &unlock) < 0)
		return err_sys(err, "unlock the terminal");
	e->child[0] = ioctl(e->out, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (e->child[0] < 0)
		return err_sys(err, "open the terminal");
	if (w.ws_row > 0 && ioctl(e->out, TIOCSWINSZ, &w) < 0)
		return err_sys(err, "size of the terminal");
	for (int i = 1; i < 3; i++)
		if ((e->child[i] = fcntl(e->child[0], F_DUPFD_CLOEXEC, 3)) < 0)
			return err_sys(err, "duplicate the terminal");
	if (r->input && (e->in = fcntl(e->out, F_DUPFD_CLOEXEC, 3)) < 0)
		return err_sys(err, "duplicate the terminal");
	return 0;
}

static void
begin(struct job *j, struct ends *e)
{
	struct loop *loop = call_world(j->call)->loop;

	pump_start(&j->out, j->call, take_fd(&e->out), STREAM_OUT, pump_over,
	    j);
	j->err.fd = -1;
	if (e->err >= 0)
		pump_start(&j->err, j->call, take_fd(&e->err), STREAM_ERR,
		    pump_over, j);
	j->in = take_fd(&e->in);
	if (j->in >= 0) {
		fcntl(j->in, F_SETFL, O_RDWR | O_NONBLOCK);
		j->in_watch = watch_fd(loop, j->in, WATCH_WRITE, feed, j);
		watch_stop(j->in_watch);
		call_want(j->call, INPUT_ROOM);
	}
	reap_on(j->pid, ended, j);
	call_work(j->call, &ops, j);
}

int
run_start(struct call *call, const struct run *r, struct err *err)
{
	__attribute__((cleanup(
	    ends_close))) struct ends e = { { -1, -1, -1, -1 }, -1, -1, -1 };
	struct spawn s = { .argv = r->argv,
		.env = r->env,
		.cwd = r->cwd,
		.fd = e.child,
		.nfd = r->also >= 0 ? 4 : 3,
		.tty = r->tty };
	struct job *j;
	pid_t pid;

	if ((r->tty ? make_tty : make_pipes)(r, &e, err) < 0)
		return -1;
	if (r->also >= 0 &&
	    (e.child[3] = fcntl(r->also, F_DUPFD_CLOEXEC, 3)) < 0)
		return err_sys(err, "duplicate");
	pid = spawn(&s, err);
	if (pid < 0)
		return -1;
	j = xcalloc(1, sizeof *j);
	j->call = call;
	j->pid = pid;
	j->tty = r->tty;
	begin(j, &e);
	return 0;
}
