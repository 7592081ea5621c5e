#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "model/endpoint.h"

static void
wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void
endpoint_hold(struct endpoint *e)
{
	e->users++;
}

void
endpoint_drop(struct endpoint *e)
{
	if (e == NULL || --e->users > 0)
		return;
	free(e->name);
	free(e->url);
	wipe(e->key);
	wipe(e->proxy);
	for (size_t i = 0; i < e->nheader; i++)
		wipe(e->header[i]);
	free(e->header);
	free(e);
}

void
endpoints_free(struct endpoints *t)
{
	for (size_t i = 0; i < t->n; i++)
		endpoint_drop(t->at[i]);
	endpoint_drop(t->traces);
	free(t->at);
	free(t->log);
	*t = (struct endpoints){ 0 };
}

struct endpoint *
endpoints_find(struct endpoints *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->at[i]->name, name) == 0) {
			endpoint_hold(t->at[i]);
			return t->at[i];
		}
	return NULL;
}

static struct endpoint *
endpoint_new(const char *name)
{
	struct endpoint *e = xcalloc(1, sizeof *e);

	e->name = xstrdup(name);
	e->url = xstrdup("");
	e->timeout = 600;
	e->stall = 120;
	e->most = 16;
	e->users = 1;
	return e;
}

/* ---- lines ---- */

enum what { TEXT, NUMBER, HEADER };

/* clang-format off */
static const struct {
	const char *word;
	enum what what;
	size_t at;
} words[] = {
	{ "url",	TEXT,	offsetof(struct endpoint, url) },
	{ "key",	TEXT,	offsetof(struct endpoint, key) },
	{ "proxy",	TEXT,	offsetof(struct endpoint, proxy) },
	{ "header",	HEADER,	0 },
	{ "timeout",	NUMBER,	offsetof(struct endpoint, timeout) },
	{ "stall",	NUMBER,	offsetof(struct endpoint, stall) },
	{ "most",	NUMBER,	offsetof(struct endpoint, most) },
	{ "id",		NUMBER,	SIZE_MAX }, /* the front's business */
};
/* clang-format on */

static void
set(struct endpoint *e, size_t row, const char *value)
{
	char *at = (char *)e + words[row].at;

	if (words[row].at == SIZE_MAX)
		return;
	if (words[row].what == TEXT) {
		char **text = (char **)at;

		wipe(*text);
		*text = xstrdup(value);
	} else if (words[row].what == NUMBER) {
		*(uint32_t *)at = (uint32_t)strtoul(value, NULL, 10);
	} else {
		e->header =
		    xrealloc(e->header, (e->nheader + 1) * sizeof *e->header);
		e->header[e->nheader++] = xstrdup(value);
	}
}

static struct endpoint *
begin(struct endpoints *t, const char *word, const char *value)
{
	if (strcmp(word, "model") == 0) {
		t->at = xrealloc(t->at, (t->n + 1) * sizeof(struct endpoint *));
		t->at[t->n] = endpoint_new(value);
		return t->at[t->n++];
	}
	if (strcmp(word, "collector") == 0 && t->traces == NULL) {
		t->traces = endpoint_new(value);
		return t->traces;
	}
	return NULL;
}

static int
line(struct endpoints *t, struct endpoint **now, char *text, struct err *err)
{
	char *value = strchr(text, ' ');
	struct endpoint *fresh;

	if (value == NULL)
		return err_set(err, ERR_INVALID, "a line without a value");
	*value++ = '\0';
	if (strcmp(text, "log") == 0) {
		free(t->log);
		t->log = xstrdup(value);
		return 0;
	}
	if (strcmp(text, "push") == 0) {
		t->push_anywhere = strcmp(value, "anywhere") == 0;
		return 0;
	}
	fresh = begin(t, text, value);
	if (fresh != NULL) {
		*now = fresh;
		return 0;
	}
	for (size_t i = 0; *now != NULL && i < sizeof words / sizeof *words;
	     i++)
		if (strcmp(words[i].word, text) == 0) {
			set(*now, i, value);
			return 0;
		}
	return err_set(err, ERR_INVALID, "a line that begins with %.20s", text);
}

int
endpoints_read(struct endpoints *t, const char *text, struct err *err)
{
	struct endpoints fresh = { 0 };
	struct endpoint *now = NULL;
	char *copy = xstrdup(text), *at = copy, *one;
	int r = 0;

	while (r == 0 && (one = strsep(&at, "\n")) != NULL)
		if (*one != '\0')
			r = line(&fresh, &now, one, err);
	explicit_bzero(copy, strlen(text));
	free(copy);
	if (r < 0) {
		endpoints_free(&fresh);
		return -1;
	}
	endpoints_free(t);
	*t = fresh;
	return 0;
}
