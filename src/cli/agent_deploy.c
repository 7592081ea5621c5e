/* agent deploy, run: from a file or folder to an agent that takes runs. */
#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/agent.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/pack.h"
#include "cli/progress.h"
#include "cli/term.h"

#define LINE_MAX_LEN (4u << 20)
#define NAME_MAX_LEN 31
#define GIVEN_UP "given up" /* api.c */

/* ---- interrupts ---- */

static volatile sig_atomic_t interrupted;

static void
on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void
agent_catch(bool on)
{
	struct sigaction a = { .sa_handler = on ? on_signal : SIG_DFL };

	interrupted = 0;
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

bool
agent_stopped(void *unused)
{
	(void)unused;
	return interrupted != 0;
}

void
agent_go_on(void)
{
	interrupted = 0;
}

/* ---- what is meant ---- */

void
agent_source_free(struct agent_source *s)
{
	free(s->name);
	free(s->path);
	json_decref(s->options);
	*s = (struct agent_source){ 0 };
}

/* Of the file or folder, as far as it can be a name. */
static char *
name_of(const char *path)
{
	auto_free char *real = realpath(path, NULL);
	auto_free char *copy = xstrdup(real != NULL ? real : path);
	char *base = basename(copy), *dot = strrchr(base, '.');
	struct str name = { 0 };

	if (dot != NULL && dot != base)
		*dot = '\0';
	for (; *base != '\0' && name.len < NAME_MAX_LEN; base++) {
		char c = (char)tolower((unsigned char)*base);

		if (isalnum((unsigned char)c))
			str_putc(&name, c);
		else if (name.len > 0)
			str_putc(&name, c == '_' ? '_' : '-');
	}
	if (name.len == 0)
		str_puts(&name, "agent");
	return str_take(&name);
}

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), e = strlen(end);

	return n >= e && strcmp(text + n - e, end) == 0;
}

/* "name" and "source" of a file of options are ours. */
static int
read_config(const char *path, struct agent_source *s, struct err *err)
{
	json_error_t why;
	json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &why), *v;
	auto_free char *copy = xstrdup(path);
	const char *source;

	if (!json_is_object(o)) {
		json_decref(o);
		return err_set(err, ERR_INVALID, "%s: %s", path,
		    o == NULL ? why.text : "no JSON object");
	}
	v = json_object_get(o, "name");
	if (json_is_string(v) && s->name == NULL)
		s->name = xstrdup(json_string_value(v));
	source = json_string_value(json_object_get(o, "source"));
	if (source != NULL && s->path == NULL)
		s->path = *source == '/'
		    ? xstrdup(source)
		    : xasprintf("%s/%s", dirname(copy), source);
	json_object_del(o, "name");
	json_object_del(o, "source");
	json_object_update(s->options, o);
	json_decref(o);
	return 0;
}

static void
set_env(json_t *env, const char *pair, size_t n)
{
	const char *eq = memchr(pair, '=', n);

	json_object_setn_new(env, pair, (size_t)(eq - pair),
	    json_stringn(eq + 1, n - (size_t)(eq + 1 - pair)));
}

static int
read_env_file(const char *path, json_t *env, struct err *err)
{
	FILE *f = fopen(path, "re");
	auto_free char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int r = 0;

	if (f == NULL)
		return err_sys(err, "%s", path);
	while (r == 0 && (n = getline(&line, &room, f)) >= 0) {
		char *at = line;

		while (n > 0 && isspace((unsigned char)at[n - 1]))
			n--;
		for (; n > 0 && isspace((unsigned char)*at); n--)
			at++;
		if (n == 0 || *at == '#')
			continue;
		if (n > 7 && strncmp(at, "export ", 7) == 0)
			at += 7, n -= 7;
		if (memchr(at, '=', (size_t)n) == NULL)
			r = err_set(err, ERR_INVALID,
			    "%s: a line is not NAME=VALUE", path);
		else
			set_env(env, at, (size_t)n);
	}
	fclose(f);
	return r;
}

static int
set_number(json_t *o, const char *name, const char *text, struct err *err)
{
	char *end;
	long n;

	if (text == NULL)
		return 0;
	n = strtol(text, &end, 10);
	if (*text == '\0' || *end != '\0' || n < 0)
		return err_set(err, ERR_INVALID, "--%s: takes a number", name);
	json_object_set_new(o,
	    strcmp(name, "run-timeout") == 0 ? "run_timeout" : name,
	    json_integer(n));
	return 0;
}

static void
set_text(json_t *o, const char *name, const char *text)
{
	if (text != NULL)
		json_object_set_new(o, name, json_string(text));
}

/* Options of the line beat those of the file. */
static int
read_options(struct cli *cli, char **command, struct agent_source *s,
    struct err *err)
{
	json_t *o = s->options, *env = json_object_get(o, "env"), *list;

	env = json_is_object(env) ? json_incref(env) : json_object();
	if (cli->env_file != NULL &&
	    read_env_file(cli->env_file, env, err) < 0) {
		json_decref(env);
		return -1;
	}
	for (size_t i = 0; i < cli->nenv; i++)
		set_env(env, cli->env[i], strlen(cli->env[i]));
	if (json_object_size(env) > 0)
		json_object_set(o, "env", env);
	json_decref(env);
	set_text(o, "title", cli->title);
	set_text(o, "path", cli->path);
	set_text(o, "type", cli->type);
	set_text(o, "image", cli->image);
	set_text(o, "net", cli->net);
	set_text(o, "entry", cli->entry);
	set_text(o, "on_disconnect", cli->leave);
	if (command != NULL && *command != NULL) {
		list = json_array();
		for (; *command != NULL; command++)
			json_array_append_new(list, json_string(*command));
		json_object_set_new(o, "command", list);
	}
	if (set_number(o, "processes", cli->processes, err) < 0 ||
	    set_number(o, "run-timeout", cli->run_timeout, err) < 0)
		return -1;
	return 0;
}

/* A file is its own entry; a folder is looked through by what runs it. */
static int
look_at(struct agent_source *s, struct err *err)
{
	auto_free char *copy = NULL;
	struct stat st;

	if (s->path == NULL)
		return 0;
	if (stat(s->path, &st) < 0)
		return err_sys(err, "%s", s->path);
	if (S_ISDIR(st.st_mode))
		return 0;
	copy = xstrdup(s->path);
	if (json_object_get(s->options, "command") == NULL &&
	    json_object_get(s->options, "entry") == NULL)
		set_text(s->options, "entry", basename(copy));
	return 0;
}

int
agent_source(struct cli *cli, const char *argument, char **command,
    struct agent_source *s, struct err *err)
{
	bool config = argument != NULL && ends_with(argument, ".json");

	*s = (struct agent_source){ .options = json_object() };
	if (cli->name != NULL)
		s->name = xstrdup(cli->name);
	if (argument != NULL && !config)
		s->path = xstrdup(argument);
	if ((config && read_config(argument, s, err) < 0) ||
	    (cli->config != NULL && read_config(cli->config, s, err) < 0) ||
	    read_options(cli, command, s, err) < 0 || look_at(s, err) < 0) {
		agent_source_free(s);
		return -1;
	}
	if (s->name == NULL && s->path != NULL)
		s->name = name_of(s->path);
	if (s->name != NULL)
		return 0;
	agent_source_free(s);
	return err_set(err, ERR_INVALID,
	    "name a FILE or DIR, or with --name an agent");
}

/* ---- sending it ---- */

struct sending {
	struct str head; /* the options, as a line */
	struct pack *pack;
	struct progress *progress;
	struct str line; /* of the answer, not yet whole */
	json_t *end;     /* its last line */
};

static ssize_t
on_read(void *arg, void *buf, size_t n, struct err *err)
{
	struct sending *s = arg;

	if (s->end != NULL)
		return err_set(err, ERR_BUSY, "the answer is there");
	if (s->head.len == 0)
		return s->pack != NULL ? pack_read(s->pack, buf, n, err) : 0;
	if (n > s->head.len)
		n = s->head.len;
	memcpy(buf, s->head.at, n);
	str_drop(&s->head, n);
	return (ssize_t)n;
}

static int
on_answer(void *arg, const void *bytes, size_t n, struct err *err)
{
	struct sending *s = arg;
	const char *nl, *text;
	json_t *o;

	str_add(&s->line, bytes, n);
	if (s->line.len > LINE_MAX_LEN)
		return err_set(err, ERR_LIMIT, "the answer is too long");
	while ((nl = strchr(str_text(&s->line), '\n')) != NULL) {
		n = (size_t)(nl - s->line.at);
		o = json_loadb(s->line.at, n, 0, NULL);
		str_drop(&s->line, n + 1);
		if (!json_is_object(o)) {
			json_decref(o);
			return err_set(err, ERR_PROTO,
			    "a line of the answer is no JSON object");
		}
		text = json_string_value(json_object_get(o, "progress"));
		if (text != NULL) {
			progress_now(s->progress, text);
			json_decref(o);
			continue;
		}
		json_decref(s->end);
		s->end = o;
	}
	return 0;
}

/* The end of what it printed tells more than the reason alone. */
static void
show_log(const struct cli *cli, const json_t *end)
{
	const char *log = json_string_value(json_object_get(end, "log"));
	auto_str struct str clean = { 0 };
	const char *from;
	int lines = 0;

	if (log == NULL || cli->json)
		return;
	for (from = log + strlen(log); from > log && lines < 21; from--)
		lines += from[-1] == '\n';
	from += from > log ? 1 : 0;
	term_clean(&clean, from, strlen(from), true);
	fputs(str_text(&clean), stderr);
}

static int
outcome(struct cli *cli, struct sending *s, const char *name, json_t **status,
    struct err *err)
{
	json_t *done = json_object_get(s->end, "done");
	const char *why = json_string_value(json_object_get(s->end, "detail"));

	if (done != NULL) {
		*status = json_incref(done);
		return 0;
	}
	show_log(cli, s->end);
	return err_set(err, ERR_INVALID, "%s: %s", name,
	    why != NULL ? why : "the daemon left before it was ready");
}

static int
send_to(struct cli *cli, const char *method, const char *path,
    struct sending *s, const char *name, json_t **status, struct err *err)
{
	struct api_stream stream = { .method = method,
		.path = path,
		.type = "application/x-hutch-agent",
		.read = strcmp(method, "PUT") == 0 ? on_read : NULL,
		.length = -1,
		.write = on_answer,
		.arg = s,
		.idle = true,
		.stop = agent_stopped };
	int r;

	s->progress = progress_new(cli->quiet || cli->json);
	agent_catch(true);
	r = api_stream(cli_api(cli), &stream, err);
	progress_end(s->progress);
	if (s->end != NULL) /* whatever the rest of the upload met */
		r = outcome(cli, s, name, status, err);
	agent_catch(false);
	json_decref(s->end);
	str_free(&s->line);
	str_free(&s->head);
	return r;
}

int
agent_deploy(struct cli *cli, const struct agent_source *what, json_t **status,
    struct err *err)
{
	auto_free char *path = agent_path(what->name, "");
	auto_free char *options = json_dumps(what->options, JSON_COMPACT);
	struct sending s = { 0 };
	int r;

	if (options == NULL)
		return err_set(err, ERR_INVALID, "the options are no UTF-8");
	str_puts(&s.head, options);
	str_putc(&s.head, '\n');
	if (what->path != NULL &&
	    (s.pack = pack_open_code(what->path, err)) == NULL) {
		str_free(&s.head);
		return -1;
	}
	r = send_to(cli, "PUT", path, &s, what->name, status, err);
	pack_free(s.pack);
	return r;
}

static int
show(struct cli *cli, json_t *status)
{
	const char *url = json_string_value(json_object_get(status, "url"));
	const char *name = json_string_value(json_object_get(status, "name"));

	if (cli->json)
		return cli_json(status);
	printf("%s\t%s\n", name != NULL ? name : "", url != NULL ? url : "");
	fflush(stdout);
	json_decref(status);
	return 0;
}

int
cmd_agent_deploy(struct cli *cli, struct err *err)
{
	const char *source = cli->narg > 0 ? cli->arg[0] : NULL;
	char **command = cli->narg > 1 ? cli->arg + 1 : NULL;
	struct agent_source s;
	json_t *status;
	int r;

	if (agent_source(cli, source, command, &s, err) < 0)
		return -1;
	r = agent_deploy(cli, &s, &status, err);
	agent_source_free(&s);
	return r < 0 ? -1 : show(cli, status);
}

int
cmd_agent_reload(struct cli *cli, struct err *err)
{
	auto_free char *path = agent_path(cli->arg[0], "/reload");
	struct sending s = { 0 };
	json_t *status;

	if (send_to(cli, "POST", path, &s, cli->arg[0], &status, err) < 0)
		return -1;
	return show(cli, status);
}

/* ---- run ---- */

static int
on_log(void *arg, const void *bytes, size_t n, struct err *err)
{
	auto_str struct str clean = { 0 };

	(void)arg;
	if (!isatty(STDERR_FILENO))
		return file_write_all(STDERR_FILENO, bytes, n, err);
	term_clean(&clean, bytes, n, true);
	return file_write_all(STDERR_FILENO, str_text(&clean), clean.len, err);
}

/* 0 when we were told to end; else why the log broke off. */
static int
follow(struct cli *cli, const char *name, struct err *err)
{
	auto_free char *path = agent_path(name, "/logs?follow=1");
	const struct api_stream s = { .method = "GET",
		.path = path,
		.write = on_log,
		.idle = true,
		.stop = agent_stopped };
	int r;

	agent_catch(true);
	r = api_stream(cli_api(cli), &s, err);
	if (agent_stopped(NULL))
		r = 0;
	else if (r == 0)
		r = err_set(err, ERR_BUSY, "%s was stopped by somebody else",
		    name);
	agent_catch(false);
	return r;
}

int
cmd_agent_run(struct cli *cli, struct err *err)
{
	struct agent_source s;
	struct err ignored;
	json_t *status;
	int r;

	if (agent_source(cli, cli->arg[0], NULL, &s, err) < 0)
		return -1;
	r = agent_deploy(cli, &s, &status, err);
	if (r < 0 && err->code == ERR_BUSY && strcmp(err->text, GIVEN_UP) == 0)
		(void)agent_remove(cli, s.name, &ignored);
	if (r == 0) {
		show(cli, status);
		r = follow(cli, s.name, err);
		if (r == 0)
			r = agent_remove(cli, s.name, err);
		else
			(void)agent_remove(cli, s.name, &ignored);
	}
	agent_source_free(&s);
	return r;
}
