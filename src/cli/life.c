/* pause, resume, rm: one request for each of several sandboxes. */
#include <stdio.h>
#include <stdlib.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"

static int
one(struct cli *cli, const char *id, const char *method, const char *act,
    json_t *done, struct err *err)
{
	auto_free char *quoted = api_quote(id);
	auto_free char *path = xasprintf("sandboxes/%s%s", quoted, act);

	if (api_call(cli_api(cli), method, path, NULL, NULL, err) < 0)
		return cli_about(err, id);
	json_array_append_new(done, json_string(id));
	if (!cli->quiet && !cli->json)
		puts(id);
	return 0;
}

/* All are tried; the last failure is told at the end, the others at once. */
static int
each(struct cli *cli, const char *method, const char *act, struct err *err)
{
	json_t *done = json_array();
	struct err why;
	int failed = 0;

	for (int i = 0; i < cli->narg; i++) {
		if (one(cli, cli->arg[i], method, act, done, &why) == 0)
			continue;
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

int
cmd_pause(struct cli *cli, struct err *err)
{
	return each(cli, "POST", "/pause", err);
}

int
cmd_resume(struct cli *cli, struct err *err)
{
	return each(cli, "POST", "/resume", err);
}

/* Every sandbox that the daemon lists becomes an argument. */
static int
name_all(struct cli *cli, json_t **answer, struct err *err)
{
	json_t *sb;
	size_t i, n;

	if (api_call(cli_api(cli), "GET", "sandboxes", NULL, answer, err) < 0)
		return -1;
	n = json_array_size(json_object_get(*answer, "sandboxes"));
	cli->arg = xrealloc(cli->arg, (n + 1) * sizeof *cli->arg);
	json_array_foreach(json_object_get(*answer, "sandboxes"), i, sb) {
		json_t *id = json_object_get(sb, "id");

		if (json_is_string(id))
			cli->arg[cli->narg++] = (char *)json_string_value(id);
	}
	return 0;
}

int
cmd_rm(struct cli *cli, struct err *err)
{
	json_t *answer = NULL;
	int r;

	if (cli->all == (cli->narg > 0)) {
		cli->status = CLI_USAGE;
		return err_set(err, ERR_INVALID,
		    "rm: name sandboxes, or --all for every one");
	}
	if (cli->all && name_all(cli, &answer, err) < 0)
		return -1;
	r = each(cli, "DELETE", "", err);
	json_decref(answer);
	return r;
}
