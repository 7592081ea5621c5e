/*
 * world: what every part of the agent is given: the loop, and what the front
 * said in Setup.  One of them in the process; nobody but main makes it.
 */
#ifndef AGENT_WORLD_H
#define AGENT_WORLD_H

#include <stdint.h>

struct loop;

struct world {
	struct loop *loop;
	char **env;          /* NULL-ended; never NULL after Setup */
	char *cwd;           /* a string: no descriptor is held between calls */
	const char *files;   /* root of the fs tools: "/workspace" */
	uint32_t generation; /* of the front's stream */
	void (*control)(void); /* takes what the broker has sent by now */
};

#endif
