#include <stdint.h>
#include "base/str.h"
#include "base/utf8.h"

/* First byte, second byte, length: the rows of RFC 3629, section 4. */
/* clang-format off */
static const struct {
	uint8_t first, last;	/* of the first byte */
	uint8_t low, high;	/* of the second; others are 80..BF */
	uint8_t length;
} rows[] = {
	{ 0xc2, 0xdf,	0x80, 0xbf,	2 },
	{ 0xe0, 0xe0,	0xa0, 0xbf,	3 },
	{ 0xe1, 0xec,	0x80, 0xbf,	3 },
	{ 0xed, 0xed,	0x80, 0x9f,	3 },
	{ 0xee, 0xef,	0x80, 0xbf,	3 },
	{ 0xf0, 0xf0,	0x90, 0xbf,	4 },
	{ 0xf1, 0xf3,	0x80, 0xbf,	4 },
	{ 0xf4, 0xf4,	0x80, 0x8f,	4 },
};
/* clang-format on */

/* Length of the character at b, or 0 and how many bytes are wrong with it. */
static size_t
one(const uint8_t *b, size_t n, size_t *bad)
{
	*bad = 1;
	if (b[0] < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t have = 1;

		if (b[0] < rows[i].first || b[0] > rows[i].last)
			continue;
		if (n < 2 || b[1] < rows[i].low || b[1] > rows[i].high)
			return 0;
		while (have < rows[i].length && have < n &&
		    (b[have] & 0xc0) == 0x80)
			have++;
		*bad = have;
		return have == rows[i].length ? have : 0;
	}
	return 0;
}

static size_t
span(const uint8_t *b, size_t n, size_t *bad)
{
	size_t at = 0;

	while (at < n) {
		size_t len = one(b + at, n - at, bad);

		if (len == 0)
			break;
		at += len;
	}
	return at;
}

size_t
utf8_span(const void *bytes, size_t n)
{
	size_t bad;

	return span(bytes, n, &bad);
}

void
utf8_clean(struct str *out, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	while (n > 0) {
		size_t bad, good = span(b, n, &bad);

		str_add(out, b, good);
		b += good;
		n -= good;
		if (n == 0)
			break;
		str_puts(out, "\xef\xbf\xbd");
		b += bad;
		n -= bad;
	}
}
