/*
 * uri: percent-encoding, and the pieces of a path and a query.
 *
 * Pure text; knows no request.
 */
#ifndef WEB_URI_H
#define WEB_URI_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Decode n bytes to out, which has room for n + 1.  plus: '+' is a blank, as
 * in queries.  -1 if an escape is malformed or would be a NUL.
 */
int uri_decode(char *out, const char *in, size_t n, bool plus);
bool uri_is_sane(const char *raw); /* uri_decode would succeed */
void uri_collapse(char *path);     /* "a//b" to "a/b", in place */

struct uri_pair { /* raw pieces of a query */
	const char *name, *value;
	size_t name_len, value_len;
};
/* The pair at *at, which moves on; false at the end. */
bool uri_next_pair(const char **at, struct uri_pair *);

#endif
