/*
 * The one probe that answers all: a sandbox, made the way the daemon makes it,
 * over /usr as its root, until its agent says Hello.
 *
 * In a child, since the isolator changes the process it is used in; all it
 * makes is gone with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/probe.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "isolator/backend.h"
#include "wire/loop.h"

enum { HELLO_MS = 10000, ALL_MS = 30000 };

struct attempt {
	struct loop *loop;
	struct err err;
	bool hello;
};

/* ---- in the child ---- */

static int
open_agent(struct err *err)
{
	auto_free char *dir = cli_built();
	auto_free char *path =
	    xasprintf("%s/hutch-agent", dir != NULL ? dir : PKGLIBEXECDIR);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(err, "%s", path) : fd;
}

static void
on_hello(void *arg)
{
	struct attempt *a = arg;

	a->hello = true;
	loop_stop(a->loop);
}

static void
on_gone(void *arg, const struct err *err)
{
	struct attempt *a = arg;

	a->err = *err;
	loop_stop(a->loop);
}

static int
listen_for_hello(int stream, struct err *err)
{
	static const char *const no_env[] = { NULL };
	struct attempt a = { .loop = loop_new() };
	struct guest *g = guest_new(&(struct guest_conf){ .loop = a.loop,
	    .fd = stream,
	    .generation = 1,
	    .env = no_env,
	    .cwd = "/",
	    .hello_ms = HELLO_MS,
	    .owner = { on_hello, on_gone, &a } });

	loop_run(a.loop);
	guest_free(g);
	loop_free(a.loop);
	if (!a.hello)
		*err = a.err;
	return a.hello ? 0 : -1;
}

static int
start(struct host *h, struct err *err)
{
	auto_fd int root = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct box box = { .name = "d0c70000000000000000000000000000",
		.hostname = "doctor",
		.profile = PROFILE_BOX,
		.slot = 3,
		.layer = &root,
		.nlayer = 1,
		.plain = true,
		.root_bytes = 16 << 20,
		.work_bytes = 16 << 20,
		.shm_bytes = 1 << 20,
		.limits = { 256 << 20, 64, 1000, 0 },
		.net = -1 };
	struct instance in;
	int r;

	instance_init(&in);
	if (backend_ns.probe(h, err) < 0 ||
	    backend_ns.start(h, &box, &in, err) < 0)
		return -1;
	r = listen_for_hello(take_fd(&in.stream), err);
	backend_ns.stop(&in, &(struct err){ 0 });
	while (waitpid(in.pid, NULL, 0) < 0 && errno == EINTR)
		;
	instance_drop(&in);
	return r;
}

static int
attempt(uint32_t id_base, struct err *err)
{
	auto_fd int agent = open_agent(err);
	auto_free char *name = xasprintf("doctor%d", getpid());
	struct host *h;
	int r;

	if (agent < 0)
		return -1;
	h = host_new(&(struct host_conf){ .agent = agent,
			 .name = name,
			 .id_base = id_base,
			 .slots = 4,
			 .require = CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU },
	    err);
	if (h == NULL)
		return -1;
	r = start(h, err);
	host_free(h);
	return r;
}

static void
be_child(int verdict)
{
	struct config *c = conf_new();
	struct err err = { 0 };
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_level(LOG_ERROR);
	r = attempt(c->id_base, &err);
	if (r < 0 && write(verdict, &err, sizeof err) != sizeof err)
		r = -2;
	_exit(r < 0);
}

/* ---- in the parent ---- */

/* 0: it said why it failed; 1: it ended without a word. */
static int
hear(int fd, struct err *why)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, ALL_MS) <= 0) {
		err_set(why, ERR_TIMEOUT, "no end after %d s", ALL_MS / 1000);
		return 0;
	}
	return read(fd, why, sizeof *why) == sizeof *why ? 0 : 1;
}

static enum verdict
check_box(struct str *detail)
{
	int64_t from = clock_us();
	struct err why = { 0 };
	int fd[2], status = 0;
	bool told;
	pid_t pid;

	if (geteuid() != 0 || pipe2(fd, O_CLOEXEC) < 0) {
		str_puts(detail, "not tried without root");
		return VERDICT_UNKNOWN;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		be_child(fd[1]);
	close(fd[1]);
	told = hear(fd[0], &why) == 0;
	close(fd[0]);
	if (told)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0 && pid > 0) {
		str_printf(detail, "starts, and says hello (%lld ms in all)",
		    (long long)(clock_us() - from) / 1000);
		return VERDICT_GOOD;
	}
	str_printf(detail, "%s", told ? why.text : "the attempt died");
	return VERDICT_BAD;
}

/* clang-format off */
const struct probe probes_box[] = {
	{ "a sandbox",	check_box,
	  "mend what is marked above first; then hutchd --log-level debug tells more" },
	{ .name = NULL },
};
/* clang-format on */
