#include <stdbool.h>
#include <string.h>
#include <stdlib.h>
#include "base/own.h"
#include "model/redact.h"

void
redact_add(struct redact *r, const char *secret, size_t n)
{
	if (n >= REDACT_LEAST && r->n < REDACT_MOST)
		r->secret[r->n++] = xstrndup(secret, n);
}

void
redact_free(struct redact *r)
{
	while (r->n > 0) {
		char *s = r->secret[--r->n];

		explicit_bzero(s, strlen(s));
		free(s);
	}
	if (r->held.at != NULL)
		explicit_bzero(r->held.at, r->held.room);
	str_free(&r->held);
}

/*
 * The longest secret that stands at p, its length; 0: none.  *more: a longer
 * one may yet, when more comes.
 */
static size_t
match(const struct redact *r, const char *p, size_t left, bool *more)
{
	size_t got = 0;

	*more = false;
	for (size_t i = 0; i < r->n; i++) {
		size_t n = strlen(r->secret[i]);
		size_t have = left < n ? left : n;

		if (memcmp(p, r->secret[i], have) != 0)
			continue;
		if (have < n)
			*more = true;
		else if (n > got)
			got = n;
	}
	return got;
}

static void
pass(struct redact *r, struct str *out, bool last)
{
	const char *p = r->held.at;
	size_t left = r->held.len, from = 0, i = 0;

	while (i < left) {
		bool more;
		size_t n = match(r, p + i, left - i, &more);

		if (more && !last)
			break;
		if (n == 0) {
			i++;
			continue;
		}
		str_add(out, p + from, i - from);
		str_puts(out, REDACTED);
		i += n;
		from = i;
	}
	if (i > from)
		str_add(out, p + from, i - from);
	str_drop(&r->held, i);
}

void
redact_feed(struct redact *r, const void *bytes, size_t n, struct str *out)
{
	if (r->n == 0) {
		str_add(out, bytes, n);
		return;
	}
	str_add(&r->held, bytes, n);
	pass(r, out, false);
}

void
redact_end(struct redact *r, struct str *out)
{
	if (r->held.len > 0)
		pass(r, out, true);
}

char *
redact_text(const struct redact *r, const char *text)
{
	struct redact once = *r;
	struct str out = { 0 };

	once.held = (struct str){ 0 };
	redact_feed(&once, text, strlen(text), &out);
	redact_end(&once, &out);
	str_free(&once.held);
	return str_take(&out);
}
