#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "isolator/backend.h"
#include "tests/sys/boxtry.h"

/* confined PROFILE EXEC [DIR]: what it wrote to its descriptor 3 */
int
try_confined(const char *profile, char *rest)
{
	const char *argv[] = { "ownprobe", "word", NULL };
	struct confined c = { .slot = 3, .argv = argv, .nfd = 1, .dir = -1 };
	auto_str struct str out = { 0 };
	char *dir = strchr(rest, ' '), buf[4096];
	struct instance in;
	struct err err;
	siginfo_t si = { .si_code = 0 };
	int pair[2], got;
	ssize_t n;

	c.profile = profile[1] == 'r' ? PROFILE_FRONT : PROFILE_FETCH;
	if (dir != NULL) {
		*dir++ = '\0';
		c.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	c.exec = open(rest, O_PATH | O_CLOEXEC);
	if (pipe2(pair, O_CLOEXEC) < 0)
		return try_bad_text("pipe");
	c.fd = &pair[1];
	got = confined_start(try_host, &c, &in, &err);
	close(c.exec);
	close(pair[1]);
	if (c.dir >= 0)
		close(c.dir);
	while (got == 0 && (n = read(pair[0], buf, sizeof buf)) > 0)
		str_add(&out, buf, (size_t)n);
	close(pair[0]);
	if (got < 0)
		return try_bad(&err);
	waitid(P_PIDFD, (id_t)in.pidfd, &si, WEXITED);
	instance_drop(&in);
	printf("ok %d %zu\n", si.si_status, out.len);
	fwrite(str_text(&out), 1, out.len, stdout);
	return 0;
}

/* ---- measuring ---- */

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
report(const char *what, uint32_t *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	printf("# %-24s min %6u  p50 %6u  p90 %6u  p99 %6u us\n", what, v[0],
	    v[n / 2], v[n * 9 / 10], v[n * 99 / 100]);
}

static const char *const step_name[BACKEND_STEPS] = { "root", "cgroup", "net",
	"clone", "maps", "spec" };
enum { ROW_START = BACKEND_STEPS, ROW_OUTPUT, ROW_END, ROWS };

static int
bench_one(const char *options, uint32_t *row[ROWS], int i)
{
	auto_str struct str out = { 0 };
	auto_free char *copy = xstrdup(options);
	struct instance in;
	struct err err;
	int64_t t0 = clock_us(), t1, t2;
	int status = 0;
	siginfo_t si;

	if (try_start("bench", copy, &in, &err) < 0)
		return try_bad(&err);
	t1 = clock_us();
	if (try_send_command(in.stream, "echo hi") < 0 ||
	    try_collect(in.stream, clock_ms() + 5000, &out, &status) < 0 ||
	    strcmp(str_text(&out), "hi\n") != 0)
		return try_bad_text(str_text(&out));
	t2 = clock_us();
	row[ROW_START][i] = (uint32_t)(t1 - t0);
	row[ROW_OUTPUT][i] = (uint32_t)(t2 - t0);
	for (int s = 0; s < BACKEND_STEPS; s++)
		row[s][i] = in.step_us[s];
	backend_ns.stop(&in, &err);
	waitid(P_PIDFD, (id_t)in.pidfd, &si, WEXITED);
	instance_drop(&in);
	row[ROW_END][i] = (uint32_t)(clock_us() - t2);
	return 0;
}

/* bench N OPTIONS */
int
try_bench(const char *count, char *rest)
{
	int n = atoi(count), got = 0;
	uint32_t *row[ROWS];

	for (int r = 0; r < ROWS; r++)
		row[r] = xcalloc((size_t)n + 1, sizeof *row[r]);
	for (int i = 0; i < n && got == 0; i++)
		got = bench_one(rest, row, i);
	if (got == 0) {
		for (int s = 0; s < BACKEND_STEPS; s++)
			report(step_name[s], row[s], n);
		report("start returns", row[ROW_START], n);
		report("first output", row[ROW_OUTPUT], n);
		report("stop, reap, drop", row[ROW_END], n);
		try_ok("done");
	}
	for (int r = 0; r < ROWS; r++)
		free(row[r]);
	return got;
}

/* ---- somebody else's ---- */

static int
peer_one(char **argv, uint32_t *row)
{
	int64_t t0 = clock_us();
	int out[2], status;
	char byte;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return try_bad_text("pipe");
	pid = vfork();
	if (pid == 0) {
		dup2(out[1], 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], &byte, 1) != 1)
		*row = 0;
	else
		*row = (uint32_t)(clock_us() - t0);
	while (read(out[0], &byte, 1) > 0)
		;
	close(out[0]);
	waitpid(pid, &status, 0);
	return *row > 0 ? 0 : try_bad_text("it said nothing");
}

/* peer N PROGRAM ARGUMENT ...: until its first output; no quoting */
int
try_peer(const char *count, char *rest)
{
	int n = atoi(count), got = 0, argc = 0;
	uint32_t *row = xcalloc((size_t)n + 1, sizeof *row);
	char *argv[64], *save = NULL;

	for (char *w = strtok_r(rest, " ", &save); w != NULL && argc < 63;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	for (int i = 0; i < n && got == 0 && argc > 0; i++)
		got = peer_one(argv, &row[i]);
	if (got == 0) {
		report("peer's first output", row, n);
		try_ok("done");
	}
	free(row);
	return got;
}
