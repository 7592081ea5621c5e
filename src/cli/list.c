/* ps, logs, stats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/term.h"

static const char *
text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static uint64_t
number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static void
age_cell(struct table *t, const json_t *when)
{
	auto_str struct str s = { 0 };

	if (json_is_number(when))
		table_age(&s, clock_unix() - json_number_value(when));
	table_cell(t, str_text(&s));
}

static void
size_cell(struct table *t, uint64_t bytes)
{
	auto_str struct str s = { 0 };

	if (bytes > 0)
		table_size(&s, bytes);
	table_cell(t, str_text(&s));
}

/* ---- ps ---- */

static void
ps_row(struct table *t, const json_t *sb)
{
	bool paused = json_is_true(json_object_get(sb, "paused"));

	table_cell(t, text(sb, "id"));
	table_cell(t, text(sb, "type"));
	table_cell(t, text(sb, "image"));
	table_cell(t, paused ? "paused" : text(sb, "state"));
	age_cell(t, json_object_get(sb, "created_at"));
	table_cell(t, text(sb, "reason"));
}

int
cmd_ps(struct cli *cli, struct err *err)
{
	static const char *const heads[] = { "ID", "TYPE", "IMAGE", "STATE",
		"AGE", "REASON", NULL };
	struct table *t;
	json_t *answer = NULL, *sb;
	size_t i;

	if (api_call(cli_api(cli), "GET",
		cli->all ? "sandboxes?all=1" : "sandboxes", NULL, &answer,
		err) < 0)
		return -1;
	if (cli->json)
		return cli_json(answer);
	t = table_new(heads);
	json_array_foreach(json_object_get(answer, "sandboxes"), i, sb) {
		if (cli->quiet && text(sb, "id") != NULL)
			puts(text(sb, "id"));
		else
			ps_row(t, sb);
	}
	if (!cli->quiet)
		table_print(t, stdout);
	table_free(t);
	json_decref(answer);
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
cmd_logs(struct cli *cli, struct err *err)
{
	auto_free char *id = api_quote(cli->arg[0]);
	auto_free char *path = xasprintf("sandboxes/%s/logs%s", id,
	    cli->follow ? "?follow=1" : "");
	bool terminal = isatty(STDOUT_FILENO);
	const struct api_stream s = { .method = "GET",
		.path = path,
		.write = on_log,
		.arg = &terminal,
		.idle = cli->follow };

	if (api_stream(cli_api(cli), &s, err) < 0)
		return cli_about(err, cli->arg[0]);
	return 0;
}

/* ---- stats ---- */

static void
stats_row(struct table *t, const json_t *u)
{
	table_cell(t, text(u, "id"));
	table_cellf(t, "%.1fs", (double)number(u, "cpu_us") / 1e6);
	size_cell(t, number(u, "memory"));
	size_cell(t, number(u, "memory_peak"));
	size_cell(t, number(u, "memory_limit"));
	table_cellf(t, "%llu", (unsigned long long)number(u, "pids"));
	table_cellf(t, "%llu", (unsigned long long)number(u, "pids_limit"));
	table_cellf(t, "%llu", (unsigned long long)number(u, "oom_kills"));
}

static int
add_stats(struct cli *cli, json_t *list, const char *id, struct err *err)
{
	auto_free char *quoted = api_quote(id);
	auto_free char *path = xasprintf("sandboxes/%s/stats", quoted);
	json_t *usage = NULL;

	if (api_call(cli_api(cli), "GET", path, NULL, &usage, err) < 0)
		return cli_about(err, id);
	json_object_set_new(usage, "id", json_string(id));
	json_array_append_new(list, usage);
	return 0;
}

/* All that run; one that ends while we ask is left out. */
static int
all_stats(struct cli *cli, json_t *list, struct err *err)
{
	json_t *answer = NULL, *sb;
	size_t i;
	int r = 0;

	if (api_call(cli_api(cli), "GET", "sandboxes", NULL, &answer, err) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "sandboxes"), i, sb) {
		const char *state = text(sb, "state");

		if (state == NULL || text(sb, "id") == NULL ||
		    (strcmp(state, "running") != 0 &&
			strcmp(state, "warm") != 0))
			continue;
		r = add_stats(cli, list, text(sb, "id"), err);
		if (r < 0 && err->code != ERR_MISSING && err->code != ERR_BUSY)
			break;
		r = 0;
	}
	json_decref(answer);
	return r;
}

int
cmd_stats(struct cli *cli, struct err *err)
{
	static const char *const heads[] = { "ID", "CPU", "MEMORY", "PEAK",
		"LIMIT", "PIDS", "LIMIT", "OOM", NULL };
	json_t *list = json_array(), *usage;
	struct table *t;
	size_t i;
	int r = 0;

	if (cli->narg == 0)
		r = all_stats(cli, list, err);
	for (int a = 0; r == 0 && a < cli->narg; a++)
		r = add_stats(cli, list, cli->arg[a], err);
	if (r == 0 && cli->json)
		return cli_json(list);
	if (r == 0) {
		t = table_new(heads);
		json_array_foreach(list, i, usage)
			stats_row(t, usage);
		table_print(t, stdout);
		table_free(t);
	}
	json_decref(list);
	return r;
}
