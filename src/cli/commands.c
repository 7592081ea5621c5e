#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/term.h"

#define DEFAULT_SOCKET "/run/hutch/api.sock"

/* clang-format off */
const struct command commands[] = {
	{ "run",	   "IMAGE|DIR [--] CMD [ARG...]",	"Run a command in a fresh sandbox, which ends with it",
	  TAKES_CREATE | TAKES_ENV | TAKES_EXEC,	2, CLI_MANY, 1, cmd_run },
	{ "create",	   "[IMAGE|DIR]",			"Make a sandbox and print its id",
	  TAKES_CREATE | TAKES_ENV,			0, 1, 0, cmd_create },
	{ "exec",	   "ID [--] CMD [ARG...]",		"Run a command in a sandbox",
	  TAKES_ENV | TAKES_EXEC,			2, CLI_MANY, 1, cmd_exec },
	{ "ps",		   "",					"List sandboxes",
	  TAKES_ALL | TAKES_QUIET,			0, 0, 0, cmd_ps },
	{ "logs",	   "ID",				"What befell a sandbox, call by call",
	  TAKES_FOLLOW,					1, 1, 0, cmd_logs },
	{ "stats",	   "[ID...]",				"Processor, memory and processes of sandboxes",
	  0,						0, CLI_MANY, 0, cmd_stats },
	{ "pause",	   "ID...",				"Freeze every process of sandboxes",
	  TAKES_QUIET,					1, CLI_MANY, 0, cmd_pause },
	{ "resume",	   "ID...",				"Let paused sandboxes go on",
	  TAKES_QUIET,					1, CLI_MANY, 0, cmd_resume },
	{ "rm",		   "ID...",				"End sandboxes and delete their files",
	  TAKES_ALL | TAKES_QUIET,			0, CLI_MANY, 0, cmd_rm },
	{ "cp",		   "[ID:]SOURCE [ID:]DEST",		"Copy files into or out of a sandbox",
	  TAKES_QUIET,					2, 2, 0, cmd_cp },
	{ "image import",  "PATH NAME",				"Store an image: OCI layout (folder or tar) or docker save",
	  TAKES_QUIET,					2, 2, 0, cmd_image_import },
	{ "image export",  "NAME DEST",				"Write an image's files to a folder, a .tar or - ",
	  TAKES_QUIET,					2, 2, 0, cmd_image_export },
	{ "image ls",	   "",					"List images",
	  TAKES_QUIET,					0, 0, 0, cmd_image_ls },
	{ "image inspect", "NAME",				"What is known of an image, as JSON",
	  0,						1, 1, 0, cmd_image_inspect },
	{ "image rm",	   "NAME...",				"Forget images; layers that nobody needs go too",
	  TAKES_QUIET,					1, CLI_MANY, 0, cmd_image_rm },
	{ "agent deploy",  "[FILE|DIR|CONFIG.json [-- CMD [ARG...]]]",	"Offer an agent, or a new version of it",
	  TAKES_AGENT | TAKES_QUIET,			0, CLI_MANY, 0, cmd_agent_deploy },
	{ "agent run",	   "FILE|DIR|CONFIG.json",		"Offer an agent, follow its log, and stop it at the end",
	  TAKES_AGENT | TAKES_QUIET,			1, 1, 0, cmd_agent_run },
	{ "agent chat",	   "NAME|FILE|DIR",			"Speak with an agent",
	  TAKES_AGENT | TAKES_CHAT,			1, 1, 0, cmd_agent_chat },
	{ "agent invoke",  "NAME [QUERY]",			"Ask an agent once",
	  TAKES_CHAT,					1, 2, 0, cmd_agent_invoke },
	{ "agent list",	   "",					"List agents",
	  TAKES_QUIET,					0, 0, 0, cmd_agent_list },
	{ "agent status",  "NAME",				"What is known of an agent",
	  0,						1, 1, 0, cmd_agent_status },
	{ "agent logs",	   "NAME",				"What an agent's processes have printed",
	  TAKES_FOLLOW,					1, 1, 0, cmd_agent_logs },
	{ "agent reload",  "NAME",				"Start an agent's processes anew; no run is lost",
	  TAKES_QUIET,					1, 1, 0, cmd_agent_reload },
	{ "agent stop",	   "NAME...",				"Stop agents for good",
	  TAKES_QUIET,					1, CLI_MANY, 0, cmd_agent_stop },
	{ "model-stub",	   "[[ADDRESS:]PORT]",			"Serve a scripted model, for trials without one",
	  0,						0, 1, 0, cmd_model_stub },
	{ "doctor",	   "",					"What this host has and lacks, and the remedies",
	  0,						0, 0, 0, cmd_doctor },
	{ "backup",	   "FILE",				"Save the daemon's journal (no files, no images, nothing agents keep)",
	  TAKES_QUIET,					1, 1, 0, cmd_backup },
	{ "reset",	   "",					"Remove all that a root directory's daemon ever made",
	  TAKES_FORCE,					0, 0, 0, cmd_reset },
	{ "version",	   "",					"Versions of this program and of the daemon",
	  0,						0, 0, 0, cmd_version },
	{ "completion",	   "bash",				"Print what makes a shell complete our words",
	  0,						1, 1, 0, cmd_completion },
	{ "complete",	   "[WORD...]",				"Words that may follow",
	  TAKES_HIDDEN,					0, CLI_MANY, 1, cmd_complete },
	{ .name = NULL },
};
/* clang-format on */

const struct command *
cli_find(const char *name)
{
	for (const struct command *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

char *
cli_socket(const struct cli *cli)
{
	if (cli->socket != NULL)
		return xstrdup(cli->socket);
	if (cli->root != NULL)
		return xasprintf("%s/run/api.sock", cli->root);
	return xstrdup(DEFAULT_SOCKET);
}

char *
cli_built(void)
{
	auto_free char *agent = NULL;
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	agent = xasprintf("%s/hutch-agent", self);
	return access(agent, F_OK) == 0 ? xstrdup(self) : NULL;
}

struct api *
cli_api(struct cli *cli)
{
	char *socket;

	if (cli->api == NULL) {
		socket = cli_socket(cli);
		cli->api = api_open(
		    &(struct api_where){ socket, cli->url, cli->token });
		free(socket);
	}
	return cli->api;
}

int
cli_json(json_t *answer)
{
	json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
	putchar('\n');
	json_decref(answer);
	return 0;
}

int
cli_about(struct err *err, const char *id)
{
	char text[sizeof err->text];

	if (strstr(err->text, id) == NULL)
		err_wrap(err, "%s", id);
	if (err->code != ERR_MISSING || strstr(err->text, "--root") != NULL)
		return -1;
	memcpy(text, err->text, sizeof text);
	return err_set(err, ERR_MISSING, "%.900s (`hutch ps -a' lists all)",
	    text);
}

void
cli_complain(const struct cli *cli, const struct err *err)
{
	struct str text = { 0 };
	json_t *o;

	if (cli->json) {
		o = json_pack("{s:{s:s, s:s+}}", "error", "code",
		    err_name(err->code), "detail", err->text, "");
		if (o != NULL)
			json_dumpf(o, stderr, 0);
		fputc('\n', stderr);
		json_decref(o);
		return;
	}
	term_clean(&text, err->text, strlen(err->text), false);
	fprintf(stderr, "hutch: %s\n", str_text(&text));
	str_free(&text);
}
