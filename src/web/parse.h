/*
 * parse: requests of HTTP/1.1 by RFC 9112; bytes in, events out.
 *
 * Pure: no I/O, no clock, no routes.  Strict where leniency is how requests
 * are smuggled: CRLF only, names are tokens, one Host, one length or exactly
 * "chunked" and never both, no folding.  The events do not depend on how the
 * bytes were cut into pieces (only PARSE_DATA comes in other pieces).
 */
#ifndef WEB_PARSE_H
#define WEB_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

enum parse_event {
	PARSE_MORE, /* all bytes used, nothing to tell yet */
	PARSE_HEAD, /* the fields below are valid until parse_reset */
	PARSE_DATA, /* a piece of the body: inside the bytes given */
	PARSE_DONE, /* the request is complete; the rest is the next one's */
	PARSE_BAD   /* answer .status with .why, and close; final */
};

enum {
	PARSE_HEAD_MAX = 16384,
	PARSE_FIELDS_MAX = 100,
	PARSE_LINE_MAX = 256,  /* a chunk's extension */
	PARSE_EXTRA_MAX = 8192 /* trailers and all extensions of one body */
};

enum parse_state {
	PARSE_REQUEST,
	PARSE_FIELDS,
	PARSE_START, /* of the body: the head is told, its shape not used yet */
	PARSE_BODY,
	PARSE_SIZE,
	PARSE_EXT,
	PARSE_SIZE_LF,
	PARSE_CHUNK,
	PARSE_CHUNK_CR,
	PARSE_CHUNK_LF,
	PARSE_TRAILER,
	PARSE_END,
	PARSE_FAILED,
	PARSE_STATES
};

struct parse {
	/* PARSE_HEAD */
	char *method;   /* a token, as sent */
	char *path;     /* raw: begins with '/', or is "*" */
	char *query;    /* raw, "" if none */
	int minor;      /* HTTP/1.minor, 0 or 1 */
	int64_t length; /* of the body; -1: chunked */
	bool keep;      /* the client would use the connection again */
	bool expect;    /* it waits for 100 Continue */
	bool upgrade;   /* Connection: upgrade */
	/* PARSE_BAD */
	int status;
	const char *why;

	/* private */
	enum parse_state state;
	struct str head, tail;
	size_t line; /* where the current line begins in head */
	struct {
		uint16_t name, value;
	} field[PARSE_FIELDS_MAX];
	unsigned nfield, hosts;
	uint16_t target;
	bool blank, has_length, chunked, said_close, said_keep;
	uint64_t left;
	size_t digits, ext, extra;
};

void parse_init(struct parse *);
void parse_reset(struct parse *); /* for the next request */
void parse_free(struct parse *);
/* *used bytes are done with; for PARSE_DATA *data and *ndata are the piece. */
enum parse_event parse_feed(struct parse *, const uint8_t *bytes, size_t n,
    size_t *used, const uint8_t **data, size_t *ndata);
bool parse_begun(const struct parse *);   /* some bytes of a request came */
int64_t parse_left(const struct parse *); /* of the body; -1: unknown */

/* The first field of that name, NULL if none. */
const char *parse_field(const struct parse *, const char *name);

/* For others that read field lines: multipart.c. */
bool parse_is_token(const char *, size_t n);
/* "name: value" in place: ends both with NUL; false if it isn't one. */
bool parse_split_field(char *line, size_t n, char **name, char **value);

#endif
