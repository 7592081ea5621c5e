/*
 * peer: one of our processes at the other end of a link.
 *
 * Sends without ever waiting: what does not fit is queued, and while something
 * is queued nothing more is read, so the queue stays short.  Knows no message.
 */
#ifndef DAEMON_PEER_H
#define DAEMON_PEER_H

#include <stdint.h>

struct err;
struct job;
struct link_msg;
struct loop;
struct peer;

/* -1 and err: not to be trusted any more; gone() follows. */
typedef int peer_msg_fn(void *arg, struct peer *, struct link_msg *,
    struct err *);
/* It left or broke the rules.  Once, from the loop; peer_free is yours. */
typedef void peer_gone_fn(void *arg, struct peer *);

struct peer {
	int fd; /* owned */
	unsigned role;
	const char *name;
	uint32_t spent;  /* rows that may be asked once, and were */
	struct job *job; /* of a fetcher */
	struct peer_io *io;
};

/* Without a loop (NULL) it only sends: for tests. */
struct peer *peer_new(struct loop *, int fd, unsigned role, const char *name,
    peer_msg_fn *, peer_gone_fn *, void *arg);
void peer_free(struct peer *);
/* Takes the message's descriptors, whatever comes of it. */
int peer_send(struct peer *, struct link_msg *, struct err *);

#endif
