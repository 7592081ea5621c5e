/*
 * registry: the tools an agent said it has, copied out of its Hello.
 *
 * What it is given has been checked (event.h); the copy is one block.
 */
#ifndef GUEST_REGISTRY_H
#define GUEST_REGISTRY_H

#include <stddef.h>
#include "guest.pb-c.h"

struct guest_tool;

struct registry {
	struct guest_tool *tool;
	size_t n;
};

void registry_copy(struct registry *, const Guest__Hello *);
void registry_free(struct registry *);

#endif
