/*
 * ring: the last lines of a log, and who follows it.
 *
 * Bytes in, whole lines kept, each with its time and who said it; the oldest
 * go when it is full.  In memory only.
 */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include <stddef.h>

struct ring;
struct ring_reader;
struct str;

struct ring *ring_new(size_t most);
void ring_free(struct ring *); /* its readers are told nothing more */

/* One who writes: keeps what is not a whole line yet. */
struct ring_writer;
struct ring_writer *ring_open(struct ring *, const char *name);
void ring_bytes(struct ring_writer *, const void *, size_t n);
void ring_close(struct ring_writer *); /* what is there becomes a line */
/* A line of our own. */
void ring_say(struct ring *, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void ring_read(const struct ring *, struct str *out);
/* Each line as it comes, from within what makes it; NULL, 0: no more will. */
typedef void ring_fn(void *arg, const char *line, size_t n);
struct ring_reader *ring_follow(struct ring *, ring_fn *, void *arg);
void ring_unfollow(struct ring_reader *);

#endif
