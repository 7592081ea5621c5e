/*
 * What a delta costs between a worker's line and the bytes for its reader, and
 * what an open stream holds in memory:
 *
 *	engine_bench [DELTAS [STREAMS]]
 *
 * Deltas come in batches, as frames of a guest do; the reader takes them after
 * each batch, as a round of the loop does.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/feed.h"
#include "engine/line.h"
#include "engine/reply.h"
#include "engine/run.h"

#define BATCH 40

static const struct source source = { NULL, NULL };

static void
more(void *unused)
{
	(void)unused;
}

static const struct feed_reader_ops ops = { more, NULL };

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct run *
open_run(void)
{
	struct run *run = run_new(&(struct run_conf){ .agent = "bench",
	    .reply = &reply_native,
	    .stream = true,
	    .high = 65536 });

	run_start(run, &source, NULL);
	return run;
}

static size_t
drain(struct feed_reader *r)
{
	size_t n, all = 0;
	const char *at;

	while ((n = feed_next(r, &at, 65536)) > 0)
		all += n;
	return all;
}

static void
say(struct run *run, const char *text, size_t n, struct str *scratch)
{
	struct line line;
	struct err err;

	if (line_read(&line, text, n, scratch, &err) < 0 ||
	    line_apply(&line, run, &err) < 0) {
		fprintf(stderr, "engine_bench: %s\n", err.text);
		exit(1);
	}
	json_decref(line.rest);
}

static void
speed(const char *name, const char *text, unsigned deltas)
{
	auto_str struct str scratch = { 0 };
	size_t n = strlen(text), bytes = 0;
	double from = cpu(), took;

	/* Answers of 1,000 deltas. */
	for (unsigned done = 0; done < deltas; done += 1000) {
		struct run *run = open_run();
		struct feed_reader *r = feed_read(run_feed(run), -1, &ops);

		for (unsigned i = 0; i < 1000; i++) {
			say(run, text, n, &scratch);
			if (i % BATCH == BATCH - 1)
				bytes += drain(r);
		}
		run_end(run, RUN_COMPLETED, NULL, NULL);
		bytes += drain(r);
		feed_leave(r);
		run_drop(run);
	}
	took = cpu() - from;
	printf("%-10s %7.0f ns a delta, %5.2f M deltas/s, %.0f bytes each\n",
	    name, took / deltas * 1e9, deltas / took / 1e6,
	    (double)bytes / deltas);
}

static void
short_answers(unsigned answers)
{
	auto_str struct str scratch = { 0 };
	double from = cpu(), took;

	for (unsigned i = 0; i < answers; i++) {
		struct run *run = open_run();
		struct feed_reader *r = feed_read(run_feed(run), -1, &ops);
		const char *one = "{\"run\":1,\"text\":\"Hello\"}";
		const char *end =
		    "{\"run\":1,\"op\":\"end\",\"status\":\"completed\"}";

		say(run, one, strlen(one), &scratch);
		say(run, one, strlen(one), &scratch);
		say(run, end, strlen(end), &scratch);
		drain(r);
		feed_leave(r);
		run_drop(run);
	}
	took = cpu() - from;
	printf("%-10s %7.0f ns an answer, %5.2f k answers/s\n", "short",
	    took / answers * 1e9, answers / took / 1e3);
}

static void
memory(unsigned streams)
{
	auto_str struct str scratch = { 0 };
	const char *text = "{\"run\":1,\"text\":\"twenty bytes of text\"}";
	struct run **runs = xcalloc(streams, sizeof *runs);
	struct feed_reader **readers = xcalloc(streams, sizeof *readers);
	size_t before, after;

	malloc_trim(0);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < streams; i++) {
		runs[i] = open_run();
		readers[i] = feed_read(run_feed(runs[i]), -1, &ops);
		drain(readers[i]);
	}
	for (unsigned k = 0; k < 60; k++)
		for (unsigned i = 0; i < streams; i++) {
			say(runs[i], text, strlen(text), &scratch);
			drain(readers[i]);
		}
	after = mallinfo2().uordblks;
	printf("%-10s %7.0f bytes each of %u open, a minute's text of 1,200 "
	       "bytes among them\n",
	    "memory", (double)(after - before) / streams, streams);
	for (unsigned i = 0; i < streams; i++) {
		feed_leave(readers[i]);
		run_drop(runs[i]);
	}
	free(runs);
	free(readers);
}

int
main(int argc, char **argv)
{
	unsigned deltas = argc > 1 ? (unsigned)atoi(argv[1]) : 2000000;
	unsigned streams = argc > 2 ? (unsigned)atoi(argv[2]) : 10000;

	speed("text", "{\"run\":12,\"text\":\"twenty bytes of text\"}", deltas);
	speed("content",
	    "{\"run\": 12, \"object\": \"content\", \"msg_id\": \"run-1\", "
	    "\"type\": \"text\", \"index\": 0, \"delta\": true, \"text\": "
	    "\"twenty bytes of text\"}",
	    deltas);
	speed("escaped",
	    "{\"run\":12,\"text\":\"\\u00e9t\\u00e9, twenty bytes\\n\"}",
	    deltas);
	short_answers(deltas / 10);
	memory(streams);
	return 0;
}
