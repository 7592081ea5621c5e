#include <ctype.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "conf/option.h"

#define FILE_MOST (1 << 20)
#define SECTION_MOST 48 /* inih cuts longer names silently */

struct seen {
	char *name; /* section, key */
	SLIST_ENTRY(seen) next;
};

struct reader {
	struct config *conf;
	const char *name; /* of the file, for errors */
	const char *at;   /* what has not been read yet */
	unsigned line;
	SLIST_HEAD(, seen) seen;
	bool failed;
	struct err *err;
};

static void
fail(struct reader *r)
{
	err_wrap(r->err, "%s:%u", r->name, r->line);
	r->failed = true;
}

/* Whether this file said it before: then a list goes on, the rest is an error. */
static bool
again(struct reader *r, const char *section, const char *key)
{
	auto_free char *name = xasprintf("%s\n%s", section, key);
	struct seen *s;

	SLIST_FOREACH(s, &r->seen, next)
	if (strcmp(s->name, name) == 0)
		return true;
	s = xcalloc(1, sizeof *s);
	s->name = take_ptr(&name);
	SLIST_INSERT_HEAD(&r->seen, s, next);
	return false;
}

static int
pair(void *arg, const char *section, const char *key, const char *value)
{
	struct reader *r = arg;

	if (r->failed)
		return 0;
	if (strlen(section) >= SECTION_MOST) {
		err_set(r->err, ERR_INVALID, "section name is too long");
		fail(r);
		return 0;
	}
	if (conf_put(r->conf, section, key, value, again(r, section, key),
		r->err) < 0) {
		fail(r);
		return 0;
	}
	return 1;
}

/* As fgets, but a line that does not fit is an error and not two lines. */
static char *
next_line(char *buf, int room, void *arg)
{
	struct reader *r = arg;
	size_t n = strcspn(r->at, "\n");

	if (r->failed || *r->at == '\0')
		return NULL;
	r->line++;
	if (n + 2 > (size_t)room) {
		err_set(r->err, ERR_LIMIT,
		    "line is longer than %d bytes; a list may go on in "
		    "indented lines",
		    room - 2);
		fail(r);
		return NULL;
	}
	memcpy(buf, r->at, n);
	buf[n] = '\0';
	r->at += n + (r->at[n] == '\n');
	return buf;
}

static int
parse_text(struct config *c, const char *name, const struct str *text,
    struct err *err)
{
	struct reader r = { .conf = c,
		.name = name,
		.at = str_text(text),
		.err = err };
	struct seen *s;
	int line;

	if (strlen(r.at) != text->len)
		return err_set(err, ERR_INVALID, "%s: holds a NUL byte", name);
	line = ini_parse_stream(next_line, &r, pair, &r);
	while ((s = SLIST_FIRST(&r.seen)) != NULL) {
		SLIST_REMOVE_HEAD(&r.seen, next);
		free(s->name);
		free(s);
	}
	if (r.failed)
		return -1;
	if (line != 0)
		return err_set(err, ERR_INVALID,
		    "%s:%d: neither a section, an option nor a comment", name,
		    line);
	return 0;
}

int
conf_read_fd(struct config *c, int fd, const char *name, struct err *err)
{
	auto_str struct str text = { 0 };

	if (file_read_all(fd, &text, FILE_MOST, err) < 0)
		return err_wrap(err, "%s", name);
	return parse_text(c, name, &text, err);
}

int
conf_read_file(struct config *c, const char *path, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "%s", path);
	return conf_read_fd(c, fd, path, err);
}

/* ---- NAME=VALUE ---- */

static int
env_pair(struct config *c, const char *name, const char *value, struct err *err)
{
	const struct option *o = option_by_env(name);

	if (o == NULL || *value == '\0')
		return 0;
	if (conf_put(c, "", o->name, value, false, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

int
conf_read_environ(struct config *c, char *const *environ_, struct err *err)
{
	for (; *environ_ != NULL; environ_++) {
		const char *eq = strchr(*environ_, '=');
		auto_free char *name = NULL;

		if (eq == NULL)
			continue;
		name = xstrndup(*environ_, (size_t)(eq - *environ_));
		if (env_pair(c, name, eq + 1, err) < 0)
			return err_wrap(err, "environment");
	}
	return 0;
}

static char *
trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]);)
		s[--n] = '\0';
	return s;
}

/* Quotes go; outside of them so does a comment.  In place; NULL: no end. */
static char *
unquote(char *s)
{
	char *comment, *end, mark = *s;

	if (mark == '"' || mark == '\'') {
		end = strchr(s + 1, mark);
		if (end == NULL)
			return NULL;
		comment = trim(end + 1);
		if (*comment != '\0' && *comment != '#')
			return NULL;
		*end = '\0';
		return s + 1;
	}
	for (comment = s; *comment != '\0'; comment++)
		if (*comment == '#' &&
		    (comment == s || isspace((unsigned char)comment[-1]))) {
			*comment = '\0';
			break;
		}
	return trim(s);
}

static int
env_line(struct config *c, char *line, struct err *err)
{
	char *name = trim(line), *value;

	if (strncmp(name, "export ", 7) == 0)
		name = trim(name + 7);
	if (*name == '\0' || *name == '#')
		return 0;
	value = strchr(name, '=');
	if (value == NULL)
		return err_set(err, ERR_INVALID, "takes NAME=VALUE");
	*value++ = '\0';
	value = unquote(trim(value));
	name = trim(name);
	if (value == NULL)
		return err_set(err, ERR_INVALID, "%.40s: quotes do not match",
		    name);
	return env_pair(c, name, value, err);
}

int
conf_read_env_file(struct config *c, const char *path, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_str struct str text = { 0 };
	char *at, *line;
	int n = 0;

	if (fd < 0)
		return err_sys(err, "%s", path);
	if (file_read_all(fd, &text, FILE_MOST, err) < 0)
		return err_wrap(err, "%s", path);
	if (strlen(str_text(&text)) != text.len)
		return err_set(err, ERR_INVALID, "%s: holds a NUL byte", path);
	for (at = text.at; (line = strsep(&at, "\n")) != NULL;)
		if (n++, env_line(c, line, err) < 0)
			return err_wrap(err, "%s:%d", path, n);
	return 0;
}
