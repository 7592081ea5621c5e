/*
 * first: how long until the first output of a command, ours and a peer's, by
 * one program, so that neither pays for the language of the bench.
 *
 *	first http PORT COUNT SPIN_MS      create, run_shell_command, release
 *	first spawn COUNT PROGRAM [ARG...] "@" is a name of its own each time
 *
 * Prints the milliseconds of each, a line a piece.  What comes after the first
 * output (release; the end of a process) is waited for and not counted.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- over HTTP ---- */

static int sock;
static char buf[65536];

static void
dial(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&at, sizeof at) < 0)
		err(1, "connect");
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* The body of the reply. */
static char *
post(const char *path, const char *body)
{
	size_t len = 0, want = 0;
	char *at = NULL, *length;
	int n = snprintf(buf, sizeof buf,
	    "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    path, strlen(body), body);

	if (send(sock, buf, (size_t)n, MSG_NOSIGNAL) != n)
		err(1, "send");
	while (at == NULL || len - (size_t)(at - buf) < want) {
		ssize_t got = recv(sock, buf + len, sizeof buf - 1 - len, 0);

		if (got <= 0)
			errx(1, "the daemon closed the connection");
		len += (size_t)got;
		buf[len] = '\0';
		if (at != NULL || (at = strstr(buf, "\r\n\r\n")) == NULL)
			continue;
		at += 4;
		length = strcasestr(buf, "content-length:");
		want = length != NULL ? strtoul(length + 15, NULL, 10) : 0;
	}
	if (strncmp(buf, "HTTP/1.1 200 ", 13) != 0)
		errx(1, "%s: %s", path, buf);
	return at;
}

/* {"data":"ID"} */
static void
take_id(const char *body, char *id, size_t room)
{
	if (room < 128 || sscanf(body, "{\"data\":\"%127[^\"]\"", id) != 1)
		errx(1, "no sandbox: %s", body);
}

static double
once_http(void)
{
	char id[128], body[512];
	double from = now_ms(), took;

	take_id(post("/create_from_pool",
		    "{\"sandbox_type\":\"base\",\"meta\":{}}"),
	    id, sizeof id);
	snprintf(body, sizeof body,
	    "{\"identity\":\"%s\",\"tool_name\":\"run_shell_command\","
	    "\"arguments\":{\"command\":\"echo hi\"}}",
	    id);
	if (strstr(post("/call_tool", body), "hi\\n") == NULL)
		errx(1, "wrong answer: %s", buf);
	took = now_ms() - from;
	snprintf(body, sizeof body, "{\"identity\":\"%s\"}", id);
	post("/release", body);
	return took;
}

static void
spin(double ms)
{
	double until = now_ms() + ms;

	while (now_ms() < until)
		;
}

/* ---- a process ---- */

static double
once_spawn(char *const *argv)
{
	posix_spawn_file_actions_t act;
	double from = now_ms(), took;
	int fd[2], status;
	char byte;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		err(1, "pipe");
	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&act, fd[1], 1);
	posix_spawn_file_actions_addopen(&act, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &act, NULL, argv, environ) != 0)
		errx(1, "can't run %s", argv[0]);
	close(fd[1]);
	if (read(fd[0], &byte, 1) != 1)
		errx(1, "%s printed nothing", argv[0]);
	took = now_ms() - from;
	while (read(fd[0], buf, sizeof buf) > 0)
		;
	close(fd[0]);
	waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&act);
	return took;
}

static double
once_named(char **argv, int n)
{
	char name[64], *word[64] = { 0 };
	static unsigned serial;

	snprintf(name, sizeof name, "first-%d-%u", (int)getpid(), serial++);
	for (int i = 0; i < n && i < 63; i++)
		word[i] = strcmp(argv[i], "@") == 0 ? name : argv[i];
	return once_spawn(word);
}

int
main(int argc, char **argv)
{
	int http = argc == 5 && strcmp(argv[1], "http") == 0;
	int n;

	if (!http && (argc < 4 || strcmp(argv[1], "spawn") != 0))
		errx(2, "see the head of first.c");
	n = atoi(argv[http ? 3 : 2]);
	if (http)
		dial(atoi(argv[2]));
	for (int i = -2; i < n; i++) {
		double took;

		if (http)
			spin(atof(argv[4]));
		took = http ? once_http() : once_named(argv + 3, argc - 3);
		if (i >= 0)
			printf("%.4f\n", took);
	}
	return 0;
}
