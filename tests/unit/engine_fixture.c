#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "engine/feed.h"
#include "engine/line.h"
#include "engine/reply.h"
#include "tests/unit/engine_fixture.h"

static void
cancel(void *arg, struct run *run)
{
	struct bench *b = arg;

	/* Not heard: it is being stopped. */
	run_text(run, (struct slice){ "late", 4 });
	run_end(run, RUN_COMPLETED, NULL, NULL);
	b->cancels++;
}

static void
pause_source(void *arg, struct run *run, bool on)
{
	struct bench *b = arg;

	(void)run;
	b->pauses++;
	b->paused = on;
}

const struct source bench_source = { cancel, pause_source };

static void
ended(void *arg, struct run *run)
{
	struct bench *b = arg;

	assert_true(run_over(run));
	b->ended++;
}

static void
more(void *unused)
{
	(void)unused;
}

void
bench_open_arg(struct bench *b, const struct reply_kind *kind, const void *arg)
{
	const struct feed_reader_ops ops = { more, NULL };

	*b = (struct bench){ 0 };
	b->run = run_new(&(struct run_conf){ .id = "R",
	    .session_id = "S",
	    .agent = "a",
	    .reply = kind,
	    .reply_arg = arg,
	    .stream = true,
	    .now_s = 1000,
	    .ended = ended,
	    .arg = b });
	b->reader = feed_read(run_feed(b->run), -1, &ops);
	assert_non_null(b->reader);
	run_start(b->run, &bench_source, b);
}

void
bench_open(struct bench *b, const struct reply_kind *kind)
{
	bench_open_arg(b, kind, NULL);
}

void
bench_close(struct bench *b)
{
	feed_leave(b->reader);
	run_drop(b->run);
}

bool
bench_refuses(struct bench *b, const char *members)
{
	auto_str struct str text = { 0 }, scratch = { 0 };
	struct line line;
	struct err err;
	char *exact;
	int rc;

	str_printf(&text, "{\"run\":1,%s}", members);
	/* Nothing stands behind the line, not even a NUL. */
	exact = xmalloc(text.len);
	memcpy(exact, text.at, text.len);
	if (line_read(&line, exact, text.len, &scratch, &err) < 0) {
		free(exact);
		assert_int_equal(err.code, ERR_PROTO);
		return true;
	}
	assert_int_equal(line.run, 1);
	rc = line_apply(&line, b->run, &err);
	json_decref(line.rest);
	free(exact);
	if (rc < 0)
		assert_int_equal(err.code, ERR_PROTO);
	return rc < 0;
}

void
bench_say(struct bench *b, const char *members)
{
	if (bench_refuses(b, members))
		fail_msg("refused: %s", members);
}

/* Each message has a name of 40 characters; name them by their first use. */
static void
shorten(struct str *text)
{
	char *at, seen[16][41];
	unsigned nseen = 0;

	while ((at = strstr(str_text(text), "\"msg_")) != NULL) {
		size_t where = (size_t)(at - text->at) + 1, i = 0;
		auto_str struct str rest = { 0 };

		if (strncmp(at, "\"msg_id\"", 8) == 0) {
			at[1] = 'M';
			continue;
		}
		str_puts(&rest, at + 41);
		while (i < nseen && memcmp(seen[i], at + 1, 40) != 0)
			i++;
		if (i == nseen) {
			assert_true(nseen < 16);
			memcpy(seen[nseen], at + 1, 40);
			seen[nseen++][40] = '\0';
		}
		str_cut(text, where);
		str_printf(text, "Msg_%zu", i + 1);
		str_add(text, rest.at, rest.len);
	}
	while ((at = strstr(str_text(text), "Msg_")) != NULL)
		*at = 'm';
}

void
bench_read(struct bench *b, struct str *out)
{
	const char *at;
	size_t n;

	while ((n = feed_next(b->reader, &at, 4096)) > 0)
		str_add(out, at, n);
	shorten(out);
}

void
bench_expect(struct bench *b, const char *const *lines)
{
	auto_str struct str have = { 0 };
	const char *at;

	bench_read(b, &have);
	at = str_text(&have);
	for (; *lines != NULL; lines++) {
		const char *end = strstr(at, "\n\n");
		auto_str struct str one = { 0 };

		if (end == NULL || strncmp(at, "data: ", 6) != 0)
			fail_msg("wanted %s\nhave %s", *lines, at);
		str_add(&one, at + 6, (size_t)(end - at) - 6);
		assert_string_equal(str_text(&one), *lines);
		at = end + 2;
	}
	assert_string_equal(at, "");
}
