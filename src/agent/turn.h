/*
 * turn: long work in short pieces, one a round of the loop, so that no walk
 * over a million files keeps other calls waiting.
 */
#ifndef AGENT_TURN_H
#define AGENT_TURN_H

struct loop;
struct turn;

enum turn_result {
	TURN_AGAIN, /* there is more to do */
	TURN_WAIT,  /* until turn_go() */
	TURN_OVER,  /* the owner, and with it the turn, has been freed */
};

typedef enum turn_result turn_fn(void *arg);

struct turn *turn_new(struct loop *, turn_fn *, void *arg); /* and go */
void turn_go(struct turn *); /* it waits, or is waiting for its turn */
void turn_free(struct turn *);

#endif
