#include <argp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "cli/cli.h"
#include "cli/options.h"

enum how { FLAG, TEXT, LIST };
enum {
	ROOT = 256,
	SOCKET,
	URL,
	NO_INPUT,
	TYPE,
	NET,
	MOUNT_DIR,
	NAME,
	ENV_FILE,
	SESSION,
	USER,
	TITLE,
	DOOR,
	IMAGE,
	PROCESSES,
	TIMEOUT,
	LEAVE,
	DETACH
};
#define ANY 0 /* every command takes it, and it may stand before the command */

/* clang-format off */
static const struct option_row {
	const char *name;
	int key;		/* a letter too, if below 256 */
	const char *value;	/* its name in the help; NULL: a flag */
	enum how how;
	size_t at;
	unsigned takes;
	const char *text;
} rows[] = {
	{ "root",      ROOT,	  "DIR",   TEXT, offsetof(struct cli, root),	  ANY,		"The daemon whose root directory this is" },
	{ "socket",    SOCKET,	  "PATH",  TEXT, offsetof(struct cli, socket),	  ANY,		"The daemon's socket (default /run/hutch/api.sock)" },
	{ "url",       URL,	  "URL",   TEXT, offsetof(struct cli, url),	  ANY,		"A daemon over HTTP; its token in HUTCH_TOKEN" },
	{ "json",      'j',	  NULL,	   FLAG, offsetof(struct cli, json),	  ANY,		"Print JSON, errors too" },
	{ "all",       'a',	  NULL,	   FLAG, offsetof(struct cli, all),	  TAKES_ALL,	"All of them (ps: those that have ended too)" },
	{ "quiet",     'q',	  NULL,	   FLAG, offsetof(struct cli, quiet),	  TAKES_QUIET,	"No progress; lists: ids or names only" },
	{ "follow",    'f',	  NULL,	   FLAG, offsetof(struct cli, follow),	  TAKES_FOLLOW,	"Go on as new lines come" },
	{ "force",     'f',	  NULL,	   FLAG, offsetof(struct cli, force),	  TAKES_FORCE,	"Don't ask" },
	{ "type",      TYPE,	  "TYPE",  TEXT, offsetof(struct cli, type),	  TAKES_CREATE,	"Sandbox type: limits, network, environment" },
	{ "net",       NET,	  "none|nat", TEXT, offsetof(struct cli, net),	  TAKES_CREATE,	"Network" },
	{ "mount-dir", MOUNT_DIR, "DIR",   TEXT, offsetof(struct cli, mount_dir), TAKES_CREATE,	"Host directory as /workspace, if allowed" },
	{ "env",       'e',	  "NAME[=VALUE]", LIST, offsetof(struct cli, env), TAKES_ENV,	"Environment; without a value: ours" },
	{ "name",      NAME,	  "NAME",  TEXT, offsetof(struct cli, name),	  TAKES_AGENT,	"The agent's name (default: that of the source)" },
	{ "entrypoint", 'e',	  "FILE[:APP]", TEXT, offsetof(struct cli, entry), TAKES_AGENT, "What to run in a folder (default: app.py, agent.py, main.py)" },
	{ "env",       'E',	  "NAME[=VALUE]", LIST, offsetof(struct cli, env), TAKES_AGENT,	"Environment; without a value: ours" },
	{ "env-file",  ENV_FILE,  "FILE",  TEXT, offsetof(struct cli, env_file),  TAKES_AGENT,	"Environment, NAME=VALUE a line" },
	{ "config",    'c',	  "FILE",  TEXT, offsetof(struct cli, config),	  TAKES_AGENT,	"Options as a JSON object" },
	{ "title",     TITLE,	  "TEXT",  TEXT, offsetof(struct cli, title),	  TAKES_AGENT,	"What people see as its name" },
	{ "path",      DOOR,	  "PATH",  TEXT, offsetof(struct cli, path),	  TAKES_AGENT,	"Of its native door (default /process)" },
	{ "processes", PROCESSES, "N",	   TEXT, offsetof(struct cli, processes), TAKES_AGENT,	"Processes, a sandbox each (default 1)" },
	{ "run-timeout", TIMEOUT, "SECONDS", TEXT, offsetof(struct cli, run_timeout), TAKES_AGENT, "A run that takes longer fails; 0: none does" },
	{ "on-disconnect", LEAVE, "cancel|continue", TEXT, offsetof(struct cli, leave), TAKES_AGENT, "What becomes of a run whose reader leaves" },
	{ "image",     IMAGE,	  "IMAGE", TEXT, offsetof(struct cli, image),	  TAKES_AGENT,	"Of its sandboxes (default: that of the type)" },
	{ "type",      TYPE,	  "TYPE",  TEXT, offsetof(struct cli, type),	  TAKES_AGENT,	"Type of its sandboxes (default: app)" },
	{ "net",       NET,	  "none|nat", TEXT, offsetof(struct cli, net),	  TAKES_AGENT,	"Network" },
	{ "detach",    DETACH,	  NULL,	   FLAG, offsetof(struct cli, detach),	  TAKES_AGENT,	"Taken and ignored: deploy leaves it running anyway" },
	{ "query",     'q',	  "TEXT",  TEXT, offsetof(struct cli, query),	  TAKES_CHAT,	"Ask this, print the answer, and end" },
	{ "session-id", SESSION,  "ID",	   TEXT, offsetof(struct cli, session),	  TAKES_CHAT,	"Session to go on with (default: a new one)" },
	{ "user-id",   USER,	  "ID",	   TEXT, offsetof(struct cli, user),	  TAKES_CHAT,	"Who asks (default: default_user)" },
	{ "verbose",   'v',	  NULL,	   FLAG, offsetof(struct cli, verbose),	  TAKES_CHAT,	"Reasoning and tool calls too" },
	{ "tty",       't',	  NULL,	   FLAG, offsetof(struct cli, tty),	  TAKES_EXEC,	"With a terminal (default if ours is one)" },
	{ "no-tty",    'T',	  NULL,	   FLAG, offsetof(struct cli, no_tty),	  TAKES_EXEC,	"Without a terminal" },
	{ "no-input",  'n',	  NULL,	   FLAG, offsetof(struct cli, no_input),  TAKES_EXEC,	"Give it no standard input" },
	{ "interactive", 'i',	  NULL,	   FLAG, offsetof(struct cli, input),	  TAKES_EXEC,	"Taken and ignored: it has our input anyway" },
	{ "cwd",       'w',	  "DIR",   TEXT, offsetof(struct cli, cwd),	  TAKES_EXEC,	"Working directory" },
};
/* clang-format on */
enum { NROW = sizeof rows / sizeof *rows };

struct reading {
	struct cli *cli;
	const struct command *command; /* NULL: still looking for it */
	char **rest;                   /* after the command's name */
	int nrest;
};

static bool
takes(const struct command *c, const struct option_row *row)
{
	return row->takes == ANY || (c != NULL && c->takes & row->takes);
}

const char *
options_word(const struct command *c, int index)
{
	static char word[32];

	for (int i = 0; i < NROW; i++)
		if (takes(c, &rows[i]) && index-- == 0) {
			snprintf(word, sizeof word, "--%s", rows[i].name);
			return word;
		}
	return NULL;
}

/* NAME alone means our own NAME, and nothing if we have none. */
static void
add_env(struct cli *cli, const char *arg, struct argp_state *state)
{
	const char *value;
	char *entry;

	if (*arg == '=' || *arg == '\0')
		argp_error(state, "--env %s: a name is missing", arg);
	if (strchr(arg, '=') != NULL)
		entry = xstrdup(arg);
	else if ((value = getenv(arg)) != NULL)
		entry = xasprintf("%s=%s", arg, value);
	else
		return;
	cli->env = xrealloc(cli->env, (cli->nenv + 2) * sizeof *cli->env);
	cli->env[cli->nenv++] = entry;
	cli->env[cli->nenv] = NULL;
}

static error_t
set(struct reading *r, int key, char *arg, struct argp_state *state)
{
	for (int i = 0; i < NROW; i++) {
		const struct option_row *row = &rows[i];
		void *at = (char *)r->cli + row->at;

		if (row->key != key || !takes(r->command, row))
			continue;
		if (row->how == FLAG)
			*(bool *)at = true;
		else if (row->how == TEXT)
			*(const char **)at = arg;
		else
			add_env(r->cli, arg, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- a command's own line ---- */

static error_t
on_argument(int key, char *arg, struct argp_state *state)
{
	struct reading *r = state->input;
	const struct command *c = r->command;
	struct cli *cli = r->cli;

	switch (key) {
	case ARGP_KEY_ARG:
		if (cli->narg >= c->max)
			argp_error(state, "one argument too many: %s", arg);
		cli->arg[cli->narg++] = arg;
		if (c->rest == 0 || cli->narg < c->rest)
			return 0;
		/* The rest isn't ours; a -- before it is. */
		if (state->next < state->argc &&
		    strcmp(state->argv[state->next], "--") == 0)
			state->next++;
		while (state->next < state->argc)
			cli->arg[cli->narg++] = state->argv[state->next++];
		return 0;
	case ARGP_KEY_END:
		if (cli->narg < c->min)
			argp_error(state, "too few arguments: %s", c->args);
		return 0;
	default:
		return set(r, key, arg, state);
	}
}

/* argp's own table from the rows that this command takes. */
static void
fill(struct argp_option *out, const struct command *c)
{
	for (int i = 0; i < NROW; i++)
		if (takes(c, &rows[i]))
			*out++ = (struct argp_option){ .name = rows[i].name,
				.key = rows[i].key,
				.arg = rows[i].value,
				.doc = rows[i].text };
	*out = (struct argp_option){ 0 };
}

static void
read_command(struct reading *r)
{
	const struct command *c = r->command;
	struct argp_option option[NROW + 1];
	struct argp argp = { option, on_argument, c->args, c->text };
	char *name = xasprintf("hutch %s", c->name);

	fill(option, c);
	r->cli->arg = xcalloc((size_t)r->nrest + 2, sizeof(char *));
	/* argp takes the first word for the program's name. */
	r->rest[-1] = name;
	argp_parse(&argp, r->nrest + 1, r->rest - 1, ARGP_IN_ORDER, NULL, r);
	r->rest[-1] = (char *)c->name;
	free(name);
}

/* ---- the words before it ---- */

static void
no_command(struct argp_state *state, const char *word, const char *next)
{
	auto_str struct str family = { 0 };
	size_t n = strlen(word);

	for (const struct command *c = commands; c->name != NULL; c++)
		if (strncmp(c->name, word, n) == 0 && c->name[n] == ' ')
			str_printf(&family, "%s%s", family.len > 0 ? ", " : "",
			    c->name);
	if (family.len > 0)
		argp_error(state, "%s%s%s: no command; there are %s", word,
		    next != NULL ? " " : "", next != NULL ? next : "",
		    family.at);
	argp_error(state, "no command \"%s\"", word);
}

static error_t
on_command(int key, char *arg, struct argp_state *state)
{
	struct reading *r = state->input;
	char *two = NULL;

	switch (key) {
	case ARGP_KEY_ARG:
		r->command = cli_find(arg);
		if (r->command == NULL && state->next < state->argc) {
			two = xasprintf("%s %s", arg, state->argv[state->next]);
			r->command = cli_find(two);
			free(two);
			if (r->command != NULL)
				state->next++;
		}
		if (r->command == NULL)
			no_command(state, arg,
			    state->next < state->argc ? state->argv[state->next]
						      : NULL);
		r->rest = state->argv + state->next;
		r->nrest = state->argc - state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return set(r, key, arg, state);
	}
}

static char *
describe(void)
{
	struct str s = { 0 };

	str_puts(&s,
	    "Isolated sandboxes for agents, on this host.\vCommands:\n");
	for (const struct command *c = commands; c->name != NULL; c++)
		if (!(c->takes & TAKES_HIDDEN))
			str_printf(&s, "  %-14s %s\n", c->name, c->text);
	str_puts(&s,
	    "\n`hutch COMMAND --help' tells a command's options.  The\n"
	    "environment may hold HUTCH_ROOT, HUTCH_SOCKET, HUTCH_URL and\n"
	    "HUTCH_TOKEN.  See hutch(1).");
	return str_take(&s);
}

/* What the command line says of the daemon beats the environment whole. */
static void
where(struct cli *cli)
{
	struct cli said = *cli;

	if (said.root == NULL && said.socket == NULL && said.url == NULL) {
		cli->root = getenv("HUTCH_ROOT");
		cli->socket = getenv("HUTCH_SOCKET");
		cli->url = getenv("HUTCH_URL");
	}
	cli->token = getenv("HUTCH_TOKEN");
	if (cli->url != NULL && strncmp(cli->url, "http://", 7) != 0 &&
	    strncmp(cli->url, "https://", 8) != 0) {
		fprintf(stderr,
		    "hutch: %s: a URL must begin with http:// or https://\n",
		    cli->url);
		exit(CLI_USAGE);
	}
}

void
options_read(struct cli *cli, int argc, char **argv)
{
	struct argp_option option[NROW + 1];
	struct argp argp = { option, on_command, "COMMAND [ARG...]", NULL };
	struct reading r = { .cli = cli };
	char *doc = describe();

	argp.doc = doc;
	argp_err_exit_status = CLI_USAGE;
	fill(option, NULL);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r);
	free(doc);
	cli->command = r.command;
	read_command(&r);
	where(cli);
}

void
options_free(struct cli *cli)
{
	for (size_t i = 0; i < cli->nenv; i++)
		free(cli->env[i]);
	free(cli->env);
	free(cli->arg);
}
