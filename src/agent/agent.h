/*
 * agent: one stream of the front: Setup and Hello, then calls.
 *
 * A new stream takes the place of the old one, whose calls end with it.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

struct err;
struct world;

/* What needs neither stream nor sandbox; once, before all else. */
void agent_ready(void);
/* gone: the stream is over; a front may still bring another. */
void agent_start(struct world *, void (*gone)(void));
void agent_stream(int fd); /* taken */
/* Why there is no sandbox, on this stream, at once. */
void agent_last_words(int fd, const struct err *);

#endif
