#include <stdbool.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "json/jtext.h"
#include "web/gitdiff.h"

struct text {
	const char *at;
	size_t n;
};

/* The next line, without its LF; false: there is none. */
static bool
next_line(struct text *from, struct text *line)
{
	const char *nl;

	if (from->n == 0)
		return false;
	nl = memchr(from->at, '\n', from->n);
	line->at = from->at;
	line->n = nl != NULL ? (size_t)(nl - from->at) : from->n;
	from->n -= line->n + (nl != NULL);
	from->at += line->n + (nl != NULL);
	return true;
}

static bool
begins(const struct text *t, const char *with)
{
	size_t n = strlen(with);

	return t->n >= n && memcmp(t->at, with, n) == 0;
}

/* ---- names, which git quotes as C does when they are odd ---- */

static size_t
unquote_one(const struct text *t, size_t i, struct str *out)
{
	static const char named[] = "a\ab\bf\fn\nr\rt\tv\v\"\"\\\\";
	unsigned v = 0;
	size_t k;

	for (k = 0; k < 3 && i + k < t->n && t->at[i + k] >= '0' &&
	     t->at[i + k] <= '7';
	     k++)
		v = v * 8 + (unsigned)(t->at[i + k] - '0');
	if (k > 0) {
		str_putc(out, (char)v);
		return k;
	}
	for (size_t j = 0; j + 1 < sizeof named; j += 2)
		if (named[j] == t->at[i])
			str_putc(out, named[j + 1]);
	return 1;
}

/* "a/name" after "--- " or "+++ "; empty for /dev/null. */
static void
take_name(struct text t, struct str *out)
{
	str_cut(out, 0);
	if (t.n > 0 && t.at[t.n - 1] == '\t')
		t.n--; /* how git ends a name with blanks */
	if (begins(&t, "/dev/null"))
		return;
	if (t.n >= 2 && t.at[0] == '"') {
		for (size_t i = 1; i < t.n && t.at[i] != '"';)
			if (t.at[i] == '\\' && i + 1 < t.n)
				i += 1 + unquote_one(&t, i + 1, out);
			else
				str_putc(out, t.at[i++]);
	} else if (t.n > 0)
		str_add(out, t.at, t.n);
	if (out->len > 2)
		str_drop(out, 2);
	for (size_t i = 0; i < out->len; i++)
		if (out->at[i] == '\0') /* no file's name: the guest lies */
			out->at[i] = '?';
}

/* ---- one file ---- */

struct section {
	struct str name, other, body;
	bool in_hunk;
	size_t told;
};

static void
flush(struct section *s, struct str *out)
{
	const struct str *name = s->name.len > 0 ? &s->name : &s->other;
	auto_str struct str whole = { 0 };

	if (s->body.len > 0 && name->len > 0) {
		str_puts(&whole, "--- a/");
		str_add(&whole, name->at, name->len);
		str_puts(&whole, "\n+++ b/");
		str_add(&whole, name->at, name->len);
		str_add(&whole, s->body.at, s->body.len);
		if (s->told++ > 0)
			str_putc(out, ',');
		jtext_quote(out, name->at, name->len);
		str_putc(out, ':');
		jtext_quote(out, whole.at, whole.len);
	}
	str_cut(&s->name, 0);
	str_cut(&s->other, 0);
	str_cut(&s->body, 0);
	s->in_hunk = false;
}

/* "@@ -1,2 +3 @@ what git thinks the function is": the last part goes. */
static size_t
hunk_head(const struct text *line)
{
	const char *end =
	    memmem(line->at + 2, line->n > 2 ? line->n - 2 : 0, "@@", 2);

	return end != NULL ? (size_t)(end - line->at) + 2 : line->n;
}

static void
take_line(struct section *s, const struct text *line, struct str *out)
{
	size_t n = line->n;

	if (begins(line, "diff --git ")) {
		flush(s, out);
	} else if (begins(line, "@@ ")) {
		s->in_hunk = true;
		str_putc(&s->body, '\n');
		str_add(&s->body, line->at, hunk_head(line));
	} else if (!s->in_hunk && begins(line, "--- ")) {
		take_name((struct text){ line->at + 4, n - 4 }, &s->name);
	} else if (!s->in_hunk && begins(line, "+++ ")) {
		take_name((struct text){ line->at + 4, n - 4 }, &s->other);
	} else if (s->in_hunk && n > 0 && strchr(" +-", line->at[0]) != NULL) {
		if (line->at[n - 1] == '\r')
			n--;
		str_putc(&s->body, '\n');
		str_add(&s->body, line->at, n);
	}
}

void
gitdiff_patch(struct str *out, const char *at, size_t n)
{
	struct text from = { at, n }, line;
	struct section s = { 0 };

	str_putc(out, '{');
	while (next_line(&from, &line))
		if (line.n > 0)
			take_line(&s, &line, out);
	flush(&s, out);
	str_putc(out, '}');
	str_free(&s.name);
	str_free(&s.other);
	str_free(&s.body);
}

/* ---- a log ---- */

static int
field(struct text *from, struct text *out, struct err *err)
{
	const char *end = memchr(from->at, '\0', from->n);

	if (end == NULL)
		return err_set(err, ERR_PROTO, "git's log breaks off");
	*out = (struct text){ from->at, (size_t)(end - from->at) };
	from->n -= out->n + 1;
	from->at += out->n + 1;
	return 0;
}

static void
put(struct str *out, const char *key, const struct text *t)
{
	str_printf(out, "\"%s\":", key);
	jtext_quote(out, t->at, t->n);
	str_putc(out, ',');
}

/* Newer gits say Z where older ones and Python say +00:00. */
static void
put_date(struct str *out, const struct text *t)
{
	auto_str struct str date = { 0 };

	str_add(&date, t->at, t->n);
	if (date.len > 0 && date.at[date.len - 1] == 'Z') {
		str_cut(&date, date.len - 1);
		str_puts(&date, "+00:00");
	}
	put(out, "date", &(struct text){ str_text(&date), date.len });
}

/* Where the next commit begins: a line that begins with \1. */
static size_t
patch_length(const struct text *t)
{
	const char *mark = t->n > 0 && t->at[0] == '\1'
	    ? t->at
	    : memmem(t->at, t->n, "\n\1", 2);

	return mark == NULL ? t->n : (size_t)(mark - t->at);
}

static int
put_commit(struct str *out, struct text *from, struct err *err)
{
	struct text hash, author, date, message;
	size_t n;

	if (field(from, &hash, err) < 0 || field(from, &author, err) < 0 ||
	    field(from, &date, err) < 0 || field(from, &message, err) < 0)
		return -1;
	while (message.n > 0 && message.at[message.n - 1] == '\n')
		message.n--;
	str_putc(out, '{');
	put(out, "commit", &hash);
	put(out, "author", &author);
	put_date(out, &date);
	put(out, "message", &message);
	str_puts(out, "\"diff\":");
	n = patch_length(from);
	gitdiff_patch(out, from->at, n);
	str_putc(out, '}');
	from->at += n;
	from->n -= n;
	return 0;
}

int
gitdiff_log(struct str *out, const char *at, size_t n, struct err *err)
{
	struct text from = { at, n };
	size_t told = 0;

	str_putc(out, '[');
	while (from.n > 0) {
		bool mark = from.at[0] == '\1';

		from.at++;
		from.n--;
		if (!mark)
			continue;
		if (told++ > 0)
			str_putc(out, ',');
		if (put_commit(out, &from, err) < 0)
			return -1;
	}
	str_putc(out, ']');
	return 0;
}
