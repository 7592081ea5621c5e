#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "conf/conf.h"
#include "manager/env.h"
#include "manager/image.h"
#include "wire/broker.h"

/* The most that goes into a Setup frame with room to spare. */
#define ENV_BYTES (128 * 1024)

static const char *const defaults[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/root",
	"LANG=C.UTF-8",
	"WORKSPACE_DIR=/workspace",
	"NODE_ENV=production",
	NULL,
};

struct growing {
	char **at;
	size_t n, bytes;
};

static bool
same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

static void
put(struct growing *g, const char *pair)
{
	if (strchr(pair, '=') == NULL || *pair == '=')
		return;
	g->bytes += strlen(pair) + 16;
	if (g->bytes > ENV_BYTES)
		return;
	for (size_t i = 0; i < g->n; i++)
		if (same_name(g->at[i], pair)) {
			free(g->at[i]);
			g->at[i] = xstrdup(pair);
			return;
		}
	g->at = xrealloc(g->at, (g->n + 2) * sizeof *g->at);
	g->at[g->n++] = xstrdup(pair);
	g->at[g->n] = NULL;
}

static void
put_all(struct growing *g, const char *const *pairs)
{
	for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i++)
		put(g, pairs[i]);
}

char **
env_make(const struct config *c, const struct conf_type *type,
    const struct image *image, const char *const *request)
{
	struct growing g = { 0 };
	char timeout[32];

	put_all(&g, defaults);
	snprintf(timeout, sizeof timeout, "NGINX_TIMEOUT=%u", c->timeout);
	put(&g, timeout);
	if (image != NULL)
		put_all(&g, (const char *const *)image->env);
	for (size_t i = 0; i < type->env.n; i++)
		put(&g, type->env.at[i]);
	put_all(&g, request);
	return g.at;
}

void
env_free(char **env)
{
	for (char **e = env; e != NULL && *e != NULL; e++)
		free(*e);
	free(env);
}

/* "HOST:INSIDE" of the configuration, which conf has checked. */
static bool
mount_parse(const char *text, struct broker_mount *m)
{
	const char *colon = strrchr(text, ':');

	memset(m, 0, sizeof *m);
	if (colon == NULL || (size_t)(colon - text) >= sizeof m->from ||
	    strlen(colon + 1) >= sizeof m->at)
		return false;
	memcpy(m->from, text, (size_t)(colon - text));
	strcpy(m->at, colon + 1);
	m->readonly = 1;
	return true;
}

size_t
mounts_make(const struct config *c, const char *dir, struct broker_mount *out)
{
	size_t n = 0;

	if (dir[0] != '\0') {
		memset(&out[n], 0, sizeof out[n]);
		snprintf(out[n].from, sizeof out[n].from, "%s", dir);
		strcpy(out[n].at, "/workspace");
		n++;
	}
	for (size_t i = 0; i < c->readonly_mounts.n && n < BROKER_MOUNTS; i++)
		n += mount_parse(c->readonly_mounts.at[i], &out[n]);
	return n;
}
