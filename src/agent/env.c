#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/env.h"
#include "agent/tool.h"
#include "base/str.h"

static size_t
name_len(const char *pair)
{
	return strcspn(pair, "=");
}

static size_t
put(char **env, size_t n, const char *pair)
{
	size_t len = name_len(pair), i;

	if (len == 0 || pair[len] != '=')
		return n;
	for (i = 0; i < n; i++)
		if (strncmp(env[i], pair, len + 1) == 0)
			break;
	env[i] = (char *)(uintptr_t)pair;
	return i == n ? n + 1 : n;
}

char **
env_over(char *const *base, const struct arg *list)
{
	size_t n = 0, more = list != NULL ? list->nitem : 0, at = 0;
	char **env;

	while (base[n] != NULL)
		n++;
	env = xcalloc(n + more + 1, sizeof *env);
	for (size_t i = 0; i < n; i++)
		at = put(env, at, base[i]);
	for (size_t i = 0; i < more; i++)
		at = put(env, at, list->item[i].text);
	return env;
}

const char *
env_get(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env != NULL; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}
