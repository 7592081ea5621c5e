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
#include "agent/reap.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "wire/link.h"
#include "wire/loop.h"

#define CONTROL 3

static bool only_stream; /* no control socket to bring another */

static void
control(void *arg, int what)
{
	static struct link_msg m;
	struct err err;
	int r = link_recv(CONTROL, &m, &err);

	(void)arg;
	(void)what;
	if (r == 0)
		_exit(0); /* the broker is dead: so are we */
	if (r < 0) {
		log_err(LOG_ERROR, &err, "control", NULL);
		return;
	}
	if (m.nfd == 1) {
		agent_stream(m.fd[0]);
		m.nfd = 0;
	}
	link_msg_drop(&m);
}

static void
stream_gone(void)
{
	if (only_stream)
		_exit(0);
}

static int
socket_type(int fd)
{
	int type = -1;
	socklen_t n = sizeof type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ? -1 : type;
}

static void
bare(struct loop *loop)
{
	switch (socket_type(CONTROL)) {
	case SOCK_STREAM:
		only_stream = true;
		agent_stream(fcntl(CONTROL, F_DUPFD_CLOEXEC, CONTROL));
		break;
	case SOCK_SEQPACKET:
		watch_fd(loop, CONTROL, WATCH_READ, control, NULL);
		break;
	default:
		_exit(2); /* somebody else than a test runs us */
	}
}

int
main(int argc, char **argv)
{
	bool is_bare = argc > 1 && strcmp(argv[1], "--bare") == 0;
	struct world world = { .files = "/workspace" };

	/* A guest that gets hold of this binary gets nothing from it. */
	if (!is_bare)
		_exit(2);
	if (argc > 2)
		world.files = argv[2];
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
	log_start("hutch-agent", LOG_INFO);
	world.loop = loop_new();
	world.env = xcalloc(1, sizeof *world.env);
	world.cwd = xstrdup("/");
	reap_start(world.loop);
	agent_start(&world, stream_gone);
	bare(world.loop);
	loop_run(world.loop);
	return 0;
}
