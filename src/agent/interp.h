/*
 * interp: the interpreter of the sandbox: one process, started when needed,
 * reached over one socket.
 *
 * Knows how to start it, hand it one cell at a time, interrupt it and tell of
 * its end; what cells wait for and who wants their output is cell's.  Nothing
 * here waits for its pid: its end is a message or the end of the socket.
 */
#ifndef AGENT_INTERP_H
#define AGENT_INTERP_H

#include <stdbool.h>

struct err;
struct world;

struct interp_owner {
	void (*done)(void); /* the cell; another may be given */
	/* It has ended, a new one can be started; why is for people. */
	void (*ended)(const char *why, int exit);
};

void interp_init(const struct world *, const struct interp_owner *);
/*
 * A warm one from outside: its cells' socket, and the one that tells its wait
 * status, for it is no child of ours.  Both are taken; not wanted (and closed)
 * where there is one already.
 */
void interp_join(int cells, int status);
/* Wait for ended() before the next cell. */
bool interp_ending(void);
/*
 * Run this code (a memory file) with these outputs; starts an interpreter if
 * there is none.  The descriptors stay the caller's.
 */
int interp_run(int code, int out, int err_fd, struct err *);
/*
 * SIGINT now, to all it has started after a second, SIGKILL after ten, unless
 * done or ended come first.  Once at a time.
 */
void interp_interrupt(void);

#endif
