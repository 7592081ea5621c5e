#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "agent/cap.h"
#include "base/str.h"

void
cap_init(struct cap *c, size_t most)
{
	*c = (struct cap){ .head = most - most / 2,
		.rest = 3,
		.room = most / 2 };
	if (c->room == 0)
		c->room = 1;
}

void
cap_free(struct cap *c)
{
	free(c->ring);
	c->ring = NULL;
}

static bool
continues(char b)
{
	return ((unsigned char)b & 0xc0) == 0x80;
}

static void
keep(struct cap *c, const char *bytes, size_t n)
{
	if (n == 0)
		return;
	if (c->ring == NULL)
		c->ring = xmalloc(c->room);
	if (n > c->room) {
		c->lost += n - c->room;
		bytes += n - c->room;
		n = c->room;
	}
	if (c->len + n > c->room)
		c->lost += c->len + n - c->room;
	for (size_t done = 0; done < n;) {
		size_t to = (c->at + done) % c->room, part = c->room - to;

		if (part > n - done)
			part = n - done;
		memcpy(c->ring + to, bytes + done, part);
		done += part;
	}
	c->at = (c->at + n) % c->room;
	c->len = c->len + n > c->room ? c->room : c->len + n;
}

size_t
cap_take(struct cap *c, const char *bytes, size_t n)
{
	size_t now = n < c->head ? n : c->head;

	c->head -= now;
	/* The rest of a character whose beginning has been sent. */
	while (c->head == 0 && c->rest > 0 && now < n)
		if (continues(bytes[now])) {
			now++;
			c->rest--;
		} else {
			c->rest = 0;
		}
	keep(c, bytes + now, n - now);
	return now;
}

size_t
cap_wants(const struct cap *c)
{
	return c->head + c->rest;
}

uint64_t
cap_end(struct cap *c, struct str *out)
{
	size_t first = (c->at + c->room - c->len) % c->room, skip = 0;
	uint64_t cut = 0;

	if (c->lost > 0) {
		while (skip < 3 && skip < c->len &&
		    continues(c->ring[(first + skip) % c->room]))
			skip++;
		cut = c->lost + skip;
		str_printf(out, "\n[... %llu bytes left out ...]\n",
		    (unsigned long long)cut);
	}
	while (skip < c->len) {
		size_t from = (first + skip) % c->room, part = c->room - from;

		if (part > c->len - skip)
			part = c->len - skip;
		str_add(out, c->ring + from, part);
		skip += part;
	}
	c->len = 0;
	c->lost = 0;
	cap_free(c);
	return cut;
}
