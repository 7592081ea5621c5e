#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/config.h"
#include "conf/models.h"
#include "conf/section.h"

#define KEY_MOST 8192
#define SCRIPTED "stub"

static void
text_become(char **at, char *fresh)
{
	free(*at);
	*at = fresh;
}

/* A name or password in it would be printed to the front with it. */
static int
check_url(const struct conf_model *m, struct err *err)
{
	const char *host = strstr(m->url, "://"), *end;

	if (strcmp(m->url, "stub:") == 0)
		return 0;
	if (strncmp(m->url, "https://", 8) != 0 &&
	    strncmp(m->url, "http://", 7) != 0)
		return err_set(err, ERR_INVALID,
		    "[model %s]: url takes https://HOST/v1, http://HOST/v1 or "
		    "stub:",
		    m->name);
	host += 3;
	end = host + strcspn(host, "/?#");
	if (end == host || strpbrk(end, "?# ") != NULL)
		return err_set(err, ERR_INVALID,
		    "[model %s]: url takes a host and a path only", m->name);
	if (memchr(host, '@', (size_t)(end - host)) != NULL)
		return err_set(err, ERR_INVALID,
		    "[model %s]: url has a name or a password in it: say "
		    "headers instead",
		    m->name);
	return 0;
}

static int
read_key(struct conf_model *m, struct err *err)
{
	auto_fd int fd = -1;
	auto_str struct str text = { 0 };

	if (*m->key_file == '\0')
		return 0;
	if (m->key != NULL && *m->key != '\0')
		return err_set(err, ERR_INVALID,
		    "[model %s]: key and key_file, one is enough", m->name);
	fd = open(m->key_file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "[model %s]: %s", m->name, m->key_file);
	if (file_read_all(fd, &text, KEY_MOST, err) < 0)
		return err_wrap(err, "[model %s]: %s", m->name, m->key_file);
	str_cut(&text, strcspn(str_text(&text), "\r\n"));
	for (const char *p = str_text(&text); *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return err_set(err, ERR_INVALID,
			    "[model %s]: %s does not hold a key", m->name,
			    m->key_file);
	text_become(&m->key, xstrdup(str_text(&text)));
	explicit_bzero(text.at, text.len);
	return 0;
}

static int
check_agent(struct config *c, struct conf_agent *a, struct err *err)
{
	char *end;

	if (*a->model == '\0')
		text_become(&a->model, xstrdup(c->model[0].name));
	if (section_named(c, OPTION_MODEL, a->model) == NULL)
		return err_set(err, ERR_INVALID, "[agent %s]: no [model %s]",
		    a->name, a->model);
	if (*a->type != '\0' && section_named(c, OPTION_TYPE, a->type) == NULL)
		return err_set(err, ERR_INVALID, "[agent %s]: no type \"%s\"",
		    a->name, a->type);
	if (*a->temperature != '\0') {
		double t = strtod(a->temperature, &end);

		if (*end != '\0' || !(t >= 0 && t <= 10))
			return err_set(err, ERR_INVALID,
			    "[agent %s]: temperature takes a number from 0 to "
			    "10; not \"%s\"",
			    a->name, a->temperature);
	}
	return 0;
}

int
check_models(struct config *c, struct err *err)
{
	if (c->nmodel == 0)
		section_at(c, OPTION_MODEL, SCRIPTED);
	for (size_t i = 0; i < c->nmodel; i++) {
		struct conf_model *m = &c->model[i];

		if (check_url(m, err) < 0 || read_key(m, err) < 0)
			return -1;
		if (*m->model == '\0')
			text_become(&m->model, xstrdup(m->name));
	}
	for (size_t i = 0; i < c->nagent; i++)
		if (check_agent(c, &c->agent[i], err) < 0)
			return -1;
	return 0;
}

/* Lines of their own, for a process that does not read hutch.conf. */
void
conf_print_models(const struct config *c, FILE *out)
{
	fprintf(out, "log %s\npush %s\n", c->log_level, c->push);
	if (*c->otlp_endpoint != '\0')
		fprintf(out, "collector otlp\nurl %s\ntimeout 15\nmost 1\n",
		    c->otlp_endpoint);
	for (size_t i = 0; *c->otlp_endpoint != '\0' && i < c->otlp_headers.n;
	     i++)
		fprintf(out, "header %s\n", c->otlp_headers.at[i]);
	for (size_t i = 0; i < c->nmodel; i++) {
		const struct conf_model *m = &c->model[i];

		fprintf(out, "model %s\nurl %s\nid %s\n", m->name, m->url,
		    m->model);
		if (m->key != NULL && *m->key != '\0')
			fprintf(out, "key %s\n", m->key);
		if (*m->proxy != '\0')
			fprintf(out, "proxy %s\n", m->proxy);
		for (size_t j = 0; j < m->headers.n; j++)
			fprintf(out, "header %s\n", m->headers.at[j]);
		fprintf(out, "timeout %u\nstall %u\nmost %u\n", m->timeout,
		    m->stall_timeout, m->concurrency);
	}
}
