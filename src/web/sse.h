/*
 * sse: a run's answer as the reply to a request: its feed as server-sent
 * events, or all of it as one document once it is over.
 *
 * Takes the request over, its data and its `closed`.  The row has REPLY_EVENTS.
 * What came together goes out together; a reader who is slow is not waited for
 * here but in the feed, whose source is paused then.  Knows no protocol.
 */
#ifndef WEB_SSE_H
#define WEB_SSE_H

#include <stdint.h>

struct err;
struct http_req;
struct loop;
struct run;

struct sse_ask {
	struct loop *loop;
	/* A comment line when there was nothing to say for so long; 0: never. */
	unsigned keep_alive_s;
	struct run *run; /* held as long as it is needed */
	int64_t after;   /* sse_stream: events with greater numbers; -1: all */
	/* sse_whole: the status of an answer; NULL: 200. */
	int (*status)(const struct run *);
	/*
	 * Once: the reader has left, or has had all of it.  The run may be
	 * over by then (deployment_left says nothing in that case).
	 */
	void (*gone)(void *arg, struct run *);
	void *arg;
};

/* -1: the run has no stream, or no longer what comes after `after`; nothing
 * has been replied, and gone() is not called. */
int sse_stream(struct http_req *, const struct sse_ask *, struct err *);
void sse_whole(struct http_req *, const struct sse_ask *);
/* What Last-Event-ID says; -1: nothing, or no number. */
int64_t sse_last_id(const struct http_req *);

#endif
