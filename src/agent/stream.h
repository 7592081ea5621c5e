/*
 * stream: events to the front, requests from it, on one connected socket.
 *
 * Events are put together until the loop has gone round, then written at once.
 * The front is trusted to be the front, but a frame that is not one ends the
 * stream.  Knows no calls.
 */
#ifndef AGENT_STREAM_H
#define AGENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include "guest.pb-c.h"

struct err;
struct loop;
struct stream;

struct stream_owner {
	/* May not free the stream; -1 ends it. */
	int (*request)(void *arg, const Guest__Request *, struct err *);
	void (*room)(void *arg); /* no longer full */
	/* Over; free it.  err is NULL after an orderly end. */
	void (*gone)(void *arg, const struct err *);
	void *arg;
};

struct stream *stream_new(struct loop *, int fd, const struct stream_owner *);
void stream_free(struct stream *);
void stream_send(struct stream *, const Guest__Event *);
void stream_put(struct stream *, const void *event, size_t n); /* packed */
/* Enough is waiting to be written: make no more until room() is called. */
bool stream_full(const struct stream *);
/* Blocking, for last words. */
void stream_flush(struct stream *);

#endif
