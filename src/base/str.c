#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"

static void *
must(void *p)
{
	if (p == NULL) {
		fputs("<2>out of memory\n", stderr);
		abort();
	}
	return p;
}

void *
xmalloc(size_t n)
{
	return must(malloc(n > 0 ? n : 1));
}

void *
xcalloc(size_t n, size_t size)
{
	return must(calloc(n > 0 ? n : 1, size > 0 ? size : 1));
}

void *
xrealloc(void *p, size_t n)
{
	return must(realloc(p, n > 0 ? n : 1));
}

char *
xstrdup(const char *s)
{
	return must(strdup(s));
}

char *
xstrndup(const char *s, size_t n)
{
	return must(strndup(s, n));
}

char *
xasprintf(const char *fmt, ...)
{
	struct str s = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&s, fmt, ap);
	va_end(ap);
	return str_take(&s);
}

static void
need(struct str *s, size_t more)
{
	size_t room = s->room > 0 ? s->room : 64;

	if (more >= SIZE_MAX / 2 - s->len)
		must(NULL);
	while (room < s->len + more + 1)
		room *= 2;
	if (room == s->room)
		return;
	s->at = xrealloc(s->at, room);
	s->room = room;
}

void
str_need(struct str *s, size_t n)
{
	need(s, n);
}

void
str_free(struct str *s)
{
	free(s->at);
	*s = (struct str){ 0 };
}

void
str_add(struct str *s, const void *bytes, size_t n)
{
	need(s, n);
	if (n > 0)
		memcpy(s->at + s->len, bytes, n);
	s->len += n;
	s->at[s->len] = '\0';
}

void *
str_extend(struct str *s, size_t n)
{
	need(s, n);
	s->len += n;
	s->at[s->len] = '\0';
	return s->at + s->len - n;
}

void
str_puts(struct str *s, const char *text)
{
	str_add(s, text, strlen(text));
}

void
str_putc(struct str *s, char c)
{
	str_add(s, &c, 1);
}

void
str_vprintf(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return;
	need(s, (size_t)n);
	vsnprintf(s->at + s->len, (size_t)n + 1, fmt, ap);
	s->len += (size_t)n;
}

void
str_printf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(s, fmt, ap);
	va_end(ap);
}

void
str_cut(struct str *s, size_t len)
{
	if (len >= s->len)
		return;
	s->len = len;
	s->at[len] = '\0';
}

void
str_drop(struct str *s, size_t n)
{
	if (n >= s->len) {
		str_cut(s, 0);
		return;
	}
	memmove(s->at, s->at + n, s->len - n + 1);
	s->len -= n;
}

const char *
str_text(const struct str *s)
{
	return s->at != NULL ? s->at : "";
}

char *
str_take(struct str *s)
{
	char *taken = s->at != NULL ? s->at : xstrdup("");

	*s = (struct str){ 0 };
	return taken;
}

void
hex_put(char *out, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[b[i] >> 4];
		out[2 * i + 1] = digits[b[i] & 15];
	}
	out[2 * n] = '\0';
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int
hex_get(void *bytes, size_t n, const char *text)
{
	uint8_t *b = bytes;

	if (strnlen(text, 2 * n + 1) != 2 * n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int hi = digit(text[2 * i]), lo = digit(text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -1;
		b[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}
