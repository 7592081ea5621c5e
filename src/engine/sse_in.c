#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "engine/sse_in.h"

void
sse_in_free(struct sse_in *s)
{
	str_free(&s->line);
	str_free(&s->data);
}

static int
dispatch(struct sse_in *s, sse_fn *fn, void *arg, struct err *err)
{
	int r = 0;

	if (s->some)
		r = fn(arg, s->name, str_text(&s->data), s->data.len, err);
	str_cut(&s->data, 0);
	s->name[0] = '\0';
	s->some = false;
	return r;
}

static bool
is_field(const char *line, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(line, name, n) == 0;
}

static int
add_data(struct sse_in *s, const char *value, size_t n, struct err *err)
{
	if (s->data.len + n + 1 > SSE_EVENT_MAX)
		return err_set(err, ERR_LIMIT, "an event of more than %u bytes",
		    SSE_EVENT_MAX);
	if (s->some)
		str_putc(&s->data, '\n');
	str_add(&s->data, value, n);
	s->some = true;
	return 0;
}

/* Unknown fields are ignored, id and retry among them. */
static int
field(struct sse_in *s, const char *line, size_t n, struct err *err)
{
	const char *colon = memchr(line, ':', n);
	size_t name = colon != NULL ? (size_t)(colon - line) : n;
	const char *value = colon != NULL ? colon + 1 : line + n;
	size_t left = (size_t)(line + n - value);

	if (left > 0 && *value == ' ')
		value++, left--;
	if (is_field(line, name, "data"))
		return add_data(s, value, left, err);
	if (is_field(line, name, "event"))
		snprintf(s->name, sizeof s->name, "%.*s", (int)left, value);
	return 0;
}

static int
end_line(struct sse_in *s, sse_fn *fn, void *arg, struct err *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	const char *line = str_text(&s->line);
	size_t n = s->line.len;
	int r;

	if (!s->begun && n >= 3 && memcmp(line, bom, 3) == 0)
		line += 3, n -= 3;
	s->begun = true;
	r = n == 0 ? dispatch(s, fn, arg, err) : field(s, line, n, err);
	str_cut(&s->line, 0);
	return r;
}

int
sse_in_feed(struct sse_in *s, const void *bytes, size_t n, sse_fn *fn,
    void *arg, struct err *err)
{
	const char *p = bytes, *end = p + n;

	while (p < end) {
		const char *at = p;

		if (s->cr && *p == '\n') { /* the CR has ended the line */
			s->cr = false;
			p++;
			continue;
		}
		s->cr = false;
		while (at < end && *at != '\n' && *at != '\r')
			at++;
		if (s->line.len + (size_t)(at - p) > SSE_EVENT_MAX)
			return err_set(err, ERR_LIMIT,
			    "a line of more than %u bytes", SSE_EVENT_MAX);
		str_add(&s->line, p, (size_t)(at - p));
		if (at == end)
			return 0;
		s->cr = *at == '\r';
		p = at + 1;
		if (end_line(s, fn, arg, err) < 0)
			return -1;
	}
	return 0;
}

int
sse_in_end(struct sse_in *s, sse_fn *fn, void *arg, struct err *err)
{
	if (s->line.len > 0 && end_line(s, fn, arg, err) < 0)
		return -1;
	return dispatch(s, fn, arg, err);
}
