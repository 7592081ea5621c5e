#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/receive.h"
#include "rootfs/extract.h"

struct receive {
	char *dest, *part; /* a file: where it is until it is whole */
	int fd;            /* bytes go here */
	pid_t child;       /* 0: none */
	int verdict;       /* its struct err, if it fails */
};

static int
open_file(struct receive *r, struct err *err)
{
	r->part = xasprintf("%s.part", r->dest);
	r->fd = open(r->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return r->fd < 0 ? err_sys(err, "%s", r->part) : 0;
}

/* An empty directory, made if it is missing. */
static int
open_folder(const char *path, struct err *err)
{
	struct dirent *e;
	bool empty = true;
	DIR *d;
	int fd;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "%s", path);
	d = opendir(path);
	if (d == NULL)
		return err_sys(err, "%s", path);
	while ((e = readdir(d)) != NULL)
		empty = empty &&
		    (strcmp(e->d_name, ".") == 0 ||
			strcmp(e->d_name, "..") == 0);
	fd = empty ? fcntl(dirfd(d), F_DUPFD_CLOEXEC, 3) : -1;
	if (!empty)
		err_set(err, ERR_BUSY, "%s is not empty", path);
	else if (fd < 0)
		err_sys(err, "%s", path);
	closedir(d);
	return fd;
}

/* The child: whatever comes from `from` becomes what is below dir. */
static void
be_child(int from, int dir, int verdict)
{
	struct err err = { 0 };
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	r = extract_tar(from, dir, geteuid() == 0, &err);
	if (r < 0 && write(verdict, &err, sizeof err) != sizeof err)
		r = -2;
	_exit(r < 0);
}

static int
start_child(struct receive *r, struct err *err)
{
	auto_fd int dir = open_folder(r->dest, err);
	int bytes[2], verdict[2];

	if (dir < 0)
		return -1;
	if (pipe2(bytes, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (pipe2(verdict, O_CLOEXEC) < 0) {
		close(bytes[0]);
		close(bytes[1]);
		return err_sys(err, "pipe");
	}
	r->fd = bytes[1];
	r->verdict = verdict[0];
	r->child = fork();
	if (r->child == 0) {
		close(bytes[1]);
		be_child(bytes[0], dir, verdict[1]);
	}
	close(bytes[0]);
	close(verdict[1]);
	return r->child < 0 ? err_sys(err, "fork") : 0;
}

static void
discard(struct receive *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->verdict >= 0)
		close(r->verdict);
	free(r->dest);
	free(r->part);
	free(r);
}

struct receive *
receive_open(const char *dest, struct err *err)
{
	struct receive *r = xcalloc(1, sizeof *r);
	size_t n = strlen(dest);
	int made;

	r->dest = xstrdup(dest);
	r->fd = r->verdict = -1;
	if (strcmp(dest, "-") == 0) {
		r->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		made = r->fd < 0 ? err_sys(err, "standard output") : 0;
	} else if (n > 4 && strcmp(dest + n - 4, ".tar") == 0)
		made = open_file(r, err);
	else
		made = start_child(r, err);
	if (made == 0)
		return r;
	discard(r);
	return NULL;
}

int
receive_bytes(struct receive *r, const void *bytes, size_t n, struct err *err)
{
	return file_write_all(r->fd, bytes, n, err);
}

/* What the child says, once it has all bytes or none will come. */
static int
hear(struct receive *r, bool whole, struct err *err)
{
	struct err why;
	ssize_t n;
	int status = 0;

	do
		n = read(r->verdict, &why, sizeof why);
	while (n < 0 && errno == EINTR);
	while (waitpid(r->child, &status, 0) < 0 && errno == EINTR)
		;
	if (n == sizeof why) {
		*err = why;
		return err_wrap(err, "%s", r->dest);
	}
	if (whole && status != 0)
		return err_set(err, ERR_SYS, "%s: unpacking failed", r->dest);
	return 0;
}

/* What is there is not what was asked for; and nothing was there before. */
static void
clear(const struct receive *r)
{
	struct err unused;

	if (r->part != NULL)
		unlink(r->part);
	if (r->child > 0)
		file_remove_tree(AT_FDCWD, r->dest, &unused);
}

int
receive_end(struct receive *r, bool whole, struct err *err)
{
	int fd = take_fd(&r->fd), result = 0;

	/* First, or it takes the end of what came for a broken archive. */
	if (!whole && r->child > 0)
		kill(r->child, SIGKILL);
	if (r->part != NULL && whole && fsync(fd) < 0)
		result = err_sys(err, "%s", r->part);
	if (close(fd) < 0 && whole && result == 0)
		result = err_sys(err, "%s", r->dest);
	if (r->child > 0)
		result = hear(r, whole, err);
	else if (r->part != NULL && whole && result == 0 &&
	    rename(r->part, r->dest) < 0)
		result = err_sys(err, "%s", r->dest);
	if (!whole || result < 0)
		clear(r);
	discard(r);
	return result;
}
