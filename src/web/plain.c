#include <string.h>
#include "base/str.h"
#include "base/utf8.h"
#include "web/plain.h"

static size_t
wanted(uint8_t lead)
{
	if (lead >= 0xf0 && lead <= 0xf4)
		return 4;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	return lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
}

/* How many bytes at the end may be the beginning of a character. */
static size_t
tail(const uint8_t *b, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		uint8_t c = b[n - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return wanted(c) > back ? back : 0;
	}
	return 0;
}

static void
newlines(struct plain *p, const uint8_t *b, size_t n, struct str *out)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		bool same = p->cr && b[i] == '\n';

		p->cr = b[i] == '\r';
		if (!p->cr && !same)
			continue;
		if (i > from)
			str_add(out, b + from, i - from);
		if (p->cr)
			str_putc(out, '\n');
		from = i + 1;
	}
	if (n > from)
		str_add(out, b + from, n - from);
}

void
plain_feed(struct plain *p, const uint8_t *b, size_t n, struct str *out)
{
	auto_str struct str lines = { 0 };
	size_t keep;

	if (p->npart > 0)
		str_add(&lines, p->part, p->npart);
	newlines(p, b, n, &lines);
	keep = tail((const uint8_t *)lines.at, lines.len);
	if (lines.len > keep)
		utf8_clean(out, lines.at, lines.len - keep);
	if (keep > 0)
		memcpy(p->part, lines.at + lines.len - keep, keep);
	p->npart = keep;
}

void
plain_end(struct plain *p, struct str *out)
{
	if (p->npart > 0)
		utf8_clean(out, p->part, p->npart);
	p->npart = 0;
}
