/*
 * life: the life cycle of a sandbox, as one table.
 *
 * What may happen in which state, and what comes of it.  An act starts the
 * work of the state that was entered and never moves on by itself: the work's
 * end is the next event.  Knows no broker, no guest and no clock; a test hands
 * in recorders.
 */
#ifndef MANAGER_LIFE_H
#define MANAGER_LIFE_H

struct err;

enum life_state {
	LIFE_NEW,       /* nothing runs and nothing ever did */
	LIFE_PREPARING, /* its image is looked up */
	LIFE_BUILDING,  /* the broker makes it */
	LIFE_BOOTING,   /* there is a stream; Hello is awaited */
	LIFE_LOADING,   /* a saved workspace goes in */
	LIFE_READY,
	LIFE_PAUSED, /* frozen; may have no stream, see LIFE_ATTACH */
	LIFE_SAVING, /* its workspace goes to disk, before it is stopped */
	LIFE_LOST,   /* the stream broke; why is not known yet */
	LIFE_STOPPING,
	LIFE_DEAD, /* nothing runs any more */
	LIFE_STATES
};

enum life_event {
	LIFE_CREATE,
	LIFE_PREPARED,
	LIFE_BUILT,
	LIFE_ATTACH, /* found alive, or resumed, by a front that has no stream */
	LIFE_FROZEN, /* found alive and frozen */
	LIFE_HELLO,
	LIFE_LOAD, /* from the pool: a workspace has to go in first */
	LIFE_LOADED,
	LIFE_PAUSE,
	LIFE_RESUME,
	LIFE_SAVE,
	LIFE_SAVED,
	LIFE_KEEP, /* not saved, or wanted again */
	LIFE_STOP,
	LIFE_FAILED,
	LIFE_GONE, /* the stream is over */
	LIFE_TIMEOUT,
	LIFE_EXITED, /* the broker's word, or the same by inference */
	LIFE_EVENTS
};

struct life;
typedef void life_act(struct life *);

struct life {
	enum life_state state, was;
	life_act *const *acts; /* by state; NULL: nothing to do */
};

/* -1, ERR_BUSY and nothing done when this can't happen in this state. */
int life_event(struct life *, enum life_event, struct err *);
const char *life_state_name(enum life_state);
const char *life_event_name(enum life_event);
unsigned life_deadline(enum life_state); /* seconds to TIMEOUT; 0: none */

#endif
