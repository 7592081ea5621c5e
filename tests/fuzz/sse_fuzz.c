/*
 * What a model's endpoint sends: an event stream, its chunks, an error's body.
 * Besides not breaking: where the stream is cut does not show.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "base/utf8.h"
#include "engine/completion.h"
#include "engine/sse_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool is)
{
	if (!is)
		abort();
}

struct reading {
	struct completion said;
	struct str log;
};

static void
on_text(void *arg, const char *text, size_t n)
{
	struct reading *r = arg;

	str_add(&r->log, text, n);
}

static void
on_call(void *arg, size_t i)
{
	struct reading *r = arg;

	must(i < r->said.ncall && r->said.call[i].name != NULL);
	str_printf(&r->log, "\n%zu %zu\n", i, r->said.call[i].arguments.len);
}

static const struct completion_ops ops = { on_text, on_text, on_call };

static int
on_event(void *arg, const char *name, const char *data, size_t n,
    struct err *err)
{
	struct reading *r = arg;

	must(data[n] == '\0');
	str_printf(&r->log, "[%s %zu]", name, n);
	return completion_chunk(&r->said, data, n, err);
}

static void
stream(const uint8_t *b, size_t n, size_t piece, struct str *log)
{
	struct reading r = { 0 };
	struct sse_in in = { 0 };
	struct err err;
	json_t *m;
	int got = 0;

	completion_init(&r.said, &ops, &r);
	for (size_t at = 0; got == 0 && at < n; at += piece)
		got = sse_in_feed(&in, b + at, n - at < piece ? n - at : piece,
		    on_event, &r, &err);
	if (got == 0)
		got = sse_in_end(&in, on_event, &r, &err);
	if (got < 0)
		str_puts(&r.log, err.text);
	m = completion_message(&r.said);
	must(m != NULL && json_is_string(json_object_get(m, "role")));
	json_decref(m);
	sse_in_free(&in);
	completion_free(&r.said);
	str_add(log, str_text(&r.log), r.log.len);
	str_free(&r.log);
}

static void
whole(const uint8_t *b, size_t n)
{
	struct completion c;
	struct err err;

	completion_init(&c, NULL, NULL);
	(void)completion_whole(&c, (const char *)b, n, &err);
	json_decref(completion_message(&c));
	completion_free(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *b, size_t n)
{
	auto_str struct str once = { 0 }, cut = { 0 };
	auto_free char *text = NULL;
	size_t piece;

	if (n < 1)
		return 0;
	piece = 1 + b[0] % 16;
	b++, n--;
	stream(b, n, n + 1, &once);
	stream(b, n, piece, &cut);
	must(once.len == cut.len &&
	    (once.len == 0 || memcmp(once.at, cut.at, once.len) == 0));
	whole(b, n);
	text = completion_error((const char *)b, n);
	must(utf8_span(text, strlen(text)) == strlen(text));
	return 0;
}
