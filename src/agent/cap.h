/*
 * cap: the first and the last bytes of an output of any length.
 *
 * The first half goes on at once; of what follows only the last half is kept.
 * At the end the kept bytes follow, and where something is missing a marker
 * tells how much.  The cut falls between characters when the bytes are UTF-8.
 * Pure: bytes in, bytes out.
 */
#ifndef AGENT_CAP_H
#define AGENT_CAP_H

#include <stddef.h>
#include <stdint.h>

struct str;

struct cap {
	size_t head;   /* bytes that still go on at once */
	unsigned rest; /* bytes by which it may grow, to end a character */
	size_t room;   /* size of the ring */
	size_t at, len;
	uint64_t lost; /* overwritten in the ring */
	char *ring;    /* made when needed */
};

void cap_init(struct cap *, size_t most); /* most > 0 */
void cap_free(struct cap *);
/* Takes n bytes; the first so many of them are to be sent now. */
size_t cap_take(struct cap *, const char *bytes, size_t n);
/* The most that cap_take will send now, whatever comes. */
size_t cap_wants(const struct cap *);
/* What is left to be sent, marker included, to the end of out.  Bytes cut. */
uint64_t cap_end(struct cap *, struct str *out);

#endif
