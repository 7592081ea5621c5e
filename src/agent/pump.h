/*
 * pump: from a pipe (or a terminal) of the guest into a call's output.
 *
 * Reads only what the call may send.  When the process that counts has ended,
 * pump_finish() still takes what is in the pipe at that moment, no more: others
 * may hold it open for ever.  Their later output is read and thrown away, so
 * that they never block.
 */
#ifndef AGENT_PUMP_H
#define AGENT_PUMP_H

#include <stdbool.h>
#include <stddef.h>

struct call;
struct loop;
struct watch;

struct pump {
	struct loop *loop;
	struct call *call;
	int fd; /* -1: over */
	int stream;
	struct watch *watch;
	bool paused, bounded;
	size_t left; /* of what is still taken, if bounded */
	void (*over)(void *arg);
	void *arg;
};

/* fd is taken; over is called once, from the loop, when nothing will follow. */
void pump_start(struct pump *, struct call *, int fd, int stream,
    void (*over)(void *), void *arg);
void pump_room(struct pump *);   /* the call may send again */
void pump_finish(struct pump *); /* may call over at once */
/* Over now, whatever is still in it. */
void pump_drop(struct pump *);

#endif
