/*
 * run: a process as the work of a call: its output, its input, its end.
 *
 * The call is done when the process has ended and what it wrote has been sent;
 * what it left running in the background is not waited for.
 */
#ifndef AGENT_RUN_H
#define AGENT_RUN_H

#include <stdbool.h>

struct call;
struct err;

struct run {
	const char *const *argv;
	char *const *env;
	const char *cwd;
	int also; /* becomes descriptor 3; -1: none; stays the caller's */
	bool input;
	bool tty;
	unsigned rows, cols; /* of tty */
};

int run_start(struct call *, const struct run *, struct err *);

#endif
