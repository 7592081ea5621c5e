/*
 * profile: what tells one kind of confined process from another, as a table.
 *
 * Whoever wants to know whether something is "hardened" looks a field up here;
 * nothing else in the isolator compares profiles.
 */
#ifndef ISOLATOR_PROFILE_H
#define ISOLATOR_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include "isolator/backend.h"

struct profile_row {
	const char *name;
	uint64_t caps;   /* CAPS(): what its root keeps */
	uint32_t flags;  /* SPEC_* that it always has */
	uint32_t nofile; /* when nothing else is said */
	bool agent;      /* goes on as the agent; else executes a program */
	bool net;        /* lives in the broker's network */
	unsigned pids;   /* of a program of ours, threads too */
};

const struct profile_row *profile_row(enum profile);

#endif
