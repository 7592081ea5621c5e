/*
 * A worker's words, line by line, through a run into every reply there is.
 * Whatever it says: what readers get is events of JSON on one line each that no
 * client would split, the whole answer is JSON, a native stream's numbers have
 * no gaps and its last event, and no other, is an end.
 *
 * The first byte says how the run ends if the worker does not end it.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "engine/feed.h"
#include "engine/line.h"
#include "engine/reply.h"
#include "engine/reply_a2a.h"
#include "engine/reply_agui.h"
#include "engine/reply_chat.h"
#include "engine/reply_responses.h"
#include "engine/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct {
	const struct reply_kind *kind;
	bool native; /* events are numbered from 0, and end with a response */
	const void *arg;
} replies[] = {
	{ &reply_native, true, NULL },
	{ &reply_responses, false,
	    &(const struct responses_ask){
		.echo = "\"instructions\":null,\"tools\":[]" } },
	{ &reply_chat, false, &(const struct chat_ask){ .usage = true } },
	{ &reply_agui, false, &(const struct agui_arg){ .modern = true } },
	{ &reply_agui, false, &(const struct agui_arg){ 0 } },
	{ &reply_a2a, false,
	    &(const struct a2a_arg){ .id = "1", .task = "t", .history = -1 } },
	{ &reply_a2a, false,
	    &(const struct a2a_arg){ .modern = true,
		.id = "\"x\"",
		.task = "t" } },
};

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
cancel(void *unused, struct run *run)
{
	(void)unused;
	run_text(run, (struct slice){ "x", 1 });
}

static const struct source source = { cancel, NULL };

static void
apply(struct run *run, const char *text, size_t n)
{
	auto_str struct str scratch = { 0 }, again = { 0 };
	struct line line;
	struct err err;

	if (line_read(&line, text, n, &scratch, &err) < 0) {
		must(err.code == ERR_PROTO && line.rest == NULL);
		return;
	}
	if (line.is_text || line.is_delta) {
		must(escape_inner(&again, line.text.at, line.text.len) == 0);
		must(again.len == line.text.len &&
		    memcmp(str_text(&again), line.text.at, again.len) == 0);
	}
	if (line_apply(&line, run, &err) < 0)
		must(err.code == ERR_PROTO);
	json_decref(line.rest);
}

static json_t *
is_json(const char *text, size_t n)
{
	json_error_t je;
	json_t *v = json_loadb(text, n,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &je);

	must(utf8_span(text, n) == n);
	must(memmem(text, n, "\xc2\x85", 2) == NULL);
	must(memmem(text, n, "\xe2\x80\xa8", 3) == NULL);
	must(memmem(text, n, "\xe2\x80\xa9", 3) == NULL);
	/* A number beyond what jansson has is still JSON. */
	must(v != NULL || strstr(je.text, "real number overflow") != NULL);
	return v;
}

static bool
is_end(const json_t *event)
{
	const char *object =
	    json_string_value(json_object_get(event, "object"));
	const char *status =
	    json_string_value(json_object_get(event, "status"));

	return strcmp(object, "response") == 0 &&
	    strcmp(status, "created") != 0 &&
	    strcmp(status, "in_progress") != 0;
}

static void
one_event(const char *text, size_t n, bool native, uint64_t *number,
    unsigned *ends)
{
	const char *nl;
	json_t *v;

	must(*ends == 0 || !native);
	if (n > 7 && memcmp(text, "event: ", 7) == 0) {
		nl = memchr(text, '\n', n);
		must(nl != NULL);
		n -= (size_t)(nl + 1 - text);
		text = nl + 1;
	}
	must(n > 6 && memcmp(text, "data: ", 6) == 0);
	must(memchr(text, '\n', n) == NULL && memchr(text, '\r', n) == NULL);
	if (n == 12 && memcmp(text, "data: [DONE]", 12) == 0)
		return;
	v = is_json(text + 6, n - 6);
	if (native && v != NULL) {
		must(json_number_value(json_object_get(v, "sequence_number")) ==
		    (double)*number);
		*ends += is_end(v);
	} else if (native)
		*ends += n > 40 && strstr(text, "completed_at") != NULL;
	++*number;
	json_decref(v);
}

static void
read_all(struct feed_reader *r, size_t most, struct str *out)
{
	const char *at;
	size_t n;

	while ((n = feed_next(r, &at, most)) > 0) {
		must(n >= 2 && memcmp(at + n - 2, "\n\n", 2) == 0);
		str_add(out, at, n);
	}
}

static void
check(const struct str *out, bool native)
{
	const char *at = str_text(out), *end;
	uint64_t number = 0;
	unsigned ends = 0;

	while ((end = strstr(at, "\n\n")) != NULL) {
		one_event(at, (size_t)(end - at), native, &number, &ends);
		at = end + 2;
	}
	must(*at == '\0');
	must(!native || ends == 1);
}

static void
more(void *unused)
{
	(void)unused;
}

static void
through(const struct reply_kind *kind, const void *arg, bool native,
    const uint8_t *b, size_t n)
{
	const struct feed_reader_ops ops = { more, NULL };
	auto_str struct str out = { 0 }, whole = { 0 };
	struct run *run = run_new(&(struct run_conf){ .reply = kind,
	    .reply_arg = arg,
	    .stream = true,
	    .most = 1 << 20,
	    .high = 4096,
	    .agent = "a" });
	struct feed_reader *r = feed_read(run_feed(run), -1, &ops);
	const uint8_t *at = b + 1, *end = b + n, *nl;

	run_start(run, &source, NULL);
	while (at < end) {
		nl = memchr(at, '\n', (size_t)(end - at));
		nl = nl != NULL ? nl : end;
		apply(run, (const char *)at, (size_t)(nl - at));
		if (b[0] & 1)
			read_all(r, 100, &out);
		at = nl + 1;
	}
	if (b[0] & 2)
		run_stop(run, RUN_CANCELED, NULL, NULL);
	run_end(run, b[0] & 4 ? RUN_COMPLETED : RUN_FAILED, "c", "\xff\n");
	must(run_over(run));
	read_all(r, 4096, &out);
	must(feed_over(r));
	check(&out, native);
	kind->whole(run_reply(run), &whole);
	json_decref(is_json(str_text(&whole), whole.len));
	feed_leave(r);
	run_drop(run);
}

int
LLVMFuzzerTestOneInput(const uint8_t *b, size_t n)
{
	if (n == 0)
		return 0;
	for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
		through(replies[i].kind, replies[i].arg, replies[i].native, b,
		    n);
	return 0;
}
