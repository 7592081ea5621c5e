#include <stdlib.h>
#include <string.h>
#include "engine/pick.h"

struct slice
slice_of(const struct str *s)
{
	return (struct slice){ str_text(s), s->len };
}

struct slice
slice_inside(struct slice json)
{
	if (json.at == NULL || json.len < 2 || json.at[0] != '"')
		return (struct slice){ NULL, 0 };
	return (struct slice){ json.at + 1, json.len - 2 };
}

bool
slice_is(struct slice s, const char *text)
{
	return s.at != NULL && s.len == strlen(text) &&
	    memcmp(s.at, text, s.len) == 0;
}

bool
slice_begins(struct slice s, const char *text)
{
	size_t n = strlen(text);

	return s.at != NULL && s.len >= n && memcmp(s.at, text, n) == 0;
}

/* Past the string that begins at p. */
static const char *
past_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *
past_value(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = past_string(p, end) - 1;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if (*p == '}' || *p == ']') {
			if (depth-- == 0)
				return p;
		} else if (*p == ',' && depth == 0) {
			return p;
		}
	}
	return p;
}

struct slice
pick(struct slice object, const char *name)
{
	const char *p = object.at, *end, *key, *value;
	size_t n = strlen(name);

	if (p == NULL || object.len < 2 || *p != '{')
		return (struct slice){ NULL, 0 };
	end = p + object.len;
	for (p++; p < end && *p == '"'; p += *p == ',') {
		key = p + 1;
		p = past_string(p, end);
		if (p >= end || *p != ':')
			break;
		value = p + 1;
		if ((size_t)(p - key) == n + 1 && memcmp(key, name, n) == 0)
			return (struct slice){ value,
				(size_t)(past_value(value, end) - value) };
		p = past_value(value, end);
		if (p >= end)
			break;
	}
	return (struct slice){ NULL, 0 };
}

struct slice
pick_text(struct slice object, const char *name)
{
	return slice_inside(pick(object, name));
}

bool
pick_int(struct slice object, const char *name, int64_t *n)
{
	struct slice v = pick(object, name);
	char digits[24], *rest;

	if (v.at == NULL || v.len == 0 || v.len >= sizeof digits)
		return false;
	memcpy(digits, v.at, v.len);
	digits[v.len] = '\0';
	*n = strtoll(digits, &rest, 10);
	/* 12.0 is what some count with */
	return rest != digits && (*rest == '\0' || *rest == '.');
}
