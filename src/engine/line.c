#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/line.h"
#include "json/jtext.h"

/* ---- the two usual lines, read in place ---- */

struct scan {
	const char *at, *end;
};

enum member {
	M_RUN,
	M_TEXT,
	M_OBJECT,
	M_MSG_ID,
	M_TYPE,
	M_INDEX,
	M_DELTA,
	MEMBERS
};

static const struct {
	const char *name;
	size_t len;
} members[MEMBERS] = {
	[M_RUN] = { "run", 3 },
	[M_TEXT] = { "text", 4 },
	[M_OBJECT] = { "object", 6 },
	[M_MSG_ID] = { "msg_id", 6 },
	[M_TYPE] = { "type", 4 },
	[M_INDEX] = { "index", 5 },
	[M_DELTA] = { "delta", 5 },
};

static void
skip(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
}

static bool
take(struct scan *s, char c)
{
	skip(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* A string, without its quotes and as it is written. */
static bool
take_string(struct scan *s, struct slice *out)
{
	const char *from;

	if (!take(s, '"'))
		return false;
	from = s->at;
	for (;;) {
		const char *quote =
		    memchr(s->at, '"', (size_t)(s->end - s->at));
		const char *p = quote;

		if (quote == NULL)
			return false;
		while (p > from && p[-1] == '\\')
			p--;
		s->at = quote + 1;
		if ((quote - p) % 2 == 0) {
			*out = (struct slice){ from, (size_t)(quote - from) };
			return true;
		}
	}
}

static bool
take_number(struct scan *s, uint64_t *out)
{
	uint64_t n = 0;
	const char *from;

	skip(s);
	from = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9' &&
	    s->at - from < 16)
		n = n * 10 + (uint64_t)(*s->at++ - '0');
	if (s->at == from || (*from == '0' && s->at - from > 1))
		return false;
	*out = n;
	return s->at < s->end &&
	    (*s->at == ',' || *s->at == '}' || *s->at == ' ');
}

static int
which(struct slice key)
{
	for (int i = 0; i < MEMBERS; i++)
		if (members[i].len == key.len &&
		    memcmp(members[i].name, key.at, key.len) == 0)
			return i;
	return -1;
}

static bool
is(struct slice s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* A label that is worth being looked at in place. */
static bool
take_label(struct scan *s, struct slice *out)
{
	return take_string(s, out) && out->len > 0 &&
	    out->len <= LINE_LABEL_MAX &&
	    memchr(out->at, '\\', out->len) == NULL &&
	    escape_span(out->at, out->len) == out->len;
}

static bool
take_member(struct scan *s, struct line *l, int m)
{
	struct slice word;
	uint64_t n;

	switch (m) {
	case M_RUN:
		return take_number(s, &l->run) && l->run > 0;
	case M_TEXT:
		return take_string(s, &l->text);
	case M_OBJECT:
		return take_string(s, &word) && is(word, "content");
	case M_MSG_ID:
		return take_label(s, &l->label);
	case M_TYPE:
		return take_string(s, &word) && is(word, "text");
	case M_INDEX:
		if (!take_number(s, &n) || n > LINE_INDEX_MAX)
			return false;
		l->index = (int)n;
		return true;
	case M_DELTA:
		skip(s);
		if (s->end - s->at < 4 || memcmp(s->at, "true", 4) != 0)
			return false;
		s->at += 4;
		return true;
	default:
		return false;
	}
}

/* false: it is something else, or needs a closer look. */
static bool
usual(struct line *l, const char *text, size_t n)
{
	struct scan s = { text, text + n };
	unsigned seen = 0;
	const unsigned answer = 1u << M_RUN | 1u << M_TEXT,
		       delta = answer | 1u << M_OBJECT | 1u << M_MSG_ID |
	    1u << M_DELTA;
	struct slice key;
	int m;

	if (!take(&s, '{'))
		return false;
	do {
		if (!take_string(&s, &key) || (m = which(key)) < 0 ||
		    (seen & 1u << m) != 0 || !take(&s, ':') ||
		    !take_member(&s, l, m))
			return false;
		seen |= 1u << m;
	} while (take(&s, ','));
	if (!take(&s, '}'))
		return false;
	skip(&s);
	if (s.at != s.end)
		return false;
	l->is_text = seen == answer;
	l->is_delta = (seen & ~(1u << M_TYPE | 1u << M_INDEX)) == delta;
	return l->is_text || l->is_delta;
}

/* ---- any line ---- */

static int
read_other(struct line *l, const char *text, size_t n, struct str *scratch,
    struct err *err)
{
	const json_t *run;
	json_t *v;

	text = escape_tidy(text, &n, scratch);
	if ((v = jtext_read(text, n, NULL, err)) == NULL) {
		err->code = ERR_PROTO;
		return -1;
	}
	if (!json_is_object(v)) {
		json_decref(v);
		return err_set(err, ERR_PROTO, "not an object");
	}
	run = json_object_get(v, "run");
	if (run != NULL &&
	    (!json_is_integer(run) || json_integer_value(run) <= 0)) {
		json_decref(v);
		return err_set(err, ERR_PROTO, "run: not a positive number");
	}
	l->run = run != NULL ? (uint64_t)json_integer_value(run) : 0;
	l->rest = v;
	return 0;
}

int
line_read(struct line *l, const char *text, size_t n, struct str *scratch,
    struct err *err)
{
	*l = (struct line){ .index = -1 };
	if (!usual(l, text, n)) {
		*l = (struct line){ .index = -1 };
		return read_other(l, text, n, scratch, err);
	}
	if (escape_span(l->text.at, l->text.len) == l->text.len)
		return 0;
	str_cut(scratch, 0);
	if (escape_inner(scratch, l->text.at, l->text.len) < 0) {
		*l = (struct line){ .index = -1 };
		return err_set(err, ERR_PROTO, "text: not a JSON string");
	}
	l->text = (struct slice){ str_text(scratch), scratch->len };
	return 0;
}
