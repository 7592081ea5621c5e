/*
 * options: hutchd's command line, and the configuration it leads to.
 */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdbool.h>

struct config;
struct err;

struct options {
	const char *root, *config, *env_file, *env_default, *log_level;
	const char *libexec;
	bool check, print, reset, help, version, help_options, help_mdoc;
};

int options_parse(struct options *, int argc, char **argv, struct err *);
void options_usage(void);
/*
 * Defaults, then the file, env_default, the environment, env_file, and what
 * the command line says; later ones win.  Checked.  NULL: err.
 */
struct config *options_config(const struct options *, struct err *);

#endif
