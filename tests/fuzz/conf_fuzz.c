/*
 * Configurations.  The first byte says as what the rest is read: a file, an env
 * file, or an environment.  What is taken must come back as it was printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

OWN_DEFINE(struct config, conf_free)

static char *
printed(const struct config *c)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	conf_print(c, f);
	fclose(f);
	return text;
}

static int
read_memory(struct config *c, const void *text, size_t n, struct err *err)
{
	auto_fd int fd = file_memfd("conf", text, n, err);

	return fd < 0 ? -1 : conf_read_fd(c, fd, "fuzz", err);
}

static int
read_env_file(struct config *c, const void *text, size_t n, struct err *err)
{
	auto_fd int fd = file_memfd("env", text, n, err);
	auto_free char *path = xasprintf("/proc/self/fd/%d", fd);

	return fd < 0 ? -1 : conf_read_env_file(c, path, err);
}

static int
read_environ(struct config *c, const void *text, size_t n, struct err *err)
{
	auto_free char *copy = xstrndup(text, n);
	char *env[64], *at = copy, *line;
	size_t k = 0;

	while (k < 63 && (line = strsep(&at, "\n")) != NULL)
		env[k++] = line;
	env[k] = NULL;
	return conf_read_environ(c, env, err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	own(conf_free) struct config *c = conf_new(), *back = conf_new();
	auto_free char *first = NULL, *second = NULL;
	struct err err = { 0 };
	int r;

	log_level(LOG_ERROR);
	if (n == 0)
		return 0;
	r = bytes[0] % 3 == 0   ? read_memory(c, bytes + 1, n - 1, &err)
	    : bytes[0] % 3 == 1 ? read_env_file(c, bytes + 1, n - 1, &err)
				: read_environ(c, bytes + 1, n - 1, &err);
	if ((r < 0 || conf_check(c, &err) < 0) && err.text[0] == '\0')
		abort(); /* a refusal says why */
	first = printed(c);
	if (read_memory(back, first, strlen(first), &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.text, first);
		abort();
	}
	second = printed(back);
	if (strcmp(first, second) != 0) {
		fprintf(stderr, "%s\n----\n%s\n", first, second);
		abort();
	}
	return 0;
}
