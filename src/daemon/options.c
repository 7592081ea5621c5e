#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "daemon/options.h"

#define CONFIG_FILE SYSCONFDIR "/hutch/hutch.conf"

OWN_DEFINE(struct config, conf_free)

/* clang-format off */
static const struct row {
	const char	*name, *value;	/* value NULL: a switch */
	size_t		 offset;
	const char	*text;
} rows[] = {
#define AT(f) offsetof(struct options, f)
	{ "root",		"DIR",	AT(root),	"everything this daemon keeps; default /var/lib/hutch" },
	{ "config",		"FILE",	AT(config),	"default " CONFIG_FILE ", if there is one" },
	{ "env-default",	"FILE",	AT(env_default), "NAME=VALUE lines that the environment beats" },
	{ "env-file",		"FILE",	AT(env_file),	"NAME=VALUE lines that beat the environment" },
	{ "log-level",		"LEVEL", AT(log_level),	"error, warning, notice, info or debug" },
	{ "libexec",		"DIR",	AT(libexec),	"where hutch-front, hutch-fetch, hutch-model and hutch-agent are" },
	{ "check-config",	NULL,	AT(check),	"say whether the configuration is right, and leave" },
	{ "print-config",	NULL,	AT(print),	"write the configuration as it came out, and leave" },
	{ "reset",		NULL,	AT(reset),	"remove all that the daemon of this root ever made, and leave" },
	{ "foreground",		NULL,	(size_t)-1,	"what it does anyway" },
	{ "help-options",	NULL,	AT(help_options), "every option of the configuration, and leave" },
	{ "help-mdoc",		NULL,	AT(help_mdoc),	"the same for a manual page" },
	{ "help",		NULL,	AT(help),	"this text" },
	{ "version",		NULL,	AT(version),	"which hutchd this is" },
#undef AT
};
/* clang-format on */

#define ROWS (sizeof rows / sizeof *rows)

/* The working directory is about to become "/".  Kept for good. */
static int
absolute(const char **path, struct err *err)
{
	auto_free char *cwd = NULL;

	if (*path == NULL || **path == '/')
		return 0;
	cwd = getcwd(NULL, 0);
	if (cwd == NULL)
		return err_sys(err, "working directory");
	*path = xasprintf("%s/%s", cwd, *path);
	return 0;
}

static int
absolute_all(struct options *o, struct err *err)
{
	const char **const paths[] = { &o->root, &o->config, &o->env_file,
		&o->env_default, &o->libexec };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (absolute(paths[i], err) < 0)
			return -1;
	return 0;
}

int
options_parse(struct options *o, int argc, char **argv, struct err *err)
{
	struct option table[ROWS + 1] = { { 0 } };
	int at;

	*o = (struct options){ .libexec = PKGLIBEXECDIR };
	for (size_t i = 0; i < ROWS; i++)
		table[i] = (struct option){ rows[i].name,
			rows[i].value != NULL ? required_argument : no_argument,
			NULL, 1 };
	for (;;) {
		int c = getopt_long(argc, argv, "", table, &at);
		char *base = (char *)o;

		if (c == -1)
			break;
		if (c != 1)
			return err_set(err, ERR_INVALID,
			    "see hutchd --help for what it takes");
		if (rows[at].offset == (size_t)-1)
			continue;
		if (rows[at].value != NULL)
			*(const char **)(base + rows[at].offset) = optarg;
		else
			*(bool *)(base + rows[at].offset) = true;
	}
	if (optind != argc)
		return err_set(err, ERR_INVALID, "%s: not an option",
		    argv[optind]);
	return absolute_all(o, err);
}

void
options_usage(void)
{
	puts("hutchd, the daemon of hutch.  Usage: hutchd [--OPTION ...]");
	for (size_t i = 0; i < ROWS; i++)
		printf("  --%-14s %-6s %s\n", rows[i].name,
		    rows[i].value != NULL ? rows[i].value : "", rows[i].text);
}

static int
read_all(const struct options *o, struct config *c, struct err *err)
{
	const char *file = o->config;

	if (file == NULL && access(CONFIG_FILE, F_OK) == 0)
		file = CONFIG_FILE;
	if (file != NULL && conf_read_file(c, file, err) < 0)
		return -1;
	if (o->env_default != NULL &&
	    conf_read_env_file(c, o->env_default, err) < 0)
		return -1;
	if (conf_read_environ(c, environ, err) < 0)
		return -1;
	if (o->env_file != NULL && conf_read_env_file(c, o->env_file, err) < 0)
		return -1;
	if (o->root != NULL && conf_set(c, "", "root", o->root, err) < 0)
		return -1;
	if (o->log_level != NULL &&
	    conf_set(c, "", "log_level", o->log_level, err) < 0)
		return -1;
	return conf_check(c, err);
}

struct config *
options_config(const struct options *o, struct err *err)
{
	own(conf_free) struct config *c = conf_new();

	return read_all(o, c, err) < 0 ? NULL : take_ptr(&c);
}
