/*
 * streams: many event streams at once, each looked at event by event.
 *
 *	streams PORT PATH STREAMS SCRIPT [AT_ONCE]
 *
 * Opens STREAMS requests that ask for SCRIPT (sayer.c), AT_ONCE of them at a
 * time until all are open (default: all), reads them to their ends, and prints
 * one JSON object: events, gaps in sequence_number, streams without a terminal
 * event, how long after it was said each delta came (us), and the times.
 * Says "open" on stderr when all are.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LATES 1000000 /* us: a bucket each, the last takes the rest */

struct stream {
	int fd;
	bool headed, first, over, completed;
	long next; /* number expected */
	char *rest;
	size_t nrest;
	int64_t opened;
};

static uint32_t late[LATES + 1], firsts[LATES + 1];
static uint64_t events, deltas, gaps, bytes, failed;
static struct stream *streams;
static size_t opened, over;
static const char *port, *path, *script;
static int ep;

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void
count(uint32_t *bucket, int64_t ns)
{
	int64_t us = ns / 1000;

	bucket[us < 0 ? 0 : us > LATES ? LATES : us]++;
}

static long
quantile(const uint32_t *bucket, double q)
{
	uint64_t all = 0, sum = 0;

	for (size_t i = 0; i <= LATES; i++)
		all += bucket[i];
	for (size_t i = 0; i <= LATES; i++)
		if ((sum += bucket[i]) > 0 && (double)sum >= q * (double)all)
			return (long)i;
	return -1;
}

static void
event(struct stream *s, const char *json, int64_t at)
{
	const char *seq = strstr(json, "\"sequence_number\":");
	const char *text = strstr(json, "\"text\":\"t");
	long n = seq != NULL ? strtol(seq + 18, NULL, 10) : -1;

	events++;
	if (!s->first)
		count(firsts, at - s->opened);
	s->first = true;
	if (n != s->next)
		gaps++;
	s->next = n + 1;
	if (text != NULL && strstr(json, "\"delta\":true") != NULL) {
		deltas++;
		count(late, at - strtoll(text + 9, NULL, 10));
	}
	if (strstr(json, "\"object\":\"response\",\"status\":\"completed\"") !=
	    NULL)
		s->completed = true;
}

/* Chunk sizes stand on lines of their own and are no "data: ". */
static void
lines(struct stream *s, char *at, size_t n)
{
	int64_t t = now();
	char *end;

	while ((end = memchr(at, '\n', n)) != NULL) {
		*end = '\0';
		if (strncmp(at, "data: {", 7) == 0)
			event(s, at + 6, t);
		else if (strncmp(at, "HTTP/1.1 ", 9) == 0 &&
		    strncmp(at + 9, "200", 3) != 0)
			failed++;
		n -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	if (n > 0) {
		s->rest = realloc(s->rest, n);
		memcpy(s->rest, at, n);
	} else {
		free(s->rest);
		s->rest = NULL;
	}
	s->nrest = n;
}

static void
ended(struct stream *s)
{
	if (s->over)
		return;
	s->over = true;
	over++;
	close(s->fd);
	free(s->rest);
	s->rest = NULL;
}

static void
hear(struct stream *s)
{
	static char buf[16 * 1024 * 1024];
	ssize_t n;

	if (s->nrest > sizeof buf / 2) {
		ended(s);
		return;
	}
	memcpy(buf, s->rest != NULL ? s->rest : "", s->nrest);
	n = read(s->fd, buf + s->nrest, sizeof buf - s->nrest);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		ended(s);
		return;
	}
	bytes += (uint64_t)n;
	lines(s, buf, s->nrest + (size_t)n);
	if (s->completed)
		ended(s);
}

/* A session each: upstream runs one at a time of those without. */
static size_t
put_request(char *out, size_t size, size_t number)
{
	char body[2048];

	snprintf(body, sizeof body,
	    "{\"session_id\":\"s%d-%zu\",\"user_id\":\"u\",\"input\":[{"
	    "\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
	    "\"%s\"}]}]}",
	    (int)getpid(), number, script);
	return (size_t)snprintf(out, size,
	    "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: "
	    "application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    path, port, strlen(body), body);
}

static int
begin(struct stream *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct epoll_event e = { .events = EPOLLIN, .data = { .ptr = s } };
	char request[4096];
	size_t n = put_request(request, sizeof request, opened);
	int one = 1;

	s->opened = now();
	s->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&a, sizeof a) < 0)
		return -1;
	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (write(s->fd, request, n) != (ssize_t)n)
		return -1;
	fcntl(s->fd, F_SETFL, O_NONBLOCK);
	opened++;
	return epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &e);
}

static size_t
with_first(size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += streams[i].first || streams[i].over;
	return sum;
}

static void
turn(int ms)
{
	struct epoll_event e[256];
	int n = epoll_wait(ep, e, 256, ms);

	for (int i = 0; i < n; i++)
		if (!((struct stream *)e[i].data.ptr)->over)
			hear(e[i].data.ptr);
}

static void
report(size_t n, double seconds)
{
	size_t completed = 0;

	for (size_t i = 0; i < n; i++)
		completed += streams[i].completed;
	printf("{\"streams\":%zu,\"completed\":%zu,\"refused\":%llu,"
	       "\"events\":%llu,\"deltas\":%llu,\"gaps\":%llu,\"bytes\":%llu,"
	       "\"seconds\":%.3f,\"first_us\":{\"p50\":%ld,\"p99\":%ld},"
	       "\"late_us\":{\"p50\":%ld,\"p90\":%ld,\"p99\":%ld,\"max\":%ld}}"
	       "\n",
	    n, completed, (unsigned long long)failed,
	    (unsigned long long)events, (unsigned long long)deltas,
	    (unsigned long long)gaps, (unsigned long long)bytes, seconds,
	    quantile(firsts, 0.5), quantile(firsts, 0.99), quantile(late, 0.5),
	    quantile(late, 0.9), quantile(late, 0.99), quantile(late, 1));
}

int
main(int argc, char **argv)
{
	size_t n, at_once;
	struct rlimit files;
	int64_t start;

	if (argc < 5) {
		fprintf(stderr,
		    "usage: streams PORT PATH STREAMS SCRIPT [AT_ONCE]\n");
		return 2;
	}
	n = strtoul(argv[3], NULL, 10);
	at_once = argc > 5 ? strtoul(argv[5], NULL, 10) : n;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	port = argv[1];
	path = argv[2];
	script = argv[4];
	ep = epoll_create1(0);
	streams = calloc(n, sizeof *streams);
	start = now();
	for (size_t i = 0; i < n; i++) {
		if (begin(&streams[i]) < 0) {
			perror("streams");
			return 1;
		}
		while (i + 1 - with_first(i + 1) >= at_once)
			turn(10);
		turn(0);
	}
	fprintf(stderr, "open\n");
	while (over < n)
		turn(1000);
	report(n, (double)(now() - start) / 1e9);
	return 0;
}
