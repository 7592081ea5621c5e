/*
 * run_try KIND [REQUEST]: a worker's lines on standard input, what a protocol
 * makes of them on standard output: its stream, an empty line, its whole.
 *
 * KIND: native, responses, background, chat.  REQUEST: JSON, what a response
 * repeats.  For the scripts that check streams with the schemas of others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include "base/err.h"
#include "base/own.h"
#include "engine/ask.h"
#include "engine/feed.h"
#include "engine/line.h"
#include "engine/reply_chat.h"
#include "engine/reply_responses.h"
#include "engine/run.h"

static void
nothing(void *arg, struct run *run)
{
	(void)arg;
	(void)run;
}

static void
no_pause(void *arg, struct run *run, bool on)
{
	(void)arg;
	(void)run;
	(void)on;
}

static void
more(void *arg)
{
	(void)arg;
}

static int
say(struct run *run, const char *text, size_t n)
{
	auto_str struct str scratch = { 0 };
	struct line line;
	struct err err;
	int rc;

	rc = line_read(&line, text, n, &scratch, &err);
	if (rc == 0) {
		rc = line_apply(&line, run, &err);
		json_decref(line.rest);
	}
	if (rc < 0)
		fprintf(stderr, "run_try: %s\n", err.text);
	return rc;
}

static void
print(struct run *run, struct feed_reader *reader)
{
	auto_str struct str whole = { 0 };
	const struct reply *reply = run_reply(run);
	const char *at;
	size_t n;

	while ((n = feed_next(reader, &at, 65536)) > 0)
		fwrite(at, 1, n, stdout);
	if (reply->kind->whole != NULL && run_over(run))
		reply->kind->whole(reply, &whole);
	printf("\n%s\n", str_text(&whole));
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "native";
	json_t *request = json_loads(argc > 2 ? argv[2] : "{}", 0, NULL);
	const struct feed_reader_ops ops = { more, NULL };
	const struct source source = { nothing, no_pause };
	auto_str struct str echo = { 0 };
	auto_free char *line = NULL;
	struct responses_ask responses = { NULL,
		strcmp(kind, "background") == 0 };
	const struct chat_ask chat = { true };
	struct run_conf conf = { .session_id = "s",
		.agent = "agent",
		.reply = &reply_responses,
		.reply_arg = &responses,
		.stream = true };
	struct feed_reader *reader;
	struct run *run;
	size_t room = 0;
	ssize_t n;
	int rc = 0;

	ask_responses_echo(&echo, request);
	responses.echo = str_text(&echo);
	if (strcmp(kind, "native") == 0)
		conf.reply = &reply_native;
	if (strcmp(kind, "chat") == 0) {
		conf.reply = &reply_chat;
		conf.reply_arg = &chat;
	}
	run = run_new(&conf);
	reader = feed_read(run_feed(run), -1, &ops);
	run_start(run, &source, NULL);
	while (rc == 0 && (n = getline(&line, &room, stdin)) > 0)
		if (line[0] == '!') /* from outside */
			run_stop(run, RUN_CANCELED, NULL, NULL);
		else
			rc = say(run, line, (size_t)n - (line[n - 1] == '\n'));
	print(run, reader);
	feed_leave(reader);
	run_drop(run);
	json_decref(request);
	return rc < 0;
}
