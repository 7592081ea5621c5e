/* agent chat, invoke: questions on standard input or in a word, answers as
 * they come. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/agent.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/term.h"

#define EVENT_MAX (64u << 20)

struct asking {
	struct cli *cli;
	struct str body; /* still to be sent */
	struct str in;   /* of the stream, not yet a whole line */
	json_t *types;   /* of messages, by their id */
	json_t *end;     /* the run's last event */
	bool printed, newline;
};

static const char *
text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool
is(const json_t *o, const char *key, const char *word)
{
	const char *s = text(o, key);

	return s != NULL && strcmp(s, word) == 0;
}

/* ---- what comes ---- */

static void
print(struct asking *a, FILE *to, const char *s)
{
	auto_str struct str clean = { 0 };

	if (*s == '\0' || a->cli->json)
		return;
	if (isatty(fileno(to)))
		term_clean(&clean, s, strlen(s), true);
	else
		str_puts(&clean, s);
	fputs(str_text(&clean), to);
	fflush(to);
	if (to == stdout) {
		a->printed = true;
		a->newline = s[strlen(s) - 1] == '\n';
	}
}

static void
end_line(struct asking *a)
{
	if (a->printed && !a->newline)
		putchar('\n');
	a->newline = true;
	fflush(stdout);
}

/* A call or its outcome, in one line. */
static void
print_data(struct asking *a, const char *type, const json_t *content)
{
	const json_t *data = json_object_get(content, "data");
	const char *what = text(data, "arguments");
	auto_str struct str line = { 0 };

	if (what == NULL)
		what = text(data, "output");
	str_printf(&line, "[%s %s] %s\n", type,
	    text(data, "name") != NULL ? text(data, "name") : "",
	    what != NULL ? what : "");
	end_line(a);
	print(a, stderr, str_text(&line));
}

static void
on_content(struct asking *a, const json_t *o)
{
	const char *id = text(o, "msg_id");
	const char *type = id != NULL ? text(a->types, id) : NULL;
	bool answer = type == NULL || strcmp(type, "message") == 0;
	bool delta = json_is_true(json_object_get(o, "delta"));

	if (!answer && !a->cli->verbose)
		return;
	if (is(o, "type", "text") && delta && text(o, "text") != NULL)
		print(a, answer ? stdout : stderr, text(o, "text"));
	else if (is(o, "type", "refusal") && delta)
		print(a, stdout, text(o, "refusal"));
	else if (is(o, "type", "data") && is(o, "status", "completed"))
		print_data(a, type, o);
}

static void
on_message(struct asking *a, const json_t *o)
{
	const char *id = text(o, "id"), *type = text(o, "type");

	if (id == NULL || type == NULL)
		return;
	if (!is(o, "status", "completed"))
		json_object_set_new(a->types, id, json_string(type));
	else if (strcmp(type, "message") == 0)
		end_line(a);
	else if (a->cli->verbose && strcmp(type, "reasoning") == 0)
		print(a, stderr, "\n");
}

static void
on_event(struct asking *a, const json_t *o)
{
	if (is(o, "object", "content"))
		on_content(a, o);
	else if (is(o, "object", "message"))
		on_message(a, o);
	else if (is(o, "object", "response") && !is(o, "status", "created") &&
	    !is(o, "status", "in_progress")) {
		json_decref(a->end);
		a->end = json_incref((json_t *)(uintptr_t)o);
	}
}

static int
on_bytes(void *arg, const void *bytes, size_t n, struct err *err)
{
	struct asking *a = arg;
	const char *nl;

	str_add(&a->in, bytes, n);
	while ((nl = memchr(str_text(&a->in), '\n', a->in.len)) != NULL) {
		size_t line = (size_t)(nl - a->in.at);
		json_t *o = NULL;

		if (line > 5 && strncmp(a->in.at, "data:", 5) == 0)
			o = json_loadb(a->in.at + 5, line - 5, 0, NULL);
		if (o != NULL)
			on_event(a, o);
		json_decref(o);
		str_drop(&a->in, line + 1);
	}
	if (a->in.len > EVENT_MAX)
		return err_set(err, ERR_LIMIT, "an event is too long");
	return 0;
}

/* ---- one question ---- */

static ssize_t
on_read(void *arg, void *buf, size_t n, struct err *err)
{
	struct asking *a = arg;

	(void)err;
	if (n > a->body.len)
		n = a->body.len;
	memcpy(buf, str_text(&a->body), n);
	str_drop(&a->body, n);
	return (ssize_t)n;
}

static int
put_request(struct asking *a, const char *query, const char *session,
    struct err *err)
{
	const char *user = a->cli->user != NULL ? a->cli->user : "default_user";
	json_t *o = json_pack("{s:[{s:s, s:s, s:[{s:s, s:s}]}], s:s, s:s, s:b}",
	    "input", "role", "user", "type", "message", "content", "type",
	    "text", "text", query, "session_id", session, "user_id", user,
	    "stream", 1);
	char *body = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;

	json_decref(o);
	if (body == NULL)
		return err_set(err, ERR_INVALID, "the question is no UTF-8");
	str_puts(&a->body, body);
	free(body);
	return 0;
}

/* 1: it was interrupted. */
static int
how_it_ended(struct asking *a, struct err *err)
{
	const json_t *why = json_object_get(a->end, "error");

	if (a->end == NULL)
		return err_set(err, ERR_PROTO,
		    "the answer broke off before its end");
	if (is(a->end, "status", "completed"))
		return 0;
	if (is(a->end, "status", "canceled"))
		return err_set(err, ERR_BUSY, "the run was canceled");
	return err_set(err, ERR_SYS, "%s: %s",
	    text(why, "code") != NULL ? text(why, "code")
				      : text(a->end, "status"),
	    text(why, "message") != NULL ? text(why, "message")
					 : "no reason was given");
}

static int
ask(struct cli *cli, const char *name, const char *query, const char *session,
    struct err *err)
{
	auto_free char *path = agent_path(name, "/process");
	struct asking a = { .cli = cli, .types = json_object() };
	struct api_stream s = { .method = "POST",
		.path = path,
		.type = "application/json",
		.read = on_read,
		.write = on_bytes,
		.arg = &a,
		.idle = true,
		.stop = agent_stopped };
	int r = put_request(&a, query, session, err);

	s.length = (int64_t)a.body.len;
	if (r == 0)
		r = api_stream(cli_api(cli), &s, err);
	if (r == 0)
		r = how_it_ended(&a, err);
	if (r == 0 && cli->json)
		cli_json(json_incref(a.end));
	end_line(&a);
	json_decref(a.types);
	json_decref(a.end);
	str_free(&a.in);
	str_free(&a.body);
	return r;
}

static char *
session_of(const struct cli *cli)
{
	uint8_t random[4];
	char hex[2 * sizeof random + 1];

	if (cli->session != NULL)
		return xstrdup(cli->session);
	if (getrandom(random, sizeof random, 0) != sizeof random)
		abort();
	hex_put(hex, random, sizeof random);
	return xasprintf("session_%s", hex);
}

/* ---- many ---- */

static bool
is_goodbye(const char *line)
{
	return strcmp(line, "exit") == 0 || strcmp(line, "quit") == 0 ||
	    strcmp(line, "q") == 0;
}

static int
talk(struct cli *cli, const char *name, const char *session)
{
	bool terminal = isatty(STDIN_FILENO);
	auto_free char *line = NULL;
	struct err err;
	size_t room = 0;
	int failed = 0;
	ssize_t n;

	if (terminal)
		fprintf(stderr, "%s, session %s; exit or Ctrl-D ends\n", name,
		    session);
	for (;;) {
		if (terminal)
			fputs("> ", stderr);
		agent_go_on();
		errno = 0;
		n = getline(&line, &room, stdin);
		if (n < 0 && errno == EINTR) {
			clearerr(stdin);
			fputc('\n', stderr);
			continue;
		}
		if (n < 0)
			break;
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = '\0';
		if (n == 0)
			continue;
		if (is_goodbye(line))
			break;
		if (ask(cli, name, line, session, &err) == 0)
			continue;
		failed++;
		if (agent_stopped(NULL))
			fputs("(stopped)\n", stderr);
		else
			cli_complain(cli, &err);
	}
	if (terminal)
		fputc('\n', stderr);
	return failed;
}

static int
chat(struct cli *cli, const char *name, struct err *err)
{
	auto_free char *session = session_of(cli);
	int r = 0;

	agent_catch(true);
	if (cli->query != NULL)
		r = ask(cli, name, cli->query, session, err);
	else if (talk(cli, name, session) > 0 && !isatty(STDIN_FILENO))
		cli->status = CLI_FAILED;
	agent_catch(false);
	return r;
}

int
cmd_agent_chat(struct cli *cli, struct err *err)
{
	const char *what = cli->arg[0];
	struct agent_source s;
	struct err ignored;
	struct stat st;
	json_t *status;
	int r;

	if (stat(what, &st) < 0)
		return chat(cli, what, err);
	if (agent_source(cli, what, NULL, &s, err) < 0)
		return -1;
	r = agent_deploy(cli, &s, &status, err);
	if (r == 0) {
		json_decref(status);
		r = chat(cli, s.name, err);
		if (agent_remove(cli, s.name, &ignored) < 0)
			cli_complain(cli, &ignored);
	}
	agent_source_free(&s);
	return r;
}

int
cmd_agent_invoke(struct cli *cli, struct err *err)
{
	auto_free char *session = session_of(cli);
	const char *query = cli->narg > 1 ? cli->arg[1] : cli->query;
	int r;

	if (query == NULL)
		return err_set(err, ERR_INVALID,
		    "ask something: hutch agent invoke NAME QUERY");
	agent_catch(true);
	r = ask(cli, cli->arg[0], query, session, err);
	agent_catch(false);
	return r;
}
