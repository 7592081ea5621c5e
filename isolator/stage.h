/*
 * stage: the first thing that happens in a new sandbox's first process.
 *
 * The broker has cloned it into fresh namespaces, mapped its ids and executed
 * the static agent with nothing but a control socket.  The stage waits for the
 * spec, makes the mounts, drops what is to be dropped and then returns, and
 * the same process goes on as the agent; for the broker's own confined
 * processes it executes the given program instead and doesn't return.
 *
 * Linked into the agent; knows nothing of frames or tools.
 */
#ifndef ISOLATOR_STAGE_H
#define ISOLATOR_STAGE_H

struct err;

#define STAGE_CONTROL 3 /* the descriptor that the broker leaves */
#define STAGE_EXIT 71   /* exit status of a stage that failed */

struct stage_result {
	int control; /* then: spec_word_recv() when it is readable */
	int stream;  /* non-blocking; -1 if none came (failure only) */
};

/*
 * At the very start of main(), with STAGE_CONTROL.  0: confined, descriptors
 * 0-2 are /dev/null, only .control and .stream are open besides, cwd is "/",
 * all signals have their default action.
 * -1: say err on .stream if there is one, then _exit(STAGE_EXIT).  How far it
 * got is not known: do nothing else.
 */
int isolate_stage(int control, struct stage_result *, struct err *);

#endif
