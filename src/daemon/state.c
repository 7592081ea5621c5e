#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "daemon/state.h"

/* One for the host: numbers are what daemons with different roots share. */
#define LOCK_MS 2000
#define NUMBERS "/run/hutch-instances"

/* All leading directories too; 0711 so that a socket below can be reached. */
static int
make_path(const char *path, struct err *err)
{
	auto_free char *part = xstrdup(path);

	for (char *p = part + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make directory %s", part);
		*p = '/';
	}
	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return err_sys(err, "make directory %s", path);
	return 0;
}

static int
open_root(struct state *s, const char *path, struct err *err)
{
	struct stat st;

	if (make_path(path, err) < 0)
		return -1;
	s->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->root < 0 || fstat(s->root, &st) < 0)
		return err_sys(err, "root %s", path);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return err_set(err, ERR_DENIED,
		    "root %s: others may write there", path);
	return 0;
}

/* What a killed daemon leaves holds its lock for a moment yet. */
static int
lock_soon(int fd)
{
	int64_t end = clock_ms() + LOCK_MS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_left(end) == 0)
			return -1;
		poll(NULL, 0, 20);
	}
	return 0;
}

static int
lock_root(struct state *s, const char *path, struct err *err)
{
	s->lock = openat(s->root, "lock",
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return err_sys(err, "%s/lock", path);
	if (lock_soon(s->lock) < 0)
		return errno == EWOULDBLOCK
		    ? err_set(err, ERR_BUSY, "a daemon runs on %s already",
			  path)
		    : err_sys(err, "lock %s", path);
	return 0;
}

/* 1: held; 0: somebody else's.  Who leaves unlinks, so look again. */
static int
try_number(struct state *s, int dir, unsigned n, struct err *err)
{
	char name[12];
	struct stat mine, there;

	snprintf(name, sizeof name, "%u", n);
	for (int i = 0; i < 100; i++) {
		auto_fd int fd = openat(dir, name,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0)
			return err_sys(err, "%s/%s", NUMBERS, name);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK
			    ? 0
			    : err_sys(err, "lock %s/%s", NUMBERS, name);
		if (fstat(fd, &mine) < 0 ||
		    fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
		    mine.st_ino != there.st_ino)
			continue;
		s->number = n;
		s->number_lock = take_fd(&fd);
		return 1;
	}
	return 0;
}

static unsigned
remembered(const struct state *s)
{
	auto_str struct str text = { 0 };
	struct err err;
	unsigned n = 0;

	if (file_read_at(s->root, "instance", &text, 16, &err) == 0 &&
	    sscanf(str_text(&text), "%2u", &n) == 1 && n < STATE_INSTANCES)
		return n;
	return STATE_INSTANCES;
}

static int
remember(const struct state *s, struct err *err)
{
	char text[16];
	int n = snprintf(text, sizeof text, "%u\n", s->number);

	return file_replace_at(s->root, "instance", text, (size_t)n, 0600, err);
}

static int
take_number(struct state *s, struct err *err)
{
	unsigned last = remembered(s);
	auto_fd int dir = -1;
	int r;

	if (mkdir(NUMBERS, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make directory %s", NUMBERS);
	dir = open(NUMBERS, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return err_sys(err, "%s", NUMBERS);
	r = last < STATE_INSTANCES ? try_number(s, dir, last, err) : 0;
	for (unsigned n = 0; r == 0 && n < STATE_INSTANCES; n++)
		r = try_number(s, dir, n, err);
	if (r < 0)
		return -1;
	if (r == 0)
		return err_set(err, ERR_LIMIT,
		    "%d daemons run on this host already", STATE_INSTANCES);
	snprintf(s->name, sizeof s->name, "%u", s->number);
	return remember(s, err);
}

static int
make_tree(struct state *s, struct err *err)
{
	auto_fd int store = -1;

	if ((s->run = file_mkdir_at(s->root, "run", 0711, err)) < 0 ||
	    (s->front = file_mkdir_at(s->root, "front", 0700, err)) < 0 ||
	    (s->net = file_mkdir_at(s->root, "net", 0700, err)) < 0 ||
	    (store = file_mkdir_at(s->root, "store", 0700, err)) < 0 ||
	    (s->layers = file_mkdir_at(store, "layers", 0755, err)) < 0 ||
	    (s->images = file_mkdir_at(store, "images", 0755, err)) < 0 ||
	    (s->staging = file_mkdir_at(store, "staging", 0700, err)) < 0 ||
	    (s->trash = file_mkdir_at(store, "trash", 0700, err)) < 0)
		return -1;
	return 0;
}

int
state_open(struct state *s, const char *root, struct err *err)
{
	mode_t old = umask(0);
	int r;

	*s = (struct state){ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
	r = open_root(s, root, err) < 0 || lock_root(s, root, err) < 0 ||
		take_number(s, err) < 0 || make_tree(s, err) < 0
	    ? -1
	    : 0;
	umask(old);
	if (r < 0)
		state_close(s);
	return r;
}

/* Links are never followed: the front made what is here. */
static int
own_below(int dir, uid_t id, int depth, struct err *err)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;
	int r = 0;

	if (d == NULL) {
		err_sys(err, "list");
		close(dir);
		return -1;
	}
	while (r == 0 && (e = readdir(d)) != NULL) {
		int sub;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fchownat(dirfd(d), e->d_name, id, id, AT_SYMLINK_NOFOLLOW) <
		    0)
			r = err_sys(err, "owner of %s", e->d_name);
		sub = openat(dirfd(d), e->d_name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (sub >= 0 && (depth == 0 || r < 0))
			close(sub);
		else if (sub >= 0)
			r = own_below(sub, id, depth - 1, err);
	}
	closedir(d);
	return r;
}

int
state_own(int dir, uid_t id, struct err *err)
{
	struct stat st;
	int copy;

	if (fstat(dir, &st) < 0)
		return err_sys(err, "owner");
	if (st.st_uid == id)
		return 0;
	copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (copy < 0)
		return err_sys(err, "list");
	if (own_below(copy, id, 64, err) < 0)
		return -1;
	return fchown(dir, id, id) < 0 ? err_sys(err, "owner") : 0;
}

void
state_close(struct state *s)
{
	int *const fds[] = { &s->root, &s->run, &s->front, &s->net, &s->layers,
		&s->images, &s->staging, &s->trash, &s->lock, &s->number_lock };
	char path[sizeof NUMBERS + 12];

	if (s->number_lock >= 0) {
		snprintf(path, sizeof path, NUMBERS "/%u", s->number);
		unlink(path);
		rmdir(NUMBERS); /* when we were the last */
	}
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int
state_erase(struct state *s, const char *root, struct err *err)
{
	static const char *const made[] = { "run", "front", "net", "store",
		"instance", "lock" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof made / sizeof *made; i++)
		r = file_remove_tree(s->root, made[i], err);
	state_close(s);
	if (r == 0 && rmdir(root) < 0 && errno != ENOTEMPTY &&
	    errno != EEXIST && errno != EBUSY)
		return err_sys(err, "remove %s", root);
	return r;
}
