/*
 * inner: what stream.c (the stream) and call.c (the calls on it) share.
 *
 * For these two files only.
 */
#ifndef GUEST_INNER_H
#define GUEST_INNER_H

#include <sys/queue.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "guest/registry.h"
#include "wire/frame.h"

#define WINDOW (256 * 1024)     /* output bytes of a call on their way */
#define CALLS_MAX 256           /* of one stream */
#define ENTRIES_MAX 500000      /* of one call */
#define QUEUE_HIGH (512 * 1024) /* unsent: no more input then ... */
#define QUEUE_LOW (128 * 1024)  /* ... until so little is left */
#define QUEUE_STUCK (4 << 20)   /* unsent: no more calls */
#define ANSWER_GRACE 1000       /* ms beyond answer_ms before we answer */
#define CANCEL_GRACE 10000      /* ms from Cancel to Done */
#define BUCKETS 64

struct watch;

struct guest_call {
	TAILQ_ENTRY(guest_call) next;
	struct guest *guest; /* NULL: the stream is over, done is posted */
	struct loop *loop;
	uint32_t number;
	const struct guest_sink *sink; /* NULL: detached */
	void *arg;
	uint32_t credit; /* output it may still send */
	uint32_t owed;   /* used up, not yet granted again */
	uint64_t room;   /* input it is willing to take */
	uint32_t entries;
	struct watch *late; /* NULL: no deadline */
	bool cancelled;
	struct err why; /* orphans: how they ended */
};

TAILQ_HEAD(calls, guest_call);

struct guest {
	struct loop *loop;
	struct guest_owner owner;
	int fd;
	struct watch *in, *out, *hello;
	struct frame_reader reader;
	struct str queue; /* not sent yet, from sent on */
	size_t sent;
	uint32_t generation, last;
	struct registry tools;
	struct calls bucket[BUCKETS];
	unsigned ncall;
	bool ready, early;
	bool choked; /* a caller was told there is no room */
	bool broken; /* gone is posted or told */
	int busy;    /* in a callback of the loop: free later */
	bool freed;
	struct err why;
};

/* stream.c */
size_t guest_unsent(const struct guest *);
void guest_push(struct guest *); /* after adding to the queue */

/* call.c */
struct guest_call *call_find(struct guest *, uint32_t number);
void call_unlink(struct guest_call *);
void call_free(struct guest_call *);
void call_tell(struct guest_call *, const struct guest_done *);
/* The caller hears the end now; the work goes on, and nobody listens. */
void call_abandon(struct guest_call *, const struct err *, bool running);
void calls_end(struct guest *, const struct err *); /* all, from the loop */
void calls_room(struct guest *); /* tell those that wait for it */

#endif
