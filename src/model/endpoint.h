/*
 * endpoint: those that hutch-model may speak to, and their keys.
 *
 * Read from the broker's lines ("model NAME", then what is true of it).  An
 * entry is counted: calls that go on keep theirs when the table is read anew.
 */
#ifndef MODEL_ENDPOINT_H
#define MODEL_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct endpoints;

struct endpoint {
	char *name, *url, *key, *proxy; /* key, proxy: NULL none said */
	char **header;                  /* NULL-ended; NULL: none */
	size_t nheader;
	uint32_t timeout, stall; /* seconds */
	uint32_t most;           /* answers at once */
	uint32_t active;
	unsigned users;
};

struct endpoints {
	struct endpoint **at;
	size_t n;
	char *log;               /* level */
	struct endpoint *traces; /* the collector; NULL: none */
	bool push_anywhere;      /* private addresses, too */
};

/* A whole text of lines; what it says replaces *t on success. */
int endpoints_read(struct endpoints *t, const char *text, struct err *);
void endpoints_free(struct endpoints *);
/* Held for the caller; NULL: none of that name. */
struct endpoint *endpoints_find(struct endpoints *, const char *name);
void endpoint_hold(struct endpoint *);
void endpoint_drop(struct endpoint *);

#endif
