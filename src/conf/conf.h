/*
 * conf: what the operator told us.
 *
 * Read by root from hutch.conf, an env file and the environment, through one
 * typed table (option.c); handed to the front as conf_print() writes it.
 * The text is root's own or an operator's: never a byte from network or guest.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "conf/config.h"

struct err;

struct config *conf_new(void); /* the defaults */
void conf_free(struct config *);
/* The file, inih's syntax.  Errors name file, line, option and what it takes. */
int conf_read_file(struct config *, const char *path, struct err *);
/* The same from an open descriptor: how the front reads it. */
int conf_read_fd(struct config *, int fd, const char *name, struct err *);
/*
 * NAME=VALUE lines; upstream's names (spec 5.1), or HUTCH_<OPTION>.  Unknown
 * names are ignored, empty values are not said.  Later calls beat earlier ones.
 */
int conf_read_env_file(struct config *, const char *path, struct err *);
int conf_read_environ(struct config *, char *const *environ, struct err *);
int conf_set(struct config *, const char *section, const char *key,
    const char *value, struct err *);
/* more: a list keeps what it has; anything else is given twice. */
int conf_put(struct config *, const char *section, const char *key,
    const char *value, bool more, struct err *);
/*
 * After all reading: what only the whole shows, and what follows from it (the
 * bearer token becomes tenant "default", and is wiped; paths and images that
 * were left open are filled in).
 */
int conf_check(struct config *, struct err *);
/* What has been checked, as a file that conf_read_fd reads back to the same. */
void conf_print(const struct config *, FILE *);
/*
 * In a process that runs: takes over, in place, what may change while it does;
 * what waits for the next start stays, and the log says so.  What is replaced
 * lives as long as now does: others may point into it.  fresh is consumed.
 */
void conf_adopt(struct config *now, struct config *fresh);
/* One line an option: name, type, range, default, what it is for. */
void conf_help(FILE *);
void conf_help_mdoc(FILE *); /* the same as rows of a manual's list */
/* NAME, or for NAME_async the type NAME. */
const struct conf_type *conf_type_find(const struct config *, const char *);

#endif
