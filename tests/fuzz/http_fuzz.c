/*
 * Requests as bytes.  The first byte says into what pieces the rest is cut;
 * whatever it says, the events must be those of the whole.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "web/parse.h"
#include "web/route.h"
#include "web/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct route routes[] = {
	{ 1u << HTTP_GET, "/" },
	{ 1u << HTTP_GET, "/a/:id" },
	{ 1u << HTTP_POST, "/a/:id/*rest" },
};

struct sum {
	uint64_t hash;
	unsigned heads, done;
	int status;
};

static void
add(struct sum *sum, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < n; i++)
		sum->hash = (sum->hash ^ b[i]) * 0x100000001b3;
}

static void
add_text(struct sum *sum, const char *s)
{
	add(sum, s, strlen(s) + 1);
}

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
look_at_target(struct parse *p)
{
	struct route_names names;
	struct uri_pair pair;
	struct err err;
	unsigned allow = 0;
	const char *at = p->query;
	size_t n = strlen(p->path);
	char *out = xmalloc(n + 1);

	must(p->path[0] == '/' || strcmp(p->path, "*") == 0);
	uri_collapse(p->path);
	must(strstr(p->path, "//") == NULL);
	must((uri_decode(out, p->path, strlen(p->path), false) == 0) ==
	    uri_is_sane(p->path));
	free(out);
	while (uri_next_pair(&at, &pair))
		must(pair.value + pair.value_len <= at);
	if (route_find(routes, 3, HTTP_POST, p->path, &names, &allow, &err))
		for (int i = 0; i < names.n; i++)
			must(names.at[i].value + names.at[i].value_len <=
			    p->path + strlen(p->path));
}

static void
look_at_head(struct sum *sum, struct parse *p)
{
	sum->heads++;
	must(p->nfield <= PARSE_FIELDS_MAX && p->head.len <= PARSE_HEAD_MAX);
	must(p->minor == 0 || parse_field(p, "host") != NULL);
	must(p->length >= -1);
	must(!(p->length >= 0 && parse_field(p, "transfer-encoding")));
	must(!(p->length < 0 && parse_field(p, "content-length")));
	add_text(sum, p->method);
	add_text(sum, p->path);
	add_text(sum, p->query);
	add(sum, &p->length, sizeof p->length);
	add(sum, (bool[]){ p->keep, p->expect, p->upgrade }, 3);
	for (unsigned i = 0; i < p->nfield; i++) {
		add_text(sum, p->head.at + p->field[i].name);
		add_text(sum, p->head.at + p->field[i].value);
	}
	look_at_target(p);
}

/* False: nothing more will come of it. */
static bool
account(struct sum *sum, struct parse *p, enum parse_event ev,
    const uint8_t *data, size_t ndata)
{
	if (ev == PARSE_HEAD)
		look_at_head(sum, p);
	if (ev == PARSE_DATA)
		add(sum, data, ndata);
	if (ev == PARSE_DONE) {
		sum->done++;
		add_text(sum, "done");
		parse_reset(p);
	}
	if (ev == PARSE_BAD) {
		must(p->status >= 400 && p->status < 600);
		add_text(sum, p->why);
		sum->status = p->status;
	}
	return ev != PARSE_BAD;
}

static struct sum
run(const uint8_t *bytes, size_t n, size_t piece)
{
	struct sum sum = { 0 };
	struct parse p;
	size_t at = 0, used, ndata;
	const uint8_t *data;
	bool more = true;

	parse_init(&p);
	while (more) {
		size_t take = n - at < piece ? n - at : piece;
		enum parse_event ev =
		    parse_feed(&p, bytes + at, take, &used, &data, &ndata);

		must(used <= take);
		must(ev != PARSE_DATA ||
		    (ndata > 0 && data >= bytes + at &&
			data + ndata <= bytes + at + used));
		must(ev != PARSE_MORE || used == take);
		at += used;
		more = account(&sum, &p, ev, data, ndata) &&
		    !(ev == PARSE_MORE && at == n);
	}
	parse_free(&p);
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct sum whole, cut;

	if (n < 1)
		return 0;
	whole = run(bytes + 1, n - 1, n);
	cut = run(bytes + 1, n - 1, 1 + bytes[0] % 64);
	must(whole.hash == cut.hash && whole.heads == cut.heads &&
	    whole.done == cut.done && whole.status == cut.status);
	return 0;
}
