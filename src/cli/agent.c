/* agent list, status, logs, stop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/agent.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/term.h"

char *
agent_path(const char *name, const char *more)
{
	auto_free char *quoted = api_quote(name);

	return xasprintf("agents/%s%s", quoted, more);
}

static const char *
text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* ---- list ---- */

static void
list_row(struct table *t, const json_t *a)
{
	const json_t *since = json_object_get(a, "updated_at");
	auto_str struct str age = { 0 };

	if (json_is_number(since) && json_number_value(since) > 0)
		table_age(&age, clock_unix() - json_number_value(since));
	table_cell(t, text(a, "name"));
	table_cell(t, text(a, "state"));
	table_cellf(t, "%lld",
	    (long long)json_integer_value(json_object_get(a, "runs")));
	table_cellf(t, "%zu", json_array_size(json_object_get(a, "workers")));
	table_cell(t, str_text(&age));
	table_cell(t, text(a, "url"));
}

int
cmd_agent_list(struct cli *cli, struct err *err)
{
	static const char *const heads[] = { "NAME", "STATE", "RUNS",
		"PROCESSES", "AGE", "URL", NULL };
	json_t *answer = NULL, *a;
	struct table *t;
	size_t i;

	if (api_call(cli_api(cli), "GET", "agents", NULL, &answer, err) < 0)
		return -1;
	if (cli->json)
		return cli_json(answer);
	t = table_new(heads);
	json_array_foreach(json_object_get(answer, "agents"), i, a) {
		if (cli->quiet && text(a, "name") != NULL)
			puts(text(a, "name"));
		else
			list_row(t, a);
	}
	if (!cli->quiet)
		table_print(t, stdout);
	table_free(t);
	json_decref(answer);
	return 0;
}

/* ---- status ---- */

static void
print_member(const char *key, const json_t *v)
{
	auto_str struct str clean = { 0 };
	auto_free char *json = NULL;
	const char *s = json_string_value(v);

	if (s == NULL)
		s = json = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	if (s == NULL || *s == '\0')
		return;
	term_clean(&clean, s, strlen(s), false);
	printf("%-14s %s\n", key, str_text(&clean));
}

int
cmd_agent_status(struct cli *cli, struct err *err)
{
	auto_free char *path = agent_path(cli->arg[0], "");
	json_t *a = NULL, *v;
	const char *key;

	if (api_call(cli_api(cli), "GET", path, NULL, &a, err) < 0)
		return -1;
	if (cli->json)
		return cli_json(a);
	json_object_foreach(a, key, v) {
		if (strcmp(key, "created_at") != 0 &&
		    strcmp(key, "updated_at") != 0)
			print_member(key, v);
	}
	json_decref(a);
	return 0;
}

/* ---- logs ---- */

static int
on_log(void *arg, const void *bytes, size_t n, struct err *err)
{
	auto_str struct str clean = { 0 };
	const bool *terminal = arg;

	if (!*terminal)
		return file_write_all(STDOUT_FILENO, bytes, n, err);
	term_clean(&clean, bytes, n, true);
	return file_write_all(STDOUT_FILENO, str_text(&clean), clean.len, err);
}

int
cmd_agent_logs(struct cli *cli, struct err *err)
{
	auto_free char *path =
	    agent_path(cli->arg[0], cli->follow ? "/logs?follow=1" : "/logs");
	bool terminal = isatty(STDOUT_FILENO);
	const struct api_stream s = { .method = "GET",
		.path = path,
		.write = on_log,
		.arg = &terminal,
		.idle = cli->follow };

	return api_stream(cli_api(cli), &s, err);
}

/* ---- stop ---- */

int
agent_remove(struct cli *cli, const char *name, struct err *err)
{
	auto_free char *path = agent_path(name, "");

	return api_call(cli_api(cli), "DELETE", path, NULL, NULL, err);
}

int
cmd_agent_stop(struct cli *cli, struct err *err)
{
	json_t *done = json_array();
	struct err why;
	int failed = 0;

	for (int i = 0; i < cli->narg; i++) {
		if (agent_remove(cli, cli->arg[i], &why) == 0) {
			json_array_append_new(done, json_string(cli->arg[i]));
			if (!cli->json && !cli->quiet)
				puts(cli->arg[i]);
			continue;
		}
		if (failed++ > 0)
			cli_complain(cli, err);
		*err = why;
	}
	if (cli->json)
		cli_json(done);
	else
		json_decref(done);
	return failed > 0 ? -1 : 0;
}
