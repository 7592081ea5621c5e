/*
 * jtext: JSON text as the wire wants it, to and from jansson's values.
 *
 * jansson alone would lose integers beyond 64 bits, print 0.1 with 17 digits
 * and refuse bytes that are not UTF-8.  So an integer that does not fit is read
 * as a string that begins with U+001F '#', and written digit for digit as a
 * number again; a string of the client's that begins with U+001F is kept apart
 * by another such mark.  Such values may be stored and read back by anybody
 * who uses jansson; what looks at a string's text asks jtext_string().
 *
 * NaN, infinities and reals out of range are refused.  Of two equal keys the
 * last one wins, in the place of the first, as Python has it.
 */
#ifndef JSON_JTEXT_H
#define JSON_JTEXT_H

#include <jansson.h>
#include <stddef.h>

struct err;
struct str;

struct jtext_where { /* of a syntax error */
	int line, column;
	size_t at;
};

/* A new reference; where may be NULL. */
json_t *jtext_read(const void *text, size_t n, struct jtext_where *,
    struct err *);
/* Compact, order kept, UTF-8 not escaped. */
void jtext_write(struct str *out, const json_t *);
/* A quoted string from any bytes; what is not UTF-8 is replaced. */
void jtext_quote(struct str *out, const void *bytes, size_t n);
void jtext_quote_text(struct str *out, const char *);
/* Seconds since 1970, or null for 0; numbers as Python prints them. */
void jtext_time(struct str *out, double);
/* The text of a string as the client wrote it; NULL if it is none. */
const char *jtext_string(const json_t *, size_t *len);
/* The same when it holds no NUL and so is a C string. */
const char *jtext_cstring(const json_t *);

#endif
