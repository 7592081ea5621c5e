/*
 * reply: a run's events in the words of one outward protocol.
 *
 * One encoder a run, that of the door it came by.  It sees every event from
 * the first to the last and prints to the run's feed (NULL when nobody reads a
 * stream: feed_put does nothing then); at the end it can tell the whole answer
 * as one JSON document.  Pure: no I/O, no clock, no loop.  One file a protocol,
 * reply_NAME.c, with its own struct that begins with struct reply.
 */
#ifndef ENGINE_REPLY_H
#define ENGINE_REPLY_H

#include <jansson.h>
#include <stddef.h>

struct event;
struct feed;
struct message;
struct part;
struct reply;
struct str;

struct reply_kind {
	const char *name;
	size_t size; /* of the struct that embeds reply */
	/* arg: the door's own facts (the request, echoed); borrowed during the
	 * call. */
	void (*open)(struct reply *, const void *arg);
	void (*event)(struct reply *, const struct event *, struct feed *);
	/* After EV_END, as often as wanted: the answer of who did not ask for a
	 * stream.  What EV_END points to is good as long as the reply is. */
	void (*whole)(const struct reply *, struct str *json);
	void (*drop)(struct reply *); /* frees what it added; may be NULL */
};

struct reply {
	const struct reply_kind *kind;
};

struct reply *reply_new(const struct reply_kind *, const void *arg);
void reply_free(struct reply *);

extern const struct reply_kind reply_native;

/* Shared by encoders: as the native stream has them. */
void native_part(struct str *, const struct event *, const struct part *);
void native_message(struct str *, const struct message *);

#endif
