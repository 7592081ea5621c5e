/*
 * escape: escaped text (event.h) from bytes and from JSON.
 *
 * Characters that JSON wants escaped are, and U+0085, U+2028 and U+2029, at
 * which some clients split lines; all others are themselves.  What is no UTF-8
 * and what is half a surrogate pair becomes U+FFFD.
 */
#ifndef ENGINE_ESCAPE_H
#define ENGINE_ESCAPE_H

#include <jansson.h>
#include <stddef.h>

struct str;

/* Any bytes to escaped text, appended. */
void escape_text(struct str *out, const char *, size_t n);
void escape_puts(struct str *out, const char *);
/* In quotes; NULL: null. */
void escape_quote(struct str *out, const char *);
/* A JSON value, compact (for part values and metadata). */
void escape_json(struct str *out, const json_t *);

/*
 * How many of these bytes, what stands between two quotes of a JSON text, are
 * escaped text as they are: all n, usually.
 */
size_t escape_span(const char *, size_t n);
/* Make escaped text of them.  -1: they are no inside of a JSON string. */
int escape_inner(struct str *out, const char *, size_t n);
/*
 * JSON text of a stranger's: where it is no UTF-8 or has half a pair, a copy
 * without these is made in scratch.  What comes back is one of the two.
 */
const char *escape_tidy(const char *, size_t *n, struct str *scratch);

#endif
