#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "conf/models.h"
#include "conf/section.h"

#define DEFAULT_ROOT "/var/lib/hutch"
#define DEFAULT_SOCKET "/run/hutch/api.sock"
#define SOCKET_MAX 107 /* sun_path */

/* Upstream's types, and one for the code of agents, which has base's image; the
 * rest wait for an image. */
static const char *const builtin[] = { "base", "app", "gui", "browser",
	"filesystem", "mobile", "appworld", "bfcl" };

static void *
field(const struct option *o, void *base)
{
	return (char *)base + o->offset;
}

struct config *
conf_new(void)
{
	struct config *c = xcalloc(1, sizeof *c);

	section_defaults(OPTION_MAIN, c);
	for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
		section_at(c, OPTION_TYPE, builtin[i]);
	return c;
}

void
conf_free(struct config *c)
{
	if (c == NULL)
		return;
	for (int i = 0; i < OPTION_SCOPES; i++)
		section_free(c, i);
	conf_free(c->before);
	free(c);
}

static void
warn_idle(struct config *c, const struct option *o)
{
	uint64_t bit = 1;

	if (o->rule.kind != VALUE_IDLE)
		return;
	for (const struct option *i = option_table(OPTION_MAIN); i < o; i++)
		if (i->rule.kind == VALUE_IDLE)
			bit <<= 1;
	if (!(c->warned & bit))
		log_say(LOG_WARN, o->text, "option", o->name, NULL);
	c->warned |= bit;
}

int
conf_put(struct config *c, const char *section, const char *key,
    const char *value, bool more, struct err *err)
{
	const struct option *o;
	enum option_scope scope;
	void *base = section_base(c, section, &scope, err);
	int r;

	if (base == NULL)
		return -1;
	o = option_find(scope, key);
	if (o == NULL)
		return err_set(err, ERR_INVALID, "%.40s: no such option%s%s",
		    key, *section != '\0' ? " in section " : "", section);
	if (more && !value_is_list(&o->rule))
		return err_set(err, ERR_INVALID, "%s: given twice", key);
	r = more ? value_add(&o->rule, field(o, base), value, err)
		 : value_set(&o->rule, field(o, base), value, err);
	if (r < 0 && o->rule.kind == VALUE_ONLY)
		return err_set(err, ERR_DENIED,
		    "%s: takes only %s; not \"%.40s\": %s", key, o->rule.words,
		    value, o->text);
	if (r < 0)
		return err_wrap(err, "%s", key);
	if (scope == OPTION_MAIN)
		warn_idle(c, o);
	return 0;
}

int
conf_set(struct config *c, const char *section, const char *key,
    const char *value, struct err *err)
{
	return conf_put(c, section, key, value, false, err);
}

const struct conf_type *
conf_type_find(const struct config *c, const char *name)
{
	static const char suffix[] = "_async";
	size_t n = strlen(name), tail = sizeof suffix - 1;

	for (size_t i = 0; i < c->ntype; i++)
		if (strcmp(c->type[i].name, name) == 0)
			return &c->type[i];
	if (n <= tail || strcmp(name + n - tail, suffix) != 0)
		return NULL;
	for (size_t i = 0; i < c->ntype; i++)
		if (strlen(c->type[i].name) == n - tail &&
		    memcmp(c->type[i].name, name, n - tail) == 0)
			return &c->type[i];
	return NULL;
}

/* ---- what only the whole shows ---- */

static void
text_become(char **at, char *fresh)
{
	free(*at);
	*at = fresh;
}

static int
check_host(const struct config *c, const char *option, char **host,
    struct err *err)
{
	uint8_t at[16];
	bool loopback;

	if (strcmp(*host, "localhost") == 0)
		text_become(host, xstrdup("127.0.0.1"));
	if (inet_pton(AF_INET, *host, at) == 1)
		loopback = at[0] == 127;
	else if (inet_pton(AF_INET6, *host, at) == 1)
		loopback = strcmp(*host, "::1") == 0;
	else
		return err_set(err, ERR_INVALID,
		    "%s: takes a numeric address or localhost; not \"%s\"",
		    option, *host);
	if (!loopback && c->ntenant == 0)
		return err_set(err, ERR_DENIED,
		    "%s: %s can be reached from outside: set bearer_token "
		    "or a [tenant NAME] first",
		    option, *host);
	return 0;
}

static int
check_listen(struct config *c, struct err *err)
{
	if (check_host(c, "host", &c->host, err) < 0 ||
	    check_host(c, "agent_host", &c->agent_host, err) < 0)
		return -1;
	if (c->socket[0] == '\0')
		text_become(&c->socket,
		    strcmp(c->root, DEFAULT_ROOT) == 0
			? xstrdup(DEFAULT_SOCKET)
			: xasprintf("%s/run/api.sock", c->root));
	if (strlen(c->socket) > SOCKET_MAX)
		return err_set(err, ERR_LIMIT,
		    "socket: %s is longer than %d characters", c->socket,
		    SOCKET_MAX);
	return 0;
}

static int
take_bearer(struct config *c, struct err *err)
{
	static const uint8_t none[SHA256_BYTES];
	uint8_t digest[SHA256_BYTES];
	struct conf_tenant *t;

	if (c->bearer_token == NULL || c->bearer_token[0] == '\0')
		return 0;
	sha256(digest, c->bearer_token, strlen(c->bearer_token));
	explicit_bzero(c->bearer_token, strlen(c->bearer_token));
	text_become(&c->bearer_token, NULL);
	t = section_at(c, OPTION_TENANT, "default");
	if (t == NULL)
		return err_set(err, ERR_LIMIT,
		    "bearer_token: there are %d tenants already", CONF_TENANTS);
	if (memcmp(t->token_sha256, none, sizeof none) != 0 &&
	    memcmp(t->token_sha256, digest, sizeof digest) != 0)
		return err_set(err, ERR_INVALID,
		    "bearer_token: [tenant default] has another token_sha256");
	memcpy(t->token_sha256, digest, sizeof digest);
	return 0;
}

static int
check_tenants(const struct config *c, struct err *err)
{
	static const uint8_t none[SHA256_BYTES];

	for (size_t i = 0; i < c->ntenant; i++) {
		const struct conf_tenant *t = &c->tenant[i];

		if (memcmp(t->token_sha256, none, sizeof none) == 0)
			return err_set(err, ERR_INVALID,
			    "[tenant %s]: token_sha256 is missing", t->name);
		for (size_t j = 0; j < i; j++)
			if (memcmp(t->token_sha256, c->tenant[j].token_sha256,
				sizeof none) == 0)
				return err_set(err, ERR_INVALID,
				    "[tenant %s]: the same token as [tenant "
				    "%s]",
				    t->name, c->tenant[j].name);
	}
	return 0;
}

static bool
is_builtin(const char *name)
{
	for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++)
		if (strcmp(builtin[i], name) == 0)
			return true;
	return false;
}

static char *
base_image(const struct config *c)
{
	return xasprintf("%s%s%s/runtime-sandbox-base:%s", c->image_registry,
	    *c->image_registry != '\0' ? "/" : "", c->image_namespace,
	    c->image_tag);
}

static int
check_types(struct config *c, struct err *err)
{
	const struct conf_type *base = conf_type_find(c, "base");

	for (size_t i = 0; i < c->ntype; i++) {
		struct conf_type *t = &c->type[i];

		if (t->image != NULL && *t->image != '\0')
			continue;
		if (t == base)
			text_become(&t->image, base_image(c));
		else if (strcmp(t->name, "app") == 0) /* as base has it */
			text_become(&t->image,
			    base != NULL && base->image != NULL &&
				    *base->image != '\0'
				? xstrdup(base->image)
				: base_image(c));
		else if (is_builtin(t->name))
			text_become(&t->image, xstrdup(""));
		else
			return err_set(err, ERR_INVALID,
			    "[type %s]: image is missing", t->name);
	}
	for (size_t i = 0; i < c->default_types.n; i++)
		if (conf_type_find(c, c->default_types.at[i]) == NULL)
			return err_set(err, ERR_INVALID,
			    "default_sandbox_type: no type \"%s\"; a [type "
			    "NAME] would make one",
			    c->default_types.at[i]);
	if (c->default_types.n == 0)
		return err_set(err, ERR_INVALID,
		    "default_sandbox_type: takes at least one type");
	return 0;
}

static bool
below(const struct conf_list *dirs, const char *path)
{
	for (size_t i = 0; i < dirs->n; i++) {
		size_t n = strlen(dirs->at[i]);

		if (strncmp(path, dirs->at[i], n) == 0 &&
		    (path[n] == '/' || path[n] == '\0' ||
			dirs->at[i][n - 1] == '/'))
			return true;
	}
	return false;
}

static int
check_mounts(struct config *c, struct err *err)
{
	const char *dir = c->default_mount_dir;

	if (*dir != '\0' && *dir != '/') {
		log_say(LOG_WARN,
		    "default_mount_dir is relative: workspaces are kept in "
		    "the store",
		    "value", dir, NULL);
		text_become(&c->default_mount_dir, xstrdup(""));
	} else if (*dir != '\0' && !below(&c->mount_allow, dir)) {
		return err_set(err, ERR_DENIED,
		    "default_mount_dir: %s is not below a directory of "
		    "mount_allow",
		    dir);
	}
	return 0;
}

static int
check_rest(const struct config *c, struct err *err)
{
	for (const char *p = c->prefix; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr("_.-", *p) == NULL)
			return err_set(err, ERR_INVALID,
			    "container_prefix: takes letters, digits, _ . -; "
			    "not \"%s\"",
			    c->prefix);
	if (c->id_base % 65536 != 0)
		return err_set(err, ERR_INVALID,
		    "id_base: takes a multiple of 65536; not %u", c->id_base);
	return 0;
}

/* How many directories deep a path leads; links are not looked at. */
static size_t
depth(const char *path)
{
	size_t deep = 0;

	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			deep -= deep > 0;
		else if (n > 1 || (n == 1 && path[0] != '.'))
			deep++;
		path += n + (path[n] == '/');
	}
	return deep;
}

/* The host's own root is nobody's to make or to reset. */
static int
check_root(struct config *c, struct err *err)
{
	size_t n = strlen(c->root);

	while (n > 0 && c->root[n - 1] == '/')
		n--;
	if (depth(c->root) == 0 || isblank((unsigned char)c->root[n - 1]))
		return err_set(err, ERR_INVALID,
		    "root: takes a directory of its own; not \"%s\"", c->root);
	c->root[n] = '\0';
	return 0;
}

int
conf_check(struct config *c, struct err *err)
{
	if (check_root(c, err) < 0)
		return -1;
	if (take_bearer(c, err) < 0 || check_tenants(c, err) < 0 ||
	    check_listen(c, err) < 0 || check_types(c, err) < 0 ||
	    check_mounts(c, err) < 0 || check_models(c, err) < 0)
		return -1;
	return check_rest(c, err);
}

/* ---- printing ---- */

static void
print_options(enum option_scope scope, const void *base, FILE *out)
{
	for (const struct option *o = option_table(scope); o->name != NULL; o++)
		value_print(&o->rule, (const char *)base + o->offset, o->name,
		    out);
}

void
conf_print(const struct config *c, FILE *out)
{
	print_options(OPTION_MAIN, c, out);
	for (int scope = OPTION_MAIN + 1; scope < OPTION_SCOPES; scope++)
		for (size_t i = 0; i < section_count(c, scope); i++) {
			const void *section = section_nth(c, scope, i);

			fprintf(out, "\n[%s %s]\n", section_word(scope),
			    *(char *const *)section);
			print_options(scope, section, out);
		}
}
