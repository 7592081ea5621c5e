#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "json/jtext.h"

#define MARK 0x1f
#define MARK_NUMBER '#'
#define MARK_TEXT '='

/* ---- reading ---- */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* s[0] is the quote; the index after the closing one, or n. */
static size_t
string_end(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (s[i] == '\\')
			i++;
		else if (s[i] == '"')
			return i + 1;
	}
	return n;
}

static bool
begins_marked(const char *s, size_t n)
{
	return n >= 7 && memcmp(s, "\"\\u001", 6) == 0 &&
	    (s[6] == 'f' || s[6] == 'F');
}

static size_t
number_end(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && strchr("+-.eE0123456789", s[i]) != NULL && s[i] != '\0')
		i++;
	return i;
}

/* Is s[0..n) a well-formed integer that does not fit in 64 bits? */
static bool
too_big(const char *s, size_t n)
{
	size_t from = n > 0 && s[0] == '-' ? 1 : 0;
	char digits[24];

	if (n - from < 19 || s[from] == '0')
		return false;
	for (size_t i = from; i < n; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	if (n >= sizeof digits)
		return true;
	memcpy(digits, s, n);
	digits[n] = '\0';
	errno = 0;
	strtoll(digits, NULL, 10);
	return errno == ERANGE;
}

/* A number in a key's place stays the syntax error that it is. */
static bool
before_colon(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && is_space(s[i]))
		i++;
	return i < n && s[i] == ':';
}

/* Add the marks.  false: none was needed, out is empty. */
static bool
mark(const char *s, size_t n, struct str *out)
{
	size_t copied = 0, i = 0, end;

	while (i < n) {
		if (s[i] == '"') {
			end = i + string_end(s + i, n - i);
			if (begins_marked(s + i, end - i)) {
				str_add(out, s + copied, i - copied);
				str_puts(out, "\"\\u001f=");
				copied = i + 1;
			}
			i = end;
		} else if (s[i] == '-' || (s[i] >= '0' && s[i] <= '9')) {
			end = i + number_end(s + i, n - i);
			if (too_big(s + i, end - i) &&
			    !before_colon(s + end, n - end)) {
				str_add(out, s + copied, i - copied);
				str_puts(out, "\"\\u001f#");
				str_add(out, s + i, end - i);
				str_putc(out, '"');
				copied = end;
			}
			i = end > i ? end : i + 1;
		} else
			i++;
	}
	if (copied == 0)
		return false;
	str_add(out, s + copied, n - copied);
	return true;
}

static void
blame(const json_error_t *je, struct jtext_where *where, struct err *err)
{
	int line = je->line > 0 ? je->line : 1;
	int column = je->column > 0 ? je->column : 1;
	size_t at = je->position > 0 ? (size_t)je->position - 1 : 0;
	const char *what = je->text;

	if (je->position <= 1 || strncmp(what, "invalid token", 13) == 0 ||
	    strncmp(what, "'[' or '{'", 10) == 0)
		what = "Expecting value";
	if (where != NULL)
		*where = (struct jtext_where){ line, column, at };
	err_set(err, ERR_INVALID, "%s: line %d column %d (char %zu)", what,
	    line, column, at);
}

json_t *
jtext_read(const void *text, size_t n, struct jtext_where *where,
    struct err *err)
{
	auto_str struct str marked = { 0 };
	size_t good = utf8_span(text, n);
	json_error_t je;
	json_t *v;

	if (good < n) {
		if (where != NULL)
			*where = (struct jtext_where){ 1, (int)good + 1, good };
		err_set(err, ERR_INVALID,
		    "'utf-8' codec can't decode byte 0x%02x in position %zu",
		    ((const uint8_t *)text)[good], good);
		return NULL;
	}
	if (n > 0 && mark(text, n, &marked)) {
		text = marked.at;
		n = marked.len;
	}
	v = json_loadb(n > 0 ? text : "", n, JSON_DECODE_ANY | JSON_ALLOW_NUL,
	    &je);
	if (v == NULL)
		blame(&je, where, err);
	return v;
}

const char *
jtext_string(const json_t *v, size_t *len)
{
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);

	if (s == NULL)
		return NULL;
	if (n >= 2 && s[0] == MARK) {
		if (s[1] == MARK_NUMBER)
			return NULL;
		if (s[1] == MARK_TEXT) {
			s += 2;
			n -= 2;
		}
	}
	*len = n;
	return s;
}

const char *
jtext_cstring(const json_t *v)
{
	size_t n;
	const char *s = jtext_string(v, &n);

	return s != NULL && strlen(s) == n ? s : NULL;
}

/* ---- writing ---- */

static void
escape(struct str *out, unsigned char c)
{
	static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (size_t i = 0; i + 1 < sizeof named; i += 2)
		if ((unsigned char)named[i] == c) {
			str_putc(out, '\\');
			str_putc(out, named[i + 1]);
			return;
		}
	str_printf(out, "\\u%04x", c);
}

void
jtext_quote(struct str *out, const void *bytes, size_t n)
{
	auto_str struct str clean = { 0 };
	const unsigned char *s = bytes;
	size_t from = 0;

	if (n > 0 && utf8_span(bytes, n) < n) {
		utf8_clean(&clean, bytes, n);
		s = (const unsigned char *)clean.at;
		n = clean.len;
	}
	str_putc(out, '"');
	for (size_t i = 0; i < n; i++)
		if (s[i] < 0x20 || s[i] == '"' || s[i] == '\\') {
			if (i > from)
				str_add(out, s + from, i - from);
			escape(out, s[i]);
			from = i + 1;
		}
	if (n > from)
		str_add(out, s + from, n - from);
	str_putc(out, '"');
}

void
jtext_quote_text(struct str *out, const char *s)
{
	jtext_quote(out, s, strlen(s));
}

static void
put_real(struct str *out, double d)
{
	char b[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(b, sizeof b, "%.*g", digits, d);
		if (strtod(b, NULL) == d)
			break;
	}
	str_puts(out, b);
	if (strpbrk(b, ".en") == NULL)
		str_puts(out, ".0");
}

void
jtext_time(struct str *out, double t)
{
	if (t > 0)
		put_real(out, t);
	else
		str_puts(out, "null");
}

static void
put_string(struct str *out, const json_t *v)
{
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);

	if (n >= 2 && s[0] == MARK && s[1] == MARK_NUMBER)
		str_add(out, s + 2, n - 2);
	else if (n >= 2 && s[0] == MARK && s[1] == MARK_TEXT)
		jtext_quote(out, s + 2, n - 2);
	else
		jtext_quote(out, s, n);
}

static void
put_object(struct str *out, const json_t *v)
{
	bool first = true;
	const char *key;
	json_t *at;

	str_putc(out, '{');
	json_object_foreach((json_t *)(uintptr_t)v, key, at) {
		const char *name = key;

		if (name[0] == MARK && name[1] == MARK_TEXT)
			name += 2;
		if (!first)
			str_putc(out, ',');
		first = false;
		jtext_quote_text(out, name);
		str_putc(out, ':');
		jtext_write(out, at);
	}
	str_putc(out, '}');
}

static void
put_array(struct str *out, const json_t *v)
{
	str_putc(out, '[');
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (i > 0)
			str_putc(out, ',');
		jtext_write(out, json_array_get(v, i));
	}
	str_putc(out, ']');
}

/* As deep as jansson's own bound on what it reads. */
void
jtext_write(struct str *out, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		put_object(out, v);
		break;
	case JSON_ARRAY:
		put_array(out, v);
		break;
	case JSON_STRING:
		put_string(out, v);
		break;
	case JSON_INTEGER:
		str_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		break;
	case JSON_REAL:
		put_real(out, json_real_value(v));
		break;
	case JSON_TRUE:
		str_puts(out, "true");
		break;
	case JSON_FALSE:
		str_puts(out, "false");
		break;
	default:
		str_puts(out, "null");
	}
}
