/*
 * utf8: is it text, and text made of what is not.
 *
 * The UTF-8 of RFC 3629: no surrogates, no overlong forms, nothing above
 * U+10FFFF.  NUL is text like any other character here.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

struct str;

/* How many of these bytes, from the first, are whole characters. */
size_t utf8_span(const void *bytes, size_t n);
/*
 * Adds the bytes to out; what is not text becomes U+FFFD, one for each longest
 * beginning of a character, as Unicode recommends and Python does.
 */
void utf8_clean(struct str *out, const void *bytes, size_t n);

#endif
