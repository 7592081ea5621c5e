/*
 * state: the root directory of a daemon, and the instance number it holds.
 *
 *	lock		one daemon a root (flock)
 *	instance	the number it had; it is asked for again
 *	run/		sockets
 *	front/		the front's own: state, workspaces
 *	net/		what the network has to undo
 *	store/layers/<64 hex>		finished layers, ids of slot 0
 *	store/images/<64 hex>.json	records; .layers: what they stand on
 *	store/staging/<32 hex>/		imports that go on
 *	store/trash/			what is being removed
 *
 * Nobody but root gets in below store and front by path; others get a
 * descriptor of a mount that ends there.
 */
#ifndef DAEMON_STATE_H
#define DAEMON_STATE_H

#include <sys/types.h>

struct err;

#define STATE_INSTANCES 32

struct state {
	int root, run, front, net;
	int layers, images, staging, trash;
	int lock;
	int number_lock;
	unsigned number;
	char name[16]; /* "3" */
};

/* Makes what is missing; refuses a root or numbers in use. */
int state_open(struct state *, const char *root, struct err *);
/* dir and all below it belong to id, if dir does not already. */
int state_own(int dir, uid_t id, struct err *);
/* Gives the number back. */
void state_close(struct state *);
/* Everything that state_open or a daemon made below root; then root itself if
 * it is empty.  The state must be open, and is closed. */
int state_erase(struct state *, const char *root, struct err *);

#endif
