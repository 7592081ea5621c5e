#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/utf8.h"
#include "store/db.h"
#include "store/memory.h"

#define TERMS_MOST 32 /* words of a query that count */

enum { PUT, PUT_WORDS, SEARCH, LIST, FIND, DROP, DROP_WORDS, STATEMENTS };

#define THIS "tenant = ?1 AND agent = ?2 AND user = ?3"
#define KEY(k) (k)->tenant, (k)->agent, (k)->user

/*
 * The index is one for all; a row's scope is a word of its own, so that a
 * search meets nobody else's rows, and it is looked at once more on the row.
 */
static const char *const sql[STATEMENTS] = {
	[PUT] = "INSERT INTO memory (tenant, agent, user, id, text, metadata, "
		"made_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[PUT_WORDS] = "INSERT INTO words (rowid, scope, text) "
		      "VALUES (?1, ?2, ?3)",
	[SEARCH] = "SELECT m.id, m.text, m.metadata, m.made_at FROM words "
		   "JOIN memory m ON m.seq = words.rowid "
		   "WHERE words MATCH ?4 AND " THIS
		   " ORDER BY bm25(words, 0.0, 1.0), m.seq DESC LIMIT ?5",
	[LIST] = "SELECT id, text, metadata, made_at FROM memory WHERE " THIS
		 " ORDER BY seq DESC LIMIT ?4",
	[FIND] = "SELECT seq FROM memory WHERE " THIS " AND id = ?4",
	[DROP] = "DELETE FROM memory WHERE seq = ?1",
	[DROP_WORDS] = "DELETE FROM words WHERE rowid = ?1",
};

struct memory_store {
	struct db_set *set;
};

struct memory_store *
memory_open(struct db *db, struct err *err)
{
	struct memory_store *m = xcalloc(1, sizeof *m);

	if ((m->set = db_prepare(db, sql, STATEMENTS, err)) != NULL)
		return m;
	free(m);
	return NULL;
}

void
memory_close(struct memory_store *m)
{
	if (m == NULL)
		return;
	db_finalize(m->set);
	free(m);
}

/* ---- words ---- */

/* "s" and the first half of a digest: a word that nobody writes. */
static void
scope(char out[34], const struct service_key *k)
{
	uint8_t digest[32];
	struct str all = { 0 };

	str_add(&all, k->tenant, strlen(k->tenant) + 1);
	str_add(&all, k->agent, strlen(k->agent) + 1);
	str_puts(&all, k->user);
	sha256(digest, all.at, all.len);
	str_free(&all);
	out[0] = 's';
	hex_put(out + 1, digest, 16);
}

/* Length of the character, and whether its script has no spaces: Chinese,
 * Japanese, Thai and their like. */
static size_t
character(const uint8_t *s, bool *dense)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? s[0]
	    : n == 2        ? (s[0] & 31u) << 6 | (s[1] & 63u)
	    : n == 3 ? (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u)
		     : (s[0] & 7u) << 18 | (s[1] & 63u) << 12 |
		(s[2] & 63u) << 6 | (s[3] & 63u);

	*dense = (c >= 0x0e00 && c <= 0x0eff) || (c >= 0x1000 && c <= 0x109f) ||
	    (c >= 0x1780 && c <= 0x17ff) || (c >= 0x3040 && c <= 0x30ff) ||
	    (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
	    (c >= 0x20000 && c <= 0x3ffff);
	return n;
}

/* The text with spaces around characters that are words of their own. */
static void
spread(struct str *out, const char *text)
{
	auto_str struct str clean = { 0 };
	const uint8_t *s;

	utf8_clean(&clean, text, strlen(text));
	for (s = (const uint8_t *)str_text(&clean); *s != '\0';) {
		bool dense;
		size_t n = character(s, &dense);

		if (dense)
			str_putc(out, ' ');
		str_add(out, s, n);
		if (dense)
			str_putc(out, ' ');
		s += n;
	}
}

static bool
is_word(const uint8_t *s, size_t n)
{
	/* Of other scripts the tokenizer knows what is a letter. */
	return n > 1 || isalnum(s[0]);
}

/*
 * scope:S AND text:("a" OR "b c"): a run of dense characters is a phrase.
 * The query's words are never operators.
 */
static bool
expression(struct str *out, const struct service_key *k, const char *query)
{
	auto_str struct str clean = { 0 };
	const uint8_t *s;
	unsigned terms = 0;
	bool open = false, was_dense = false;
	char own[34];

	scope(own, k);
	str_printf(out, "scope : %s AND text : (", own);
	utf8_clean(&clean, query, strlen(query));
	for (s = (const uint8_t *)str_text(&clean); *s != '\0';) {
		bool dense;
		size_t n = character(s, &dense);

		if (open && (!is_word(s, n) || dense != was_dense)) {
			str_putc(out, '"');
			open = false;
		}
		if (is_word(s, n)) {
			if (!open && terms == TERMS_MOST)
				break;
			if (!open) {
				str_puts(out, terms++ > 0 ? " OR \"" : "\"");
				open = true;
			} else if (dense)
				str_putc(out, ' ');
			str_add(out, s, n);
			was_dense = dense;
		}
		s += n;
	}
	str_puts(out, open ? "\")" : ")");
	return terms > 0;
}

/* ---- rows ---- */

int
memory_add(struct memory_store *m, const struct service_key *k,
    const struct memory_row *r, struct err *err)
{
	auto_str struct str words = { 0 };
	char own[34];

	scope(own, k);
	spread(&words, r->text);
	if (db_begin(m->set, err) < 0)
		return -1;
	if (db_run(m->set, PUT, err, "ttttttd", KEY(k), r->id, r->text,
		r->metadata, r->made_at) < 0 ||
	    db_run(m->set, PUT_WORDS, err, "itt", db_last(m->set), own,
		str_text(&words)) < 0) {
		db_rollback(m->set);
		return -1;
	}
	return db_commit(m->set, err);
}

static int
tell(struct memory_store *m, int which, int r, memory_fn *fn, void *arg,
    struct err *err)
{
	while (r > 0) {
		fn(arg,
		    &(struct memory_row){
			.id = db_text(m->set, which, 0),
			.text = db_text(m->set, which, 1),
			.metadata = db_text(m->set, which, 2),
			.made_at = db_real(m->set, which, 3),
		    });
		r = db_next(m->set, which, err);
	}
	return r;
}

int
memory_search(struct memory_store *m, const struct service_key *k,
    const char *query, unsigned limit, memory_fn *fn, void *arg,
    struct err *err)
{
	auto_str struct str match = { 0 };

	if (!expression(&match, k, query))
		return 0;
	return tell(m, SEARCH,
	    db_run(m->set, SEARCH, err, "tttti", KEY(k), match.at,
		(int64_t)limit),
	    fn, arg, err);
}

int
memory_list(struct memory_store *m, const struct service_key *k, unsigned limit,
    memory_fn *fn, void *arg, struct err *err)
{
	return tell(m, LIST,
	    db_run(m->set, LIST, err, "ttti", KEY(k), (int64_t)limit), fn, arg,
	    err);
}

int
memory_delete(struct memory_store *m, const struct service_key *k,
    const char *id, struct err *err)
{
	int r = db_run(m->set, FIND, err, "tttt", KEY(k), id);
	int64_t seq;

	if (r <= 0)
		return r;
	seq = db_int(m->set, FIND, 0);
	db_done(m->set, FIND);
	if (db_begin(m->set, err) < 0)
		return -1;
	if (db_run(m->set, DROP, err, "i", seq) < 0 ||
	    db_run(m->set, DROP_WORDS, err, "i", seq) < 0) {
		db_rollback(m->set);
		return -1;
	}
	return db_commit(m->set, err) < 0 ? -1 : 1;
}
