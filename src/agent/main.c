/*
 * hutch-agent: process 1 of a sandbox.
 *
 * Descriptor 3 is a socket.  A SEQPACKET one is the broker's control socket:
 * descriptors of streams come in, and its end means that the broker is dead.
 * With --bare, for tests, the first stage is skipped, and a STREAM socket is
 * the one stream itself.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/agent.h"
#include "agent/cell.h"
#include "agent/interp.h"
#include "agent/reap.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "isolator/spec.h"
#include "isolator/stage.h"
#include "wire/loop.h"

#define CONTROL STAGE_CONTROL

static void control_drain(void);
static struct world world = { .files = "/workspace", .control = control_drain };
static bool only_stream; /* no control socket to bring another */

static int control_fd = -1;

/* All that the broker has said by now. */
static void
control_drain(void)
{
	enum spec_word word;
	struct err err;
	int fd[2], r;

	while (control_fd >= 0 &&
	    (r = spec_word_recv(control_fd, &word, fd, &err)) != 0) {
		if (r < 0)
			_exit(0); /* the broker is dead: so are we */
		if (word == SPEC_JOIN)
			interp_join(fd[0], fd[1]);
		else
			agent_stream(fd[0]);
	}
}

static void
control(void *arg, int what)
{
	(void)arg;
	(void)what;
	control_drain();
}

static void
stream_gone(void)
{
	if (only_stream)
		loop_stop(world.loop);
}

static int
socket_type(int fd)
{
	int type = -1;
	socklen_t n = sizeof type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ? -1 : type;
}

static void
begin(const struct stage_result *from)
{
	control_fd = from->control;
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (chdir("/") < 0)
		_exit(STAGE_EXIT);
	world.loop = loop_new();
	world.env = xcalloc(1, sizeof *world.env);
	world.cwd = xstrdup("/");
	reap_start(world.loop);
	cell_init(&world);
	agent_start(&world, stream_gone);
	if (control_fd >= 0)
		watch_fd(world.loop, control_fd, WATCH_READ, control, NULL);
	if (from->stream >= 0)
		agent_stream(from->stream);
}

/* The first stage without what it does; -1: nobody of ours runs us. */
static int
bare(struct stage_result *out)
{
	fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL); /* a shell may have had us ignore some */
	switch (socket_type(CONTROL)) {
	case SOCK_STREAM:
		only_stream = true;
		*out = (struct stage_result){ -1, CONTROL };
		return 0;
	case SOCK_SEQPACKET:
		*out = (struct stage_result){ CONTROL, -1 };
		return 0;
	default:
		return -1;
	}
}

/* How far the stage got is not known: say why, and nothing else. */
static int
give_up(const struct stage_result *from, const struct err *err)
{
	log_err(LOG_ERROR, err, "no sandbox", NULL);
	if (from->stream < 0)
		return STAGE_EXIT;
	world.loop = loop_new();
	agent_start(&world, stream_gone);
	agent_last_words(from->stream, err);
	return STAGE_EXIT;
}

int
main(int argc, char **argv)
{
	struct stage_result from = { -1, -1 };
	struct err err;

	log_start("hutch-agent", LOG_INFO);
	agent_ready();
	if (argc > 1 && strcmp(argv[1], "--bare") == 0) {
		if (bare(&from) < 0)
			return 2;
		if (argc > 2)
			world.files = argv[2];
	} else if (socket_type(CONTROL) != SOCK_SEQPACKET)
		return 2; /* a guest that got hold of this binary gets nothing */
	else if (isolate_stage(CONTROL, &from, &err) < 0)
		return give_up(&from, &err);
	begin(&from);
	loop_run(world.loop);
	return 0;
}
