/*
 * What an event costs the front between a worker's line and the kernel, and
 * what an open stream holds, its connection included:
 *
 *	sse_bench STREAMS EVENTS [PAUSE_MS]
 *
 * One process serves, another one reads.  Each stream has so many deltas, in
 * batches of 40 as frames of a guest bring them; with a pause, one every so
 * many milliseconds.  Told of the process that serves: its own CPU time, and
 * memory per stream when all are open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/line.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "web/http.h"
#include "web/sse.h"
#include "wire/loop.h"

#define BATCH 40

struct stream {
	struct run *run;
	unsigned left;
	bool paused;
};

static struct {
	struct loop *loop;
	struct http_server *server;
	struct watch *feed;
	struct stream *streams;
	unsigned want, events, n, over;
	int64_t pause_ms, began;
	double cpu;
	long pages;
	struct str scratch;
} w;

static double
cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long
pages(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long n = 0;

	if (f != NULL) {
		if (fscanf(f, "%*d %ld", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n;
}

/* ---- the process that serves ---- */

static void
say(struct stream *s, const char *text)
{
	struct line line;
	struct err err;

	if (line_read(&line, text, strlen(text), &w.scratch, &err) < 0 ||
	    line_apply(&line, s->run, &err) < 0)
		abort();
	json_decref(line.rest);
}

static void
tell(void)
{
	double took = cpu() - w.cpu;
	double all = (double)w.want * (w.events + 6);

	printf("%u streams, %.0f events: %.2f s CPU, %.0f events/s a core, "
	       "%.2f us each; %.1f s in all\n",
	    w.want, all, took, all / took, took / all * 1e6,
	    (double)(clock_ms() - w.began) / 1e3);
	fflush(stdout);
}

static void
feed(void *unused, int what)
{
	unsigned n = w.pause_ms > 0 ? 1 : BATCH;

	(void)unused;
	(void)what;
	for (unsigned i = 0; i < w.n; i++) {
		struct stream *s = &w.streams[i];

		for (unsigned k = 0; k < n && s->left > 0 && !s->paused; k++) {
			say(s,
			    "{\"run\":12,\"text\":\"twenty bytes of text\"}");
			if (--s->left == 0) {
				run_end(s->run, RUN_COMPLETED, NULL, NULL);
				run_drop(s->run);
				w.over++;
			}
		}
	}
	if (w.over == w.want) {
		w.over++;
		tell();
	}
	if (w.over < w.want)
		watch_arm(w.feed, w.pause_ms);
}

static void
pause_stream(void *arg, struct run *run, bool on)
{
	(void)run;
	w.streams[(uintptr_t)arg].paused = on;
}

static const struct source source = { NULL, pause_stream };

/* All are open: what they hold, and then they begin. */
static void
begin(void)
{
	printf("%.1f KiB a stream\n",
	    (double)(pages() - w.pages) * (double)sysconf(_SC_PAGESIZE) / 1024 /
		w.want);
	fflush(stdout);
	w.cpu = cpu();
	w.began = clock_ms();
	watch_arm(w.feed, 1000);
}

static int
door(struct http_req *q, struct err *err)
{
	uintptr_t i = w.n++;
	struct stream *s = &w.streams[i];
	struct sse_ask ask = { .loop = w.loop,
		.keep_alive_s = 15,
		.after = -1 };

	s->left = w.events;
	s->run = ask.run = run_new(&(struct run_conf){ .agent = "bench",
	    .reply = &reply_native,
	    .stream = true,
	    .high = 256 << 10 });
	run_start(s->run, &source, (void *)i);
	if (w.n == w.want)
		begin();
	return sse_stream(q, &ask, err);
}

static const struct route routes[] = {
	{ 1u << HTTP_POST, "/run", AUTH_NONE, REPLY_EVENTS, BODY_JSON, door },
};

static void
serve(int fd)
{
	w.loop = loop_new();
	w.streams = xcalloc(w.want, sizeof *w.streams);
	w.feed = watch_timer(w.loop, feed, NULL);
	w.server = http_server_new(&(struct http_server_conf){ .loop = w.loop,
	    .route = routes,
	    .nroute = 1,
	    .limits = { 65536, 10000, 30000, 75000, 30000, 1 << 20,
		256 << 10 } });
	http_server_listen(w.server, fd);
	w.pages = pages();
	while (w.over <= w.want)
		loop_turn(w.loop);
	/* Until the reader has it all: it ends us. */
	loop_run(w.loop);
}

/* ---- the one that reads ---- */

static const char head[] =
    "POST /run HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: a browser's is "
    "longer than a hundred bytes, as everybody knows who has seen one of them "
    "ever\r\ncontent-type: application/json\r\nauthorization: Bearer "
    "0123456789abcdef0123456789abcdef\r\ncontent-length: 125\r\n\r\n"
    "{\"input\":[{\"role\":\"user\",\"type\":\"message\",\"content\":[{\"type\""
    ":\"text\",\"text\":\"hello\"}]}],\"session_id\":\"0123456789abcd\"}   "
    "     ";

static void
read_all(const struct sockaddr_in *at)
{
	int ep = epoll_create1(0);
	unsigned over = 0;
	char *b = xmalloc(1 << 16);

	for (unsigned i = 0; i < w.want; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

		if (fd < 0 ||
		    connect(fd, (const struct sockaddr *)at, sizeof *at) < 0 ||
		    write(fd, head, sizeof head - 1) < 0 ||
		    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0) {
			perror("connect");
			exit(1);
		}
	}
	while (over < w.want) {
		struct epoll_event ev[256];
		int n = epoll_wait(ep, ev, 256, 60000);

		for (int i = 0; i < n; i++) {
			ssize_t k = read(ev[i].data.fd, b, 1 << 16);

			if (k <= 0 ||
			    (k >= 5 &&
				memcmp(b + k - 5, "0\r\n\r\n", 5) == 0)) {
				close(ev[i].data.fd);
				over++;
			}
		}
		if (n <= 0) {
			fprintf(stderr, "sse_bench: %u of %u ended\n", over,
			    w.want);
			exit(1);
		}
	}
	free(b);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rlimit files = { 65536, 65536 };
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	pid_t pid;

	w.want = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	w.events = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;
	w.pause_ms = argc > 3 ? atoi(argv[3]) : 0;
	setrlimit(RLIMIT_NOFILE, &files);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0 ||
	    (pid = fork()) < 0) {
		perror("sse_bench");
		return 1;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
		_exit(0);
	}
	close(fd);
	read_all(&at);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
