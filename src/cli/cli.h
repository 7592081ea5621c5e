/*
 * cli: what every command is handed, and the table they stand in.
 *
 * A row says what may be said to a command before it runs: its options, how
 * many arguments, and from which on they are not ours to read.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct api;
struct err;

enum { /* exit statuses of our own; 0..255 may be a command's */
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_RUN_FAILED = 125 /* run, exec: the command never ran */
};

/* Everything that an option can say; a command's row lists which it takes. */
struct cli {
	const struct command *command;
	/* where */
	const char *root, *socket, *url, *token;
	struct api *api; /* opened by cli_api() */
	/* how */
	bool json, quiet, all, follow, force;
	bool tty, no_tty, input, no_input;
	/* what */
	const char *type, *net, *cwd, *mount_dir;
	/* agents */
	const char *name, *entry, *env_file, *config, *query, *session, *user;
	const char *title, *path, *image, *processes, *run_timeout, *leave;
	bool detach, verbose;
	char **env; /* NAME=value, NULL-ended; NULL: none */
	size_t nenv;
	char **arg; /* NULL-ended; narg of them */
	int narg;
	int status; /* of the command inside */
};

enum { /* bits of command.takes */
	TAKES_ALL = 1,
	TAKES_CREATE = 2, /* --type --net --mount-dir */
	TAKES_ENV = 4,
	TAKES_EXEC = 8, /* --tty --no-tty --no-input --cwd; ends as it does */
	TAKES_FOLLOW = 16,
	TAKES_FORCE = 32,
	TAKES_QUIET = 64,
	TAKES_HIDDEN = 128, /* not in the help */
	TAKES_AGENT = 256,  /* how an agent is deployed */
	TAKES_CHAT = 512    /* how one is spoken to */
};

#define DEFAULT_ROOT "/var/lib/hutch"
#define CLI_MANY 1000000

struct command {
	const char *name; /* "ps", "image import" */
	const char *args; /* as in the usage line */
	const char *text; /* one line */
	unsigned takes;
	int min, max;
	int rest; /* arguments before those that belong to a command; 0: none */
	int (*run)(struct cli *, struct err *);
};

/* Until .name is NULL. */
extern const struct command commands[];

struct api *cli_api(struct cli *);
/* The native socket of the daemon that is meant; yours to free. */
char *cli_socket(const struct cli *);
/* The directory this program was built in, if it still runs there, with all
 * the others beside it; else NULL.  Yours to free. */
char *cli_built(void);
/* On standard error, as text or JSON. */
void cli_complain(const struct cli *, const struct err *);
/* Prints it on standard output and takes it; returns 0. */
int cli_json(json_t *answer);
/* An error about a sandbox: which, and how to find those there are; -1. */
int cli_about(struct err *, const char *id);
const struct command *cli_find(const char *name);
/* NAME=value pairs as an object; a new reference. */
json_t *cli_env(const struct cli *);

/* run.c list.c life.c copy.c image.c agent*.c host.c complete.c */
int cmd_run(struct cli *, struct err *);
int cmd_create(struct cli *, struct err *);
int cmd_exec(struct cli *, struct err *);
int cmd_ps(struct cli *, struct err *);
int cmd_logs(struct cli *, struct err *);
int cmd_stats(struct cli *, struct err *);
int cmd_pause(struct cli *, struct err *);
int cmd_resume(struct cli *, struct err *);
int cmd_rm(struct cli *, struct err *);
int cmd_cp(struct cli *, struct err *);
int cmd_image_import(struct cli *, struct err *);
int cmd_image_export(struct cli *, struct err *);
int cmd_image_ls(struct cli *, struct err *);
int cmd_image_inspect(struct cli *, struct err *);
int cmd_image_rm(struct cli *, struct err *);
int cmd_agent_deploy(struct cli *, struct err *);
int cmd_agent_run(struct cli *, struct err *);
int cmd_agent_chat(struct cli *, struct err *);
int cmd_agent_invoke(struct cli *, struct err *);
int cmd_agent_list(struct cli *, struct err *);
int cmd_agent_status(struct cli *, struct err *);
int cmd_agent_logs(struct cli *, struct err *);
int cmd_agent_reload(struct cli *, struct err *);
int cmd_agent_stop(struct cli *, struct err *);
int cmd_model_stub(struct cli *, struct err *);
int cmd_doctor(struct cli *, struct err *);
int cmd_reset(struct cli *, struct err *);
int cmd_backup(struct cli *, struct err *);
int cmd_version(struct cli *, struct err *);
int cmd_completion(struct cli *, struct err *);
int cmd_complete(struct cli *, struct err *);

#endif
