#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "base/str.h"
#include "base/utf8.h"
#include "engine/escape.h"
#include "json/jtext.h"

enum { PLAIN, CONTROL, QUOTE, BACKSLASH, HIGH };

/* clang-format off */
static const uint8_t class[256] = {
	[0 ... 31] = CONTROL,
	['"'] = QUOTE,
	['\\'] = BACKSLASH,
	[128 ... 255] = HIGH,
};
/* clang-format on */

/* The length of U+0085, U+2028 or U+2029 at s, which may have 2 bytes; or 0. */
static size_t
separator(const char *s, size_t n)
{
	const uint8_t *b = (const uint8_t *)s;

	if (n >= 2 && b[0] == 0xc2 && b[1] == 0x85)
		return 2;
	if (n >= 3 && b[0] == 0xe2 && b[1] == 0x80 && (b[2] | 1) == 0xa9)
		return 3;
	return 0;
}

static void
put_separator(struct str *out, const char *s)
{
	str_puts(out,
	    s[0] == '\xc2'       ? "\\u0085"
		: s[2] == '\xa8' ? "\\u2028"
				 : "\\u2029");
}

/* What is in there is valid UTF-8: only the three are looked for. */
static void
put_clean(struct str *out, const char *s, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len;

		if (class[(uint8_t)s[i]] != HIGH ||
		    (len = separator(s + i, n - i)) == 0)
			continue;
		str_add(out, s + from, i - from);
		put_separator(out, s + i);
		i += len - 1;
		from = i + 1;
	}
	str_add(out, s + from, n - from);
}

static void
put_escaped(struct str *out, uint8_t c)
{
	static const char digits[] = "0123456789abcdef";
	static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	char b[6] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };

	for (size_t i = 0; i + 1 < sizeof named; i += 2)
		if ((uint8_t)named[i] == c) {
			b[1] = named[i + 1];
			str_add(out, b, 2);
			return;
		}
	str_add(out, b, sizeof b);
}

void
escape_text(struct str *out, const char *s, size_t n)
{
	auto_str struct str clean = { 0 };
	size_t from = 0;

	if (n > 0 && utf8_span(s, n) < n) {
		utf8_clean(&clean, s, n);
		s = clean.at;
		n = clean.len;
	}
	for (size_t i = 0; i < n; i++) {
		size_t len = 1;

		if (class[(uint8_t)s[i]] == PLAIN)
			continue;
		if (class[(uint8_t)s[i]] == HIGH &&
		    (len = separator(s + i, n - i)) == 0)
			continue;
		str_add(out, s + from, i - from);
		if (len > 1)
			put_separator(out, s + i);
		else
			put_escaped(out, (uint8_t)s[i]);
		i += len - 1;
		from = i + 1;
	}
	if (n > from)
		str_add(out, s + from, n - from);
}

void
escape_puts(struct str *out, const char *s)
{
	escape_text(out, s, strlen(s));
}

void
escape_quote(struct str *out, const char *s)
{
	if (s == NULL) {
		str_puts(out, "null");
		return;
	}
	str_putc(out, '"');
	escape_puts(out, s);
	str_putc(out, '"');
}

void
escape_json(struct str *out, const json_t *v)
{
	auto_str struct str plain = { 0 };

	/* Outside of strings there is nothing but ASCII. */
	jtext_write(&plain, v);
	put_clean(out, plain.at, plain.len);
}

/* ---- the inside of a JSON string ---- */

/* The length of the character at s if it may stand as it is; else 0. */
static size_t
high(const char *s, size_t n)
{
	const uint8_t *b = (const uint8_t *)s;
	size_t len = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;

	if (n < len || separator(s, n) != 0 || utf8_span(s, len) != len)
		return 0;
	return len;
}

size_t
escape_span(const char *s, size_t n)
{
	size_t i = 0, len;

	while (i < n) {
		switch (class[(uint8_t)s[i]]) {
		case PLAIN:
			i++;
			break;
		case BACKSLASH:
			if (i + 1 >= n || s[i + 1] == '\0' ||
			    strchr("nrtbf\"\\", s[i + 1]) == NULL)
				return i;
			i += 2;
			break;
		case HIGH:
			if ((len = high(s + i, n - i)) == 0)
				return i;
			i += len;
			break;
		default:
			return i;
		}
	}
	return n;
}

/* \uXXXX at s: its number, or -1. */
static int
four(const char *s, size_t n)
{
	int v = 0;

	if (n < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		char c = s[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + (c | 32) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

static void
put_point(struct str *out, uint32_t c)
{
	char b[4];
	size_t n;

	if (c < 0x80) {
		b[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (char)(0xc0 | c >> 6);
		b[1] = (char)(0x80 | (c & 63));
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (char)(0xe0 | c >> 12);
		b[1] = (char)(0x80 | (c >> 6 & 63));
		b[2] = (char)(0x80 | (c & 63));
		n = 3;
	} else {
		b[0] = (char)(0xf0 | c >> 18);
		b[1] = (char)(0x80 | (c >> 12 & 63));
		b[2] = (char)(0x80 | (c >> 6 & 63));
		b[3] = (char)(0x80 | (c & 63));
		n = 4;
	}
	escape_text(out, b, n);
}

static bool
is_high_half(int v)
{
	return v >= 0xd800 && v < 0xdc00;
}

static bool
is_low_half(int v)
{
	return v >= 0xdc00 && v < 0xe000;
}

/* One escape at s, which begins with a backslash: its length, or 0. */
static size_t
put_escape(struct str *out, const char *s, size_t n)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	int v, low;

	if (n < 2)
		return 0;
	if (s[1] != 'u') {
		if (s[1] == '\0' || (at = strchr(from, s[1])) == NULL)
			return 0;
		escape_text(out, &to[at - from], 1);
		return 2;
	}
	if ((v = four(s, n)) < 0)
		return 0;
	low = is_high_half(v) ? four(s + 6, n - 6) : -1;
	if (is_low_half(low)) {
		put_point(out,
		    0x10000 + ((uint32_t)v - 0xd800) * 0x400 +
			((uint32_t)low - 0xdc00));
		return 12;
	}
	put_point(out,
	    is_high_half(v) || is_low_half(v) ? 0xfffd : (uint32_t)v);
	return 6;
}

int
escape_inner(struct str *out, const char *s, size_t n)
{
	size_t good;

	while (n > 0) {
		good = escape_span(s, n);
		str_add(out, s, good);
		s += good;
		n -= good;
		if (n == 0)
			break;
		switch (class[(uint8_t)*s]) {
		case BACKSLASH:
			if ((good = put_escape(out, s, n)) == 0)
				return -1;
			break;
		case HIGH:
			good = 1;
			while (good < n && class[(uint8_t)s[good]] == HIGH)
				good++;
			escape_text(out, s, good);
			break;
		default:
			return -1;
		}
		s += good;
		n -= good;
	}
	return 0;
}

/* ---- a whole text ---- */

/* The first half pair at or after `from`; n: none. */
static size_t
half_pair(const char *s, size_t n, size_t from)
{
	size_t i = from;

	while (i < n) {
		const char *next = memchr(s + i, '\\', n - i);
		int v;

		if (next == NULL)
			return n;
		i = (size_t)(next - s);
		v = four(next, n - i);
		if (is_low_half(v))
			return i;
		if (is_high_half(v)) {
			if (!is_low_half(four(next + 6, n - i - 6)))
				return i;
			i += 6;
		}
		i += v >= 0 ? 6 : 2;
	}
	return n;
}

const char *
escape_tidy(const char *s, size_t *n, struct str *scratch)
{
	size_t at, from = 0;
	auto_str struct str clean = { 0 };

	str_cut(scratch, 0);
	if (utf8_span(s, *n) < *n) {
		utf8_clean(&clean, s, *n);
		s = clean.at;
		*n = clean.len;
	} else if (half_pair(s, *n, 0) == *n)
		return s;
	while ((at = half_pair(s, *n, from)) < *n) {
		str_add(scratch, s + from, at - from);
		str_puts(scratch, "\\ufffd");
		from = at + 6;
	}
	str_add(scratch, s + from, *n - from);
	*n = scratch->len;
	return scratch->at;
}
