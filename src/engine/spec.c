#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/config.h"
#include "engine/spec.h"
#include "json/jtext.h"

enum kind { TEXT, COUNT, WORD, LIST, ENV, OBJECT };

#define AT(member) offsetof(struct spec, member)
#define ITEMS_MAX 1024

/* clang-format off */
static const struct row {
	const char *name;
	enum kind kind;
	size_t at;
	uint32_t max;		/* characters; or the number */
	uint32_t min;
	const char *words;
} rows[] = {
	{ "title",	   TEXT,   AT(title),	      200, 0, NULL },
	{ "description",   TEXT,   AT(description),   4000, 0, NULL },
	{ "path",	   TEXT,   AT(path),	      200, 0, NULL },
	{ "type",	   TEXT,   AT(type),	      31, 0, NULL },
	{ "image",	   TEXT,   AT(image),	      255, 0, NULL },
	{ "net",	   WORD,   AT(net),	      0, 0, "none nat" },
	{ "entry",	   TEXT,   AT(entry),	      255, 0, NULL },
	{ "command",	   LIST,   AT(command),	      4096, 0, NULL },
	{ "env",	   ENV,	   AT(env),	      0, 0, NULL },
	{ "options",	   OBJECT, AT(options),	      0, 0, NULL },
	{ "processes",	   COUNT,  AT(processes),     256, 1, NULL },
	{ "max_runs",	   COUNT,  AT(max_runs),      1000000, 1, NULL },
	{ "run_timeout",   COUNT,  AT(run_timeout),   365u * 86400, 0, NULL },
	{ "keep",	   COUNT,  AT(keep),	      64u << 20, 0, NULL },
	{ "on_disconnect", WORD,   AT(on_disconnect), 0, 0, "cancel continue" },
};
/* clang-format on */
enum { NROWS = sizeof rows / sizeof *rows };

static void
list_free(char **list)
{
	for (size_t i = 0; list != NULL && list[i] != NULL; i++)
		free(list[i]);
	free(list);
}

void
spec_free(struct spec *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < NROWS; i++) {
		void *at = (char *)s + rows[i].at;

		if (rows[i].kind == TEXT || rows[i].kind == WORD)
			free(*(char **)at);
		else if (rows[i].kind == LIST || rows[i].kind == ENV)
			list_free(*(char ***)at);
	}
	free(s->name);
	json_decref(s->json);
	free(s);
}

bool
spec_name_ok(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > SPEC_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)name[i]) &&
		    !isdigit((unsigned char)name[i]) &&
		    (i == 0 || (name[i] != '_' && name[i] != '-')))
			return false;
	return true;
}

/* ---- kinds ---- */

static int
take_text(const struct row *r, const json_t *v, char **at, struct err *err)
{
	const char *text = jtext_cstring(v);

	if (text == NULL || strlen(text) > r->max)
		return err_set(err, ERR_INVALID,
		    "%s: takes text of at most %u characters", r->name, r->max);
	*at = xstrdup(text);
	return 0;
}

static int
take_word(const struct row *r, const json_t *v, char **at, struct err *err)
{
	const char *text = jtext_cstring(v), *w = r->words;

	while (text != NULL && *w != '\0') {
		size_t n = strcspn(w, " ");

		if (strlen(text) == n && memcmp(text, w, n) == 0) {
			*at = xstrdup(text);
			return 0;
		}
		w += n + (w[n] == ' ');
	}
	return err_set(err, ERR_INVALID, "%s: takes one of: %s", r->name,
	    r->words);
}

static int
take_count(const struct row *r, const json_t *v, uint32_t *at, struct err *err)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < r->min || n > r->max)
		return err_set(err, ERR_INVALID,
		    "%s: takes a number from %u to %u", r->name, r->min,
		    r->max);
	*at = (uint32_t)n;
	return 0;
}

static int
take_list(const struct row *r, const json_t *v, char ***at, struct err *err)
{
	size_t n = json_array_size(v);

	if (!json_is_array(v) || n == 0 || n > ITEMS_MAX)
		return err_set(err, ERR_INVALID,
		    "%s: takes a list of 1 to %d texts", r->name, ITEMS_MAX);
	*at = xcalloc(n + 1, sizeof **at);
	for (size_t i = 0; i < n; i++) {
		const char *text = jtext_cstring(json_array_get(v, i));

		if (text == NULL || strlen(text) > r->max)
			return err_set(err, ERR_INVALID,
			    "%s: item %zu is no text", r->name, i);
		(*at)[i] = xstrdup(text);
	}
	return 0;
}

static int
take_env(const struct row *r, json_t *v, char ***at, struct err *err)
{
	const char *name;
	json_t *value;
	size_t n = 0;

	if (!json_is_object(v) || json_object_size(v) > ITEMS_MAX)
		return err_set(err, ERR_INVALID,
		    "%s: takes an object of names and texts", r->name);
	*at = xcalloc(json_object_size(v) + 1, sizeof **at);
	json_object_foreach(v, name, value) {
		const char *text = jtext_cstring(value);

		if (text == NULL || *name == '\0' || strchr(name, '=') != NULL)
			return err_set(err, ERR_INVALID,
			    "%s: %.60s: takes a name and a text", r->name,
			    name);
		(*at)[n++] = xasprintf("%s=%s", name, text);
	}
	return 0;
}

static int
take(const struct row *r, json_t *v, struct spec *s, struct err *err)
{
	void *at = (char *)s + r->at;

	switch (r->kind) {
	case TEXT:
		return take_text(r, v, at, err);
	case WORD:
		return take_word(r, v, at, err);
	case COUNT:
		return take_count(r, v, at, err);
	case LIST:
		return take_list(r, v, at, err);
	case ENV:
		return take_env(r, v, at, err);
	case OBJECT:
		if (!json_is_object(v))
			return err_set(err, ERR_INVALID, "%s: takes an object",
			    r->name);
		*(json_t **)at = v;
		return 0;
	}
	return 0;
}

/* ---- the whole ---- */

static const struct row *
row_find(const char *name)
{
	for (size_t i = 0; i < NROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static void
set_default(char **at, const char *text)
{
	if (*at == NULL)
		*at = xstrdup(text);
}

bool
spec_path_ok(const char *path)
{
	return path[0] == '/' && path[1] != '\0' &&
	    path[strlen(path) - 1] != '/';
}

static int
check(struct spec *s, const struct config *c, struct err *err)
{
	set_default(&s->title, "");
	set_default(&s->description, "");
	set_default(&s->path, "");
	set_default(&s->type, "app");
	set_default(&s->entry, "");
	set_default(&s->on_disconnect, c->on_disconnect);
	if (*s->path != '\0' && !spec_path_ok(s->path))
		return err_set(err, ERR_INVALID,
		    "path: takes one that begins with / and does not end "
		    "with it");
	if (s->entry[0] == '/' || strstr(s->entry, "..") != NULL)
		return err_set(err, ERR_INVALID,
		    "entry: takes a file's name in the code");
	if (s->processes > c->agent_processes)
		return err_set(err, ERR_LIMIT,
		    "processes: at most %u (agent_processes)",
		    c->agent_processes);
	if (s->max_runs == 0 || s->max_runs > c->agent_runs)
		s->max_runs = c->agent_runs;
	return 0;
}

struct spec *
spec_read(const char *name, json_t *o, const struct config *c, struct err *err)
{
	struct spec *s;
	const char *key;
	json_t *v;

	if (!spec_name_ok(name)) {
		err_set(err, ERR_INVALID,
		    "an agent's name is 1 to %d of a-z 0-9 _ -", SPEC_NAME_MAX);
		return NULL;
	}
	if (!json_is_object(o)) {
		err_set(err, ERR_INVALID, "the options are no object");
		return NULL;
	}
	s = xcalloc(1, sizeof *s);
	s->name = xstrdup(name);
	s->processes = 1;
	s->run_timeout = c->run_timeout;
	json_object_foreach(o, key, v) {
		const struct row *r = row_find(key);

		if (json_is_null(v))
			continue;
		if (r == NULL) {
			err_set(err, ERR_INVALID, "there is no option %.60s",
			    key);
			spec_free(s);
			return NULL;
		}
		if (take(r, v, s, err) < 0) {
			spec_free(s);
			return NULL;
		}
	}
	if (check(s, c, err) < 0) {
		spec_free(s);
		return NULL;
	}
	s->json = o;
	return s;
}
