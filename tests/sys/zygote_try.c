/*
 * zygote_try AGENT DRIVER-DIRECTORY TREE PROGRAM...: one sandbox over TREE, a
 * zygote of TREE, a copy of it joined to the sandbox; then PROGRAM with the
 * agent's stream as descriptor 3.  Prints what the steps took, exits as
 * PROGRAM does.  For tests/sys/zygote.t.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/backend.h"
#include "isolator/zygote.h"

#define OWNER 1879113727u /* the last id of slot 0: nobody's */

static int
die(const struct err *err, const char *what)
{
	log_err(LOG_ERROR, err, what, NULL);
	return 1;
}

static int
wait_for(int fd, int ms)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, ms) == 1 ? 0 : -1;
}

static int
start_zygote(struct host *h, int tree, const char *dir, struct zygote *z,
    struct err *err)
{
	static const char *const argv[] = { "python3", "-I",
		"/tmp/hutch_zygote.py", NULL };
	auto_str struct str cell = { 0 }, zyg = { 0 };
	auto_fd int d = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *program[] = { "hutch_cell.py", NULL, "hutch_zygote.py",
		NULL, NULL };
	const struct zygote_want w = { &tree, 1, OWNER, program, argv };

	if (file_read_at(d, "ipython/hutch_cell.py", &cell, 1 << 20, err) < 0 ||
	    file_read_at(d, "zygote/hutch_zygote.py", &zyg, 1 << 20, err) < 0)
		return -1;
	program[1] = cell.at;
	program[3] = zyg.at;
	return zygote_start(h, &w, z, err);
}

/* Program's exit status; the sandbox is left alone meanwhile. */
static int
run(char **argv, int stream)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(stream, 3);
		close_range(4, ~0u, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* It has its filter: the sandbox is complete, as it is after a Hello. */
static int
complete(pid_t pid, struct err *err)
{
	int64_t end = clock_ms() + 5000;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	while (clock_left(end) > 0) {
		auto_str struct str text = { 0 };

		if (file_read_at(AT_FDCWD, path, &text, 65536, err) < 0)
			return -1;
		str_putc(&text, '\0');
		if (strstr(text.at, "\nSeccomp:\t2") != NULL)
			return 0;
		poll(NULL, 0, 1);
	}
	return err_set(err, ERR_TIMEOUT, "the sandbox is not complete");
}

static int
join(struct zygote *z, struct instance *in, struct err *err)
{
	int64_t t = clock_us();
	auto_fd int gate = -1;
	int r;

	if (zygote_join(z, in, &gate, err) < 0)
		return -1;
	if (wait_for(gate, 10000) < 0)
		return err_set(err, ERR_TIMEOUT, "nobody at the gate");
	r = zygote_admit(gate, &in->cgroup, err);
	printf("# at the gate and in the cgroups after %lld us\n",
	    (long long)(clock_us() - t));
	fflush(stdout);
	return r == 1 ? 0 : -1;
}

static int
session(struct host *h, char **argv, struct err *err)
{
	int tree = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct box box = { .name = "00000000000000000000000000000001",
		.hostname = "zygote",
		.slot = 1,
		.layer = &tree,
		.nlayer = 1,
		.plain = true,
		.limits = { 1ull << 30, 256, 1000, 0 },
		.net = -1 };
	struct zygote z;
	struct instance in;
	int64_t t = clock_us();
	int r;

	if (start_zygote(h, tree, argv[2], &z, err) < 0)
		return -1;
	if (wait_for(z.link, 20000) < 0 || recv(z.link, &(char){ 0 }, 1, 0) < 1)
		return err_set(err, ERR_TIMEOUT, "zygote is not ready");
	printf("# zygote is warm after %lld us\n", (long long)(clock_us() - t));
	if (backend_ns.start(h, &box, &in, err) < 0)
		return -1;
	r = complete(in.pid, err) < 0 || join(&z, &in, err) < 0
	    ? -1
	    : run(argv + 4, in.stream);
	backend_ns.stop(&in, &(struct err){ 0 });
	waitpid(in.pid, NULL, 0);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	instance_drop(&in);
	zygote_stop(&z);
	close(tree);
	return r;
}

int
main(int argc, char **argv)
{
	struct host_conf conf = { .name = "zygotetry",
		.id_base = 1879048192,
		.slots = 4,
		.owner = OWNER };
	struct host *h;
	struct err err;
	int r;

	if (argc < 5)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	conf.agent = open(argv[1], O_RDONLY | O_CLOEXEC);
	h = host_new(&conf, &err);
	if (h == NULL)
		return die(&err, "host");
	r = session(h, argv, &err);
	host_free(h);
	return r < 0 ? die(&err, "zygote") : r;
}
