#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/config.h"
#include "conf/section.h"

#define NAME_MAX_LEN 31

/* clang-format off */
static const struct row {
	const char *word;
	size_t at, n;	/* in struct config: the array, its length */
	size_t size, most;
} rows[OPTION_SCOPES] = {
#define ROW(word, field, struct_, most) \
	{ word, offsetof(struct config, field), \
	    offsetof(struct config, n##field), sizeof(struct_), most }
	[OPTION_TENANT]	= ROW("tenant", tenant, struct conf_tenant, CONF_TENANTS),
	[OPTION_TYPE]	= ROW("type", type, struct conf_type, CONF_TYPES),
	[OPTION_MODEL]	= ROW("model", model, struct conf_model, CONF_MODELS),
	[OPTION_AGENT]	= ROW("agent", agent, struct conf_agent, CONF_AGENTS),
#undef ROW
};
/* clang-format on */

static char **
array(const struct config *c, enum option_scope scope)
{
	return (char **)((uintptr_t)c + rows[scope].at);
}

static size_t *
length(const struct config *c, enum option_scope scope)
{
	return (size_t *)((uintptr_t)c + rows[scope].n);
}

const char *
section_word(enum option_scope scope)
{
	return rows[scope].word;
}

size_t
section_count(const struct config *c, enum option_scope scope)
{
	return *length(c, scope);
}

void *
section_nth(const struct config *c, enum option_scope scope, size_t i)
{
	return *array(c, scope) + i * rows[scope].size;
}

static char *
name_of(const void *section)
{
	char *name;

	memcpy(&name, section, sizeof name);
	return name;
}

void *
section_named(const struct config *c, enum option_scope scope, const char *name)
{
	for (size_t i = 0; i < *length(c, scope); i++) {
		void *section = section_nth(c, scope, i);

		if (strcmp(name_of(section), name) == 0)
			return section;
	}
	return NULL;
}

void
section_defaults(enum option_scope scope, void *base)
{
	struct err err;

	for (const struct option *o = option_table(scope); o->name != NULL; o++)
		if (o->value != NULL &&
		    value_set(&o->rule, (char *)base + o->offset, o->value,
			&err) < 0) {
			log_err(LOG_ERROR, &err, "default", "option", o->name,
			    NULL);
			abort();
		}
}

void *
section_at(struct config *c, enum option_scope scope, const char *name)
{
	const struct row *r = &rows[scope];
	void *section = section_named(c, scope, name);
	char **at = array(c, scope), *copy;
	size_t *n = length(c, scope);

	if (section != NULL || *n == r->most)
		return section;
	*at = xrealloc(*at, (*n + 1) * r->size);
	section = *at + *n * r->size;
	(*n)++;
	memset(section, 0, r->size);
	copy = xstrdup(name);
	memcpy(section, &copy, sizeof copy);
	section_defaults(scope, section);
	return section;
}

static void
release(enum option_scope scope, void *base)
{
	for (const struct option *o = option_table(scope); o->name != NULL; o++)
		value_free(&o->rule, (char *)base + o->offset);
}

void
section_free(struct config *c, enum option_scope scope)
{
	if (rows[scope].word == NULL) {
		release(scope, c);
		return;
	}
	for (size_t i = 0; i < *length(c, scope); i++) {
		void *section = section_nth(c, scope, i);

		free(name_of(section));
		release(scope, section);
	}
	free(*array(c, scope));
}

static bool
good_name(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)name[i]) &&
		    !isdigit((unsigned char)name[i]) && name[i] != '_' &&
		    name[i] != '-')
			return false;
	return true;
}

/* "[tenant NAME], [type NAME], ... or [agent NAME]" */
static void
words(struct str *out)
{
	for (int i = OPTION_MAIN + 1; i < OPTION_SCOPES; i++)
		str_printf(out, "%s[%s NAME]",
		    i == OPTION_MAIN + 1         ? ""
			: i == OPTION_SCOPES - 1 ? " or "
						 : ", ",
		    rows[i].word);
}

static enum option_scope
scope_of(const char *section, const char **name)
{
	for (int i = OPTION_MAIN + 1; i < OPTION_SCOPES; i++) {
		size_t n = strlen(rows[i].word);

		if (strncmp(section, rows[i].word, n) == 0 &&
		    section[n] == ' ' && good_name(section + n + 1)) {
			*name = section + n + 1;
			return i;
		}
	}
	return OPTION_MAIN;
}

void *
section_base(struct config *c, const char *section, enum option_scope *scope,
    struct err *err)
{
	auto_str struct str all = { 0 };
	const char *name = "";
	void *base;

	*scope = scope_of(section, &name);
	if (section[0] == '\0')
		return c;
	if (*scope == OPTION_MAIN) {
		words(&all);
		err_set(err, ERR_INVALID,
		    "section [%.60s]: takes %s, a name of at most %d of a-z "
		    "0-9 _ -",
		    section, str_text(&all), NAME_MAX_LEN);
		return NULL;
	}
	base = section_at(c, *scope, name);
	if (base == NULL)
		err_set(err, ERR_LIMIT, "section [%s]: too many of these",
		    section);
	return base;
}
