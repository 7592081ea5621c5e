#include <string.h>
#include "web/uri.h"

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the escape at in stands for; -1: none may. */
static int
escaped(const char *in, size_t n)
{
	int high = n >= 3 ? digit(in[1]) : -1;
	int low = n >= 3 ? digit(in[2]) : -1;

	return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

int
uri_decode(char *out, const char *in, size_t n, bool plus)
{
	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)in[i];

		if (c == '%') {
			c = escaped(in + i, n - i);
			i += 2;
		} else if (c == '+' && plus)
			c = ' ';
		if (c < 0)
			return -1;
		*out++ = (char)c;
	}
	*out = '\0';
	return 0;
}

bool
uri_is_sane(const char *raw)
{
	size_t n = strlen(raw);

	for (size_t i = 0; i < n; i++)
		if (raw[i] == '%' && escaped(raw + i, n - i) < 0)
			return false;
	return true;
}

void
uri_collapse(char *path)
{
	char *to = path;

	for (const char *at = path; *at != '\0'; at++)
		if (*at != '/' || at == path || at[-1] != '/')
			*to++ = *at;
	*to = '\0';
}

bool
uri_next_pair(const char **at, struct uri_pair *pair)
{
	const char *p = *at + strspn(*at, "&");
	size_t n = strcspn(p, "&");
	const char *eq = memchr(p, '=', n);

	if (n == 0)
		return false;
	pair->name = p;
	pair->name_len = eq != NULL ? (size_t)(eq - p) : n;
	pair->value = eq != NULL ? eq + 1 : p + n;
	pair->value_len = (size_t)(p + n - pair->value);
	*at = p + n;
	return true;
}
