/*
 * What the front reads and writes as text, chosen by the first byte: JSON of a
 * client, git's words, a fetcher's lines, a file read as text.  Besides not
 * breaking: JSON that was read and written is read again to the same, what is
 * made of a guest's bytes is JSON, and where a stream is cut does not show.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "json/jtext.h"
#include "web/fetchline.h"
#include "web/gitdiff.h"
#include "web/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
json(const uint8_t *b, size_t n)
{
	auto_str struct str once = { 0 }, twice = { 0 };
	struct jtext_where where;
	struct err err;
	json_t *v = jtext_read(b, n, &where, &err);

	if (v == NULL) {
		must(err.code == ERR_INVALID && where.line > 0);
		return;
	}
	jtext_write(&once, v);
	json_decref(v);
	must(utf8_span(once.at, once.len) == once.len);
	v = jtext_read(once.at, once.len, NULL, &err);
	must(v != NULL);
	jtext_write(&twice, v);
	json_decref(v);
	must(once.len == twice.len && memcmp(once.at, twice.at, once.len) == 0);
}

static void
is_json(const struct str *text)
{
	struct err err;
	json_t *v = jtext_read(text->at, text->len, NULL, &err);

	must(v != NULL);
	json_decref(v);
}

static void
git(const uint8_t *b, size_t n)
{
	auto_str struct str patch = { 0 }, log = { 0 };
	struct err err;

	gitdiff_patch(&patch, (const char *)b, n);
	is_json(&patch);
	if (gitdiff_log(&log, (const char *)b, n, &err) == 0)
		is_json(&log);
	else
		must(err.code == ERR_PROTO);
}

static void
lines(const uint8_t *b, size_t n, size_t cut, struct str *seen)
{
	struct fetch_lines f = { 0 };
	struct fetch_line line;
	struct err err;
	int r = 0;

	for (size_t at = 0; at < n && r >= 0; at += cut) {
		fetch_lines_feed(&f, b + at, n - at < cut ? n - at : cut);
		while ((r = fetch_lines_next(&f, &line, &err)) == 1)
			str_printf(seen, "%d %s %s\n", (int)line.word,
			    line.text,
			    line.word == FETCH_ERROR ? line.err.text : "");
	}
	fetch_lines_free(&f);
}

static void
plain(const uint8_t *b, size_t n, size_t cut, struct str *seen)
{
	struct plain p = { 0 };

	for (size_t at = 0; at < n; at += cut)
		plain_feed(&p, b + at, n - at < cut ? n - at : cut, seen);
	plain_end(&p, seen);
	must(seen->len == 0 ||
	    (utf8_span(seen->at, seen->len) == seen->len &&
		memchr(seen->at, '\r', seen->len) == NULL));
}

static void
same_however_cut(const uint8_t *b, size_t n,
    void (*stream)(const uint8_t *, size_t, size_t, struct str *))
{
	auto_str struct str whole = { 0 }, pieces = { 0 };
	size_t cut = n > 0 ? b[0] % 7 + 1u : 1;

	stream(b, n, n + 1, &whole);
	stream(b, n, cut, &pieces);
	must(whole.len == pieces.len &&
	    (whole.len == 0 || memcmp(whole.at, pieces.at, whole.len) == 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *b, size_t n)
{
	if (n == 0)
		return 0;
	switch (b[0] % 4) {
	case 0:
		json(b + 1, n - 1);
		break;
	case 1:
		git(b + 1, n - 1);
		break;
	case 2:
		same_however_cut(b + 1, n - 1, lines);
		break;
	default:
		same_however_cut(b + 1, n - 1, plain);
	}
	return 0;
}
