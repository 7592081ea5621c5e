/*
 * str: growable bytes.
 *
 * A struct str may sit on the stack; { 0 } is an empty one.  The bytes are
 * always followed by a NUL that .len does not count.  Running out of memory
 * ends the process (xmalloc).  Knows no encoding.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct str {
	char *at; /* NULL until something is added */
	size_t len, room;
};

void str_free(struct str *); /* leaves an empty str behind */
#define auto_str __attribute__((cleanup(str_free)))

void str_add(struct str *, const void *bytes, size_t n);
void *str_extend(struct str *, size_t n); /* n bytes more, yours to fill */
void str_need(struct str *, size_t n);    /* the next n won't reallocate */
void str_puts(struct str *, const char *);
void str_putc(struct str *, char);
void str_printf(struct str *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *, const char *fmt, va_list)
    __attribute__((format(printf, 2, 0)));
void str_cut(struct str *, size_t len);   /* keep the first len bytes */
void str_drop(struct str *, size_t n);    /* forget the first n bytes */
const char *str_text(const struct str *); /* "" when empty, never NULL */
char *str_take(struct str *);             /* yours to free; never NULL */

/* out holds 2n + 1 bytes. */
void hex_put(char *out, const void *bytes, size_t n);
/* Exactly 2n lower-case digits and a NUL, or -1. */
int hex_get(void *bytes, size_t n, const char *text);

void *xmalloc(size_t);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *, size_t);
char *xstrdup(const char *);
char *xstrndup(const char *, size_t);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
