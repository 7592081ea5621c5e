/*
 * spawn: one process of the guest, started without copying the agent.
 *
 * The child borrows our memory until it executes (CLONE_VM), so it costs the
 * same however big the agent is.  It gets a session of its own, descriptors
 * 0..nfd-1 and nothing else, default signals and an empty mask.
 */
#ifndef AGENT_SPAWN_H
#define AGENT_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

struct spawn {
	const char *const *argv; /* NULL-ended */
	char *const *env;        /* its PATH finds an argv[0] without slash */
	const char *cwd;
	const int *fd; /* become 0, 1, ...; -1: /dev/null */
	size_t nfd;
	bool tty; /* fd[0] becomes the controlling terminal */
};

/*
 * The child's pid.  ERR_MISSING: no such program (.sys is ENOENT) or directory
 * (ENOTDIR); ERR_DENIED: it may not be executed; the text names which.
 */
pid_t spawn(const struct spawn *, struct err *);

#endif
