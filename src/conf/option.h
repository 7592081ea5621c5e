/*
 * option: the table of everything that can be configured.
 *
 * One row an option: where it is written, what the environment calls it, what
 * it takes, its default, and a sentence.  Parsing, checking, printing, help and
 * the manual's table are all driven by the rows.
 */
#ifndef CONF_OPTION_H
#define CONF_OPTION_H

#include <stddef.h>
#include "conf/value.h"

enum option_scope {
	OPTION_MAIN,
	OPTION_TENANT,
	OPTION_TYPE,
	OPTION_MODEL,
	OPTION_AGENT,
	OPTION_SCOPES
};

struct option {
	const char *name; /* in the file, lower case; NULL ends a table */
	const char *env;  /* upstream's name(s), space between; or NULL */
	size_t offset;    /* in config, conf_tenant, conf_type, ... */
	struct value_rule rule;
	const char *value; /* the default; NULL: there is none */
	const char *text;  /* for help; of VALUE_ONLY: why the rest is not */
};

const struct option *option_table(enum option_scope);
const struct option *option_find(enum option_scope, const char *name);
/* By a name of the environment, any case: upstream's, or HUTCH_<NAME>. */
const struct option *option_by_env(const char *name);

#endif
