/*
 * env: environments, NULL-ended arrays of "NAME=value".
 */
#ifndef AGENT_ENV_H
#define AGENT_ENV_H

#include <stddef.h>

struct arg;

/* base with the items of list over it (which may be NULL).  Yours to free;
 * the text is base's and the list's. */
char **env_over(char *const *base, const struct arg *list);
const char *env_get(char *const *env, const char *name); /* NULL: not set */

#endif
