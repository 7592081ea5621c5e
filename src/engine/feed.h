/*
 * feed: the bytes that one run has for its readers.
 *
 * Printed once, read by any number of readers at their own pace: they pull.
 * What all have read is dropped, unless the feed keeps it to be read again
 * (Last-Event-ID); then up to `keep` bytes, oldest first out.  Knows SSE's
 * framing, and nothing of HTTP.
 */
#ifndef ENGINE_FEED_H
#define ENGINE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct feed;
struct feed_reader;
struct str;

struct feed_conf {
	size_t keep; /* bytes kept for who comes later; 0: none */
	bool ids;    /* "id: N" lines */
	/* unread bytes of the slowest reader rose above or fell below a bound */
	void (*pressure)(void *arg, bool high);
	void *arg;
	size_t high; /* that bound */
};

struct feed *feed_new(const struct feed_conf *);
/* No more will be put; its readers are told.  May still be read. */
void feed_finish(struct feed *);
/* Its owner lets go: finished, and gone when the last reader has left. */
void feed_close(struct feed *);

/*
 * One event: "event: NAME" if name, "id: SEQ" if the feed has ids, and "data: "
 * with n bytes of JSON on one line.  NULL feed: nothing is done.
 */
void feed_put(struct feed *, const char *name, uint64_t seq, const char *json,
    size_t n);
/*
 * The same in two steps, without a copy: append JSON to what begin gives.
 * NULL: nobody will ever read it, and there is nothing to end.
 */
struct str *feed_begin(struct feed *, const char *name, uint64_t seq);
void feed_end(struct feed *);

struct feed_reader_ops {
	/*
	 * There is something to read, or the feed is over.  From within
	 * feed_end: post the reading, so that what else comes goes with it.
	 * Told again only after feed_next() has answered 0.
	 */
	void (*more)(void *arg);
	void *arg;
};
/*
 * after: events with a greater number only; -1: from the first.  NULL when
 * some of these are no longer kept.  Begin by feed_next until it says 0.
 */
struct feed_reader *feed_read(struct feed *, int64_t after,
    const struct feed_reader_ops *);
/*
 * The next bytes, whole events: at most `most`, or one event that is longer.
 * 0: nothing for now.  Valid until the next call of this module.
 */
size_t feed_next(struct feed_reader *, const char **at, size_t most);
bool feed_over(const struct feed_reader *); /* closed, and all is read */
void feed_leave(struct feed_reader *);
unsigned feed_readers(const struct feed *);
/* It can be read again: NULL can't. */
bool feed_keeps(const struct feed *);

#endif
