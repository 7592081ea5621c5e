/*
 * A run that is fed lines, and what its stream says.  Ids in the stream are
 * made short: the first message is msg_1, the second msg_2.
 */
#ifndef TESTS_UNIT_ENGINE_FIXTURE_H
#define TESTS_UNIT_ENGINE_FIXTURE_H

#include <stdbool.h>
#include "base/str.h"
#include "engine/run.h"

struct bench {
	struct run *run;
	struct feed_reader *reader;
	unsigned cancels, pauses, ended;
	bool paused;
};

extern const struct source bench_source;

/* id "R", session "S", at second 1000; started. */
void bench_open(struct bench *, const struct reply_kind *);
/* The same with what the door tells the reply. */
void bench_open_arg(struct bench *, const struct reply_kind *, const void *arg);
void bench_close(struct bench *);
/* A line without its run: {"run":1, is put in front. */
void bench_say(struct bench *, const char *members);
/* The same; true if the line was refused. */
bool bench_refuses(struct bench *, const char *members);
/* What has come since the last time, short ids, as it stands on the wire. */
void bench_read(struct bench *, struct str *out);
/* The same without "data: ", one event a line; must be as wanted. */
void bench_expect(struct bench *, const char *const *lines);

#endif
