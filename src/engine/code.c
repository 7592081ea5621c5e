#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/code.h"

#define BLOCK 512
#define ENTRIES_MAX 200000

struct code {
	int dir, fd;
	char file[80];
	uint64_t size, most;
	unsigned holders;
	bool keep;
};

struct code *
code_new(int dir, uint64_t most, struct err *err)
{
	struct code *c = xcalloc(1, sizeof *c);
	uint8_t random[12];
	char hex[sizeof random * 2 + 1];

	if (getrandom(random, sizeof random, 0) != sizeof random)
		abort();
	hex_put(hex, random, sizeof random);
	snprintf(c->file, sizeof c->file, "code-%s.tar", hex);
	c->dir = dir;
	c->most = most;
	c->holders = 1;
	c->fd = openat(dir, c->file,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->fd < 0) {
		err_sys(err, "create a file for the code");
		free(c);
		return NULL;
	}
	return c;
}

struct code *
code_open(int dir, const char *file, struct err *err)
{
	struct code *c = xcalloc(1, sizeof *c);
	struct stat st;

	snprintf(c->file, sizeof c->file, "%s", file);
	c->dir = dir;
	c->holders = 1;
	c->keep = true;
	c->fd = openat(dir, c->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (c->fd < 0 || fstat(c->fd, &st) < 0) {
		err_sys(err, "its code, %s", c->file);
		own_closep(&c->fd);
		free(c);
		return NULL;
	}
	c->size = (uint64_t)st.st_size;
	return c;
}

int
code_write(struct code *c, const void *bytes, size_t n, struct err *err)
{
	const char *at = bytes;

	if (c->size + n > c->most)
		return err_set(err, ERR_LIMIT,
		    "more than %" PRIu64 " bytes: too large", c->most);
	while (n > 0) {
		ssize_t w = write(c->fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return err_sys(err, "write");
		at += w;
		n -= (size_t)w;
		c->size += (uint64_t)w;
	}
	return 0;
}

int
code_rename(struct code *c, const char *file, struct err *err)
{
	if (renameat(c->dir, c->file, c->dir, file) < 0)
		return err_sys(err, "rename to %s", file);
	snprintf(c->file, sizeof c->file, "%s", file);
	return 0;
}

void
code_hold(struct code *c)
{
	c->holders++;
}

void
code_drop(struct code *c)
{
	if (c == NULL || --c->holders > 0)
		return;
	if (!c->keep)
		unlinkat(c->dir, c->file, 0);
	close(c->fd);
	free(c);
}

void
code_keep(struct code *c, bool keep)
{
	c->keep = keep;
}

const char *
code_file(const struct code *c)
{
	return c->file;
}

int
code_fd(const struct code *c)
{
	return c->fd;
}

uint64_t
code_size(const struct code *c)
{
	return c->size;
}

/* ---- what is in it ---- */

static uint64_t
octal(const char *field, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n && field[i] >= '0' && field[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(field[i] - '0');
	return v;
}

static bool
is_header(const uint8_t b[BLOCK])
{
	unsigned sum = 0;

	for (int i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : b[i];
	return sum == octal((const char *)b + 148, 7) ||
	    sum == octal((const char *)b + 149, 6);
}

static int
read_file(const struct code *c, uint64_t at, uint64_t n, size_t most,
    struct str *out, struct err *err)
{
	ssize_t r;

	if (n > most)
		return err_set(err, ERR_LIMIT, "%" PRIu64 " bytes: too large",
		    n);
	r = pread(c->fd, str_extend(out, (size_t)n), (size_t)n, (off_t)at);
	if (r != (ssize_t)n)
		return err_set(err, ERR_PROTO, "the tar ends in it");
	return 1;
}

int
code_find(const struct code *c, const char *name, size_t most, struct str *out,
    struct err *err)
{
	char at_name[101];
	uint64_t at = 0;
	char b[BLOCK];

	for (int i = 0; i < ENTRIES_MAX; i++) {
		const char *base = at_name;
		uint64_t n;

		if (pread(c->fd, b, BLOCK, (off_t)at) != BLOCK || b[0] == '\0')
			return 0;
		if (!is_header((uint8_t *)b))
			return err_set(err, ERR_PROTO, "it is no tar");
		n = octal(b + 124, 11);
		memcpy(at_name, b, 100);
		at_name[100] = '\0';
		while (strncmp(base, "./", 2) == 0)
			base += 2;
		if ((b[156] == '0' || b[156] == '\0') &&
		    strcmp(base, name) == 0)
			return read_file(c, at + BLOCK, n, most, out, err);
		at += BLOCK + (n + BLOCK - 1) / BLOCK * BLOCK;
	}
	return 0;
}

int
code_finish(struct code *c, struct err *err)
{
	auto_str struct str none = { 0 };
	uint8_t first[BLOCK];

	if (pread(c->fd, first, BLOCK, 0) != BLOCK ||
	    (first[0] != 0 && !is_header(first)))
		return err_set(err, ERR_INVALID, "the code is no tar");
	if (code_find(c, "?", 0, &none, err) < 0)
		return err_wrap(err, "the code");
	if (fsync(c->fd) < 0)
		return err_sys(err, "sync the code");
	return 0;
}

void
code_sweep(int dir, bool (*wanted)(void *, const char *), void *arg)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, "code-", 5) == 0 &&
		    !wanted(arg, e->d_name))
			unlinkat(dir, e->d_name, 0);
	if (d != NULL)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}
