/*
 * sayer: a worker of hutch-worker(7) that says what it is asked to, at a pace.
 *
 *	say COUNT GAP PAD
 *
 * anywhere in a query: COUNT deltas, GAP microseconds apart (0: as fast as they
 * are taken), each with the monotonic clock in ns, "t123456 ", and PAD bytes.
 * Static, and in C, so that what is measured is not the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RUNS 65536
#define OUT_MAX (1024 * 1024)
#define IN_MAX (4 * 1024 * 1024)
#define PAD_MAX 4096
#define BURST 64 /* deltas of one run before another's turn */

struct talk {
	uint64_t run;
	int64_t due; /* ns */
	long left, gap, pad;
	bool paused;
};

static struct talk talks[RUNS]; /* a heap by due, the earliest first */
static size_t ntalks;
static char out[OUT_MAX + 65536], in[IN_MAX], pad[PAD_MAX];
static size_t nout, nin;

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void
swap(size_t a, size_t b)
{
	struct talk t = talks[a];

	talks[a] = talks[b];
	talks[b] = t;
}

static void
sink(size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < ntalks; c++)
			if (talks[c].due < talks[least].due)
				least = c;
		if (least == i)
			return;
		swap(i, least);
		i = least;
	}
}

static void
rise(size_t i)
{
	while (i > 0 && talks[i].due < talks[(i - 1) / 2].due) {
		swap(i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void
forget(size_t i)
{
	swap(i, --ntalks);
	if (i < ntalks) {
		sink(i);
		rise(i);
	}
}

static struct talk *
find(uint64_t run)
{
	for (size_t i = 0; i < ntalks; i++)
		if (talks[i].run == run)
			return &talks[i];
	return NULL;
}

static void
say_end(uint64_t run, const char *status)
{
	nout += (size_t)sprintf(out + nout,
	    "{\"run\":%llu,\"op\":\"end\",\"status\":\"%s\"}\n",
	    (unsigned long long)run, status);
}

static void
query(const char *line, uint64_t run)
{
	const char *say = strstr(line, "say ");
	struct talk t = { .run = run, .due = now() };

	if (say == NULL ||
	    sscanf(say, "say %ld %ld %ld", &t.left, &t.gap, &t.pad) != 3 ||
	    t.pad < 0 || t.pad > PAD_MAX || ntalks == RUNS) {
		say_end(run, "rejected");
		return;
	}
	talks[ntalks] = t;
	rise(ntalks++);
}

static void
steer(const char *line, uint64_t run)
{
	struct talk *t = find(run);

	if (t == NULL)
		return;
	if (strstr(line, "\"op\":\"cancel\"") != NULL) {
		say_end(run, "canceled");
		forget((size_t)(t - talks));
		return;
	}
	t->paused = strstr(line, "\"op\":\"pause\"") != NULL;
	t->due = t->paused ? INT64_MAX : now();
	if (t->paused)
		sink((size_t)(t - talks));
	else
		rise((size_t)(t - talks));
}

static void
line(const char *text)
{
	const char *at = strstr(text, "\"run\":");
	uint64_t run = at != NULL ? strtoull(at + 6, NULL, 10) : 0;

	if (strstr(text, "\"op\":\"init\"") != NULL)
		nout += (size_t)sprintf(out + nout,
		    "{\"op\":\"ready\",\"protocol\":1,\"framework\":\"say\"}"
		    "\n");
	else if (strstr(text, "\"op\":\"shutdown\"") != NULL)
		exit(0);
	else if (strstr(text, "\"op\":\"query\"") != NULL)
		query(text, run);
	else if (run != 0)
		steer(text, run);
}

static void
hear(void)
{
	ssize_t n = read(0, in + nin, sizeof in - 1 - nin);
	char *at = in, *end;

	if (n == 0 || (n < 0 && errno != EAGAIN))
		exit(0);
	if (n < 0)
		return;
	nin += (size_t)n;
	in[nin] = '\0';
	while ((end = memchr(at, '\n', nin - (size_t)(at - in))) != NULL) {
		*end = '\0';
		line(at);
		at = end + 1;
	}
	nin -= (size_t)(at - in);
	memmove(in, at, nin);
}

static void
speak(struct talk *t, int64_t at)
{
	long n = t->gap == 0 ? BURST : 1;

	for (; n > 0 && t->left > 0; n--, t->left--)
		nout += (size_t)sprintf(out + nout,
		    "{\"run\":%llu,\"text\":\"t%lld %.*s\"}\n",
		    (unsigned long long)t->run, (long long)now(), (int)t->pad,
		    pad);
	if (t->left == 0) {
		say_end(t->run, "completed");
		forget(0);
		return;
	}
	/* Behind its time it catches up, but lets others go first. */
	t->due = t->gap == 0 ? at + 1 : t->due + t->gap * 1000;
	sink(0);
}

static void
flush(void)
{
	size_t done = 0;

	while (done < nout) {
		ssize_t n = write(1, out + done, nout - done);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			exit(1);
		done += (size_t)n;
	}
	nout -= done;
	memmove(out, out + done, nout);
}

int
main(void)
{
	memset(pad, 'x', sizeof pad);
	fcntl(0, F_SETFL, O_NONBLOCK);
	fcntl(1, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd p[2] = { { 0, POLLIN, 0 }, { 1, POLLOUT, 0 } };
		struct timespec wait = { 3600, 0 };
		int64_t at = now(), ns;

		while (ntalks > 0 && talks[0].due <= at && nout < OUT_MAX / 2)
			speak(&talks[0], at);
		flush();
		p[1].fd = nout > 0 ? 1 : -1;
		if (ntalks > 0 && nout == 0 && talks[0].due != INT64_MAX) {
			ns = talks[0].due - now();
			ns = ns < 0 ? 0 : ns;
			wait = (struct timespec){ ns / 1000000000,
				ns % 1000000000 };
		}
		if (ppoll(p, 2, &wait, NULL) > 0 && p[0].revents != 0)
			hear();
	}
}
