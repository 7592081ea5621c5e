/* run, create, exec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/exec.h"
#include "cli/lend.h"

enum { LEASE_S = 10 };

/* Like a command's name to a shell: a folder has a slash in front or a dot. */
static bool
is_folder(const char *what)
{
	return *what == '/' || strcmp(what, ".") == 0 ||
	    strcmp(what, "..") == 0 || strncmp(what, "./", 2) == 0 ||
	    strncmp(what, "../", 3) == 0;
}

json_t *
cli_env(const struct cli *cli)
{
	json_t *o = json_object();

	for (size_t i = 0; i < cli->nenv; i++) {
		const char *eq = strchr(cli->env[i], '=');

		json_object_setn_new(o, cli->env[i], (size_t)(eq - cli->env[i]),
		    json_string(eq + 1));
	}
	return o;
}

/* The record of the new sandbox.  lease: if we are killed, so is it. */
static int
make(struct cli *cli, const char *what, bool lease, json_t **record,
    struct err *err)
{
	json_t *body = json_pack("{s:s*, s:s*, s:s*, s:o}", "type", cli->type,
	    "net", cli->net, "mount_dir", cli->mount_dir, "env", cli_env(cli));
	char handle[LEND_HANDLE];
	struct stat st;
	int r = 0;

	if (what != NULL && is_folder(what)) {
		r = lend(cli, what, handle, err);
		if (r == 0)
			json_object_set_new(body, "dir", json_string(handle));
	} else if (what != NULL)
		json_object_set_new(body, "image", json_string(what));
	if (lease)
		json_object_set_new(body, "lease", json_integer(LEASE_S));
	if (r == 0)
		r = api_call(cli_api(cli), "POST", "sandboxes", body, record,
		    err);
	json_decref(body);
	if (r < 0 && strncmp(err->text, "image ", 6) == 0 && what != NULL &&
	    !is_folder(what) && stat(what, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(err, ERR_MISSING,
		    "no image %s; the folder of that name is ./%s", what, what);
	if (r == 0 &&
	    json_string_value(json_object_get(*record, "id")) == NULL) {
		json_decref(*record);
		r = err_set(err, ERR_PROTO, "the daemon named no sandbox");
	}
	return r;
}

static bool
said(const struct cli *cli, const char *name)
{
	bool is = false;

	for (size_t i = 0; i < cli->nenv; i++)
		is = is || strncmp(cli->env[i], name, strlen(name)) == 0;
	return is;
}

static int
inside(struct cli *cli, const char *id, char **argv, bool remove,
    struct err *err)
{
	bool ours = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct exec e = {
		.id = id,
		.argv = argv,
		.env = remove ? NULL : cli->env, /* run: the sandbox has it */
		.cwd = cli->cwd,
		.tty = cli->tty || (ours && !cli->no_tty),
		.term = said(cli, "TERM=") ? NULL : getenv("TERM"),
		.input = !cli->no_input,
		.remove = remove,
	};

	return exec_run(cli_api(cli), &e, &cli->status, err);
}

static void
forget(struct cli *cli, const char *id)
{
	auto_free char *path = xasprintf("sandboxes/%s", id);
	struct err unused;

	api_call(cli_api(cli), "DELETE", path, NULL, NULL, &unused);
}

int
cmd_run(struct cli *cli, struct err *err)
{
	json_t *record = NULL;
	const char *id;
	int r;

	if (make(cli, cli->arg[0], true, &record, err) < 0)
		return -1;
	id = json_string_value(json_object_get(record, "id"));
	r = inside(cli, id, cli->arg + 1, true, err);
	/* If it never ran, nothing has ended the sandbox. */
	if (r < 0)
		forget(cli, id);
	json_decref(record);
	return r;
}

int
cmd_create(struct cli *cli, struct err *err)
{
	json_t *record = NULL;

	if (make(cli, cli->arg[0], false, &record, err) < 0)
		return -1;
	if (cli->json)
		return cli_json(record);
	puts(json_string_value(json_object_get(record, "id")));
	json_decref(record);
	return 0;
}

int
cmd_exec(struct cli *cli, struct err *err)
{
	if (inside(cli, cli->arg[0], cli->arg + 1, false, err) < 0)
		return cli_about(err, cli->arg[0]);
	return 0;
}
