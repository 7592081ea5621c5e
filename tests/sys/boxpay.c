/*
 * boxpay: stands in for the agent in the isolator's own tests.
 *
 * The real first stage, then commands from the stream: a 4-byte length and a
 * line for /bin/sh.  Back come 'O' and 'X' records: type, 4-byte length,
 * bytes; X ends a command and holds its wait status as text.  Process 1 of the
 * sandbox: reaps whatever is left to it.  Host byte order throughout.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "isolator/spec.h"
#include "isolator/stage.h"

static const char *const command_env[] = {
	"PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
	"/sbin:/bin",
	"HOME=/root", "LANG=C.UTF-8", NULL
};

static void
put(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t w = write(fd, at, n);

		if (w < 0 && errno == EAGAIN) {
			struct pollfd p = { fd, POLLOUT, 0 };

			poll(&p, 1, -1);
			continue;
		}
		if (w < 0)
			_exit(1);
		at += w;
		n -= (size_t)w;
	}
}

static int
get(int fd, void *bytes, size_t n)
{
	char *at = bytes;

	while (n > 0) {
		ssize_t r = read(fd, at, n);

		if (r < 0 && errno == EAGAIN) {
			struct pollfd p = { fd, POLLIN, 0 };

			poll(&p, 1, -1);
			continue;
		}
		if (r <= 0)
			return -1;
		at += r;
		n -= (size_t)r;
	}
	return 0;
}

static void
say(int stream, char type, const void *bytes, uint32_t n)
{
	put(stream, &type, 1);
	put(stream, &n, sizeof n);
	put(stream, bytes, n);
}

static void
command(int stream, char *line)
{
	char buf[4096], text[16];
	int out[2], status = -1;
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		execle("/bin/sh", "sh", "-c", line, (char *)NULL,
		    (char *const *)(uintptr_t)command_env);
		_exit(127);
	}
	close(out[1]);
	while ((n = read(out[0], buf, sizeof buf)) > 0)
		say(stream, 'O', buf, (uint32_t)n);
	close(out[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	snprintf(text, sizeof text, "%d", status);
	say(stream, 'X', text, (uint32_t)strlen(text));
}

/* A new stream takes the place of the old one: as in the agent. */
static int
next(struct stage_result *r)
{
	struct pollfd p[2] = { { r->stream, POLLIN, 0 },
		{ r->control, POLLIN, 0 } };
	enum spec_word word;
	struct err err;
	int fresh[2];

	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents == 0)
			return 0;
		if (spec_word_recv(r->control, &word, fresh, &err) < 0)
			return -1;
		close(r->stream);
		p[0].fd = r->stream = fresh[0];
	}
}

int
main(void)
{
	static char line[1 << 16];
	struct stage_result r;
	struct err err;
	uint32_t n;

	if (isolate_stage(STAGE_CONTROL, &r, &err) < 0) {
		if (r.stream >= 0)
			say(r.stream, 'E', err.text,
			    (uint32_t)strlen(err.text));
		_exit(STAGE_EXIT);
	}
	signal(SIGPIPE, SIG_IGN);
	while (next(&r) == 0) {
		if (get(r.stream, &n, sizeof n) < 0 || n >= sizeof line) {
			struct pollfd p = { r.control, POLLIN, 0 };

			poll(&p, 1, -1); /* the next stream, or the end */
			continue;
		}
		if (get(r.stream, line, n) < 0)
			continue;
		line[n] = '\0';
		command(r.stream, line);
	}
	return 0;
}
