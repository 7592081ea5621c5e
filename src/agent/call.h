/*
 * call: one request of the front and what it is told about it.
 *
 * A call is a conversation (its number, its credit, exactly one Done) and a
 * piece of work (a process, a cell, a walk over files).  The two end by
 * themselves: an early answer ends the conversation while the work goes on, a
 * lost stream ends both.  Output that nobody reads any more is dropped here,
 * so the work need not know.
 */
#ifndef AGENT_CALL_H
#define AGENT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;
struct err;
struct stream;
struct world;

enum { STREAM_OUT = 1, STREAM_ERR = 2, STREAM_FILE = 3 };

enum call_end {
	END_CANCEL,  /* the front asked for it */
	END_TIMEOUT, /* work_ms are over */
	END_LOST,    /* the stream it came by is gone */
};

struct call_ops {                  /* the work; all may be NULL but end */
	void (*room)(void *work);  /* output may go on */
	void (*alone)(void *work); /* nobody waits for it any more */
	void (*input)(void *work, const uint8_t *, size_t n, bool eof);
	void (*resize)(void *work, unsigned rows, unsigned cols);
	/* Bring it to an end; call_done() is still called, later or now. */
	void (*end)(void *work, enum call_end);
};

struct call_entry {
	const char *base, *path; /* told as base/path */
	const char *name;
	uint32_t type; /* as in guest.proto */
	int64_t size, mtime_ms;
};

struct call_result {
	const struct err *err; /* NULL: did what was asked */
	bool has_exit, flag;
	int exit;
};

/* ---- for tools ---- */

const struct world *call_world(const struct call *);
/* Who does the work from now on; before this the call may only be done. */
void call_work(struct call *, const struct call_ops *, void *work);
/* What was waited for is here: work_ms counts from now. */
void call_begun(struct call *);
/* Bytes of this stream that may be handed over now; 0: wait for room(). */
size_t call_room(const struct call *, int stream);
void call_output(struct call *, int stream, const void *, size_t n);
/* May entries be added now?  If not, wait for room(). */
bool call_may_list(const struct call *);
void call_list(struct call *, const struct call_entry *);
void call_want(struct call *, size_t n); /* so many more bytes of input */
/* Is nobody waiting for the outcome? */
bool call_alone(const struct call *);
/* The work is over; the call is not yours any more. */
void call_done(struct call *, const struct call_result *);

/* ---- for the agent ---- */

struct call_limits {
	uint32_t answer_ms, work_ms, cap, credit;
};

struct call *call_new(const struct world *, struct stream *, uint32_t number,
    const struct call_limits *);
struct call *call_find(const struct stream *, uint32_t number);
int call_input(struct call *, const uint8_t *, size_t n, bool eof,
    struct err *);
void call_credit(struct call *, uint32_t bytes);
void call_resize(struct call *, unsigned rows, unsigned cols);
void call_cancel(struct call *);
void call_detach(struct call *);
/* Every call of this stream: output may go on. */
void call_room_all(const struct stream *);
/* The stream is gone: its calls with it. */
void call_lose_all(const struct stream *);

#endif
