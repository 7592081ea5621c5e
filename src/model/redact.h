/*
 * redact: secrets out of a stream of bytes.
 *
 * What a model answers may quote its key ("Incorrect API key provided: ...").
 * Every occurrence becomes REDACTED, also one that is split between pieces:
 * the end of a piece that may be the beginning of a secret waits for the next.
 * Pure.  Secrets shorter than REDACT_LEAST are no secrets.
 */
#ifndef MODEL_REDACT_H
#define MODEL_REDACT_H

#include <stddef.h>
#include "base/str.h"

#define REDACT_LEAST 8
#define REDACT_MOST 34 /* a key and 32 headers, and one over */
#define REDACTED "[hidden]"

struct redact {
	char *secret[REDACT_MOST];
	size_t n;
	struct str held; /* shorter than the longest secret */
};

void redact_add(struct redact *, const char *secret, size_t n);
void redact_free(struct redact *); /* wipes them */
/* Appends to out what can be said by now. */
void redact_feed(struct redact *, const void *, size_t n, struct str *out);
void redact_end(struct redact *, struct str *out);
/* A whole text. */
char *redact_text(const struct redact *, const char *text);

#endif
