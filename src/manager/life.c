#include <stddef.h>
#include "base/err.h"
#include "manager/life.h"

/* clang-format off */
static const struct {
	enum life_state from;
	enum life_event on;
	enum life_state to;
} moves[] = {
	{ LIFE_NEW,		LIFE_CREATE,	LIFE_PREPARING },
	{ LIFE_DEAD,		LIFE_CREATE,	LIFE_PREPARING },
	{ LIFE_PREPARING,	LIFE_PREPARED,	LIFE_BUILDING },
	{ LIFE_BUILDING,	LIFE_BUILT,	LIFE_BOOTING },
	{ LIFE_BOOTING,		LIFE_HELLO,	LIFE_LOADING },
	{ LIFE_LOADING,		LIFE_LOADED,	LIFE_READY },
	{ LIFE_READY,		LIFE_LOAD,	LIFE_LOADING },
	{ LIFE_READY,		LIFE_PAUSE,	LIFE_PAUSED },
	{ LIFE_PAUSED,		LIFE_RESUME,	LIFE_READY },

	/* A front that was not there when it began. */
	{ LIFE_NEW,		LIFE_ATTACH,	LIFE_BOOTING },
	{ LIFE_NEW,		LIFE_FROZEN,	LIFE_PAUSED },
	{ LIFE_PAUSED,		LIFE_ATTACH,	LIFE_BOOTING },

	/* Its workspace outlives it. */
	{ LIFE_READY,		LIFE_SAVE,	LIFE_SAVING },
	{ LIFE_SAVING,		LIFE_SAVED,	LIFE_STOPPING },
	{ LIFE_SAVING,		LIFE_KEEP,	LIFE_READY },
	{ LIFE_SAVING,		LIFE_TIMEOUT,	LIFE_READY },

	/* Before there is a process, giving up is enough... */
	{ LIFE_NEW,		LIFE_STOP,	LIFE_DEAD },
	{ LIFE_PREPARING,	LIFE_STOP,	LIFE_DEAD },
	{ LIFE_PREPARING,	LIFE_FAILED,	LIFE_DEAD },
	{ LIFE_PREPARING,	LIFE_TIMEOUT,	LIFE_DEAD },
	{ LIFE_BUILDING,	LIFE_FAILED,	LIFE_DEAD },

	/* ... after that, only its exit ends it. */
	{ LIFE_BUILDING,	LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_BUILDING,	LIFE_TIMEOUT,	LIFE_STOPPING },
	{ LIFE_BOOTING,		LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_BOOTING,		LIFE_FAILED,	LIFE_STOPPING },
	{ LIFE_BOOTING,		LIFE_TIMEOUT,	LIFE_STOPPING },
	{ LIFE_LOADING,		LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_LOADING,		LIFE_FAILED,	LIFE_STOPPING },
	{ LIFE_LOADING,		LIFE_TIMEOUT,	LIFE_STOPPING },
	{ LIFE_READY,		LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_PAUSED,		LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_SAVING,		LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_STOPPING,	LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_STOPPING,	LIFE_TIMEOUT,	LIFE_STOPPING },

	/* A broken stream most often is the first sign of an exit. */
	{ LIFE_BOOTING,		LIFE_GONE,	LIFE_LOST },
	{ LIFE_LOADING,		LIFE_GONE,	LIFE_LOST },
	{ LIFE_READY,		LIFE_GONE,	LIFE_LOST },
	{ LIFE_PAUSED,		LIFE_GONE,	LIFE_LOST },
	{ LIFE_SAVING,		LIFE_GONE,	LIFE_LOST },
	{ LIFE_LOST,		LIFE_STOP,	LIFE_STOPPING },
	{ LIFE_LOST,		LIFE_TIMEOUT,	LIFE_STOPPING },

	{ LIFE_BUILDING,	LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_BOOTING,		LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_LOADING,		LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_READY,		LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_PAUSED,		LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_SAVING,		LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_LOST,		LIFE_EXITED,	LIFE_DEAD },
	{ LIFE_STOPPING,	LIFE_EXITED,	LIFE_DEAD },
};

static const struct {
	const char *name;
	unsigned deadline;
} states[LIFE_STATES] = {
	[LIFE_NEW]	 = { "new",		0 },
	[LIFE_PREPARING] = { "preparing",	30 },
	[LIFE_BUILDING]	 = { "building",	35 },	/* the question's is 30 */
	[LIFE_BOOTING]	 = { "booting",		20 },
	[LIFE_LOADING]	 = { "loading",		120 },
	[LIFE_READY]	 = { "ready",		0 },
	[LIFE_PAUSED]	 = { "paused",		0 },
	[LIFE_SAVING]	 = { "saving",		120 },
	[LIFE_LOST]	 = { "lost",		2 },
	[LIFE_STOPPING]	 = { "stopping",	5 },
	[LIFE_DEAD]	 = { "dead",		0 },
};

static const char *const events[LIFE_EVENTS] = {
	[LIFE_CREATE]	= "create",
	[LIFE_PREPARED]	= "prepared",
	[LIFE_BUILT]	= "built",
	[LIFE_ATTACH]	= "attach",
	[LIFE_FROZEN]	= "frozen",
	[LIFE_HELLO]	= "hello",
	[LIFE_LOAD]	= "load",
	[LIFE_LOADED]	= "loaded",
	[LIFE_PAUSE]	= "pause",
	[LIFE_RESUME]	= "resume",
	[LIFE_SAVE]	= "save",
	[LIFE_SAVED]	= "saved",
	[LIFE_KEEP]	= "keep",
	[LIFE_STOP]	= "stop",
	[LIFE_FAILED]	= "failed",
	[LIFE_GONE]	= "gone",
	[LIFE_TIMEOUT]	= "timeout",
	[LIFE_EXITED]	= "exited",
};
/* clang-format on */

int
life_event(struct life *l, enum life_event ev, struct err *err)
{
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		if (moves[i].from != l->state || moves[i].on != ev)
			continue;
		l->was = l->state;
		l->state = moves[i].to;
		if (l->acts[l->state] != NULL)
			l->acts[l->state](l);
		return 0;
	}
	return err_set(err, ERR_BUSY, "the sandbox is %s",
	    states[l->state].name);
}

const char *
life_state_name(enum life_state state)
{
	return states[state].name;
}

const char *
life_event_name(enum life_event event)
{
	return events[event];
}

unsigned
life_deadline(enum life_state state)
{
	return states[state].deadline;
}
