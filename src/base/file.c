#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"

int
file_write_all(int fd, const void *bytes, size_t n, struct err *err)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t w = write(fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return err_sys(err, "write");
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

int
file_read_all(int fd, struct str *out, size_t most, struct err *err)
{
	char buf[16384];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof buf);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			return 0;
		if ((size_t)n > most - out->len)
			return err_set(err, ERR_LIMIT, "longer than %zu bytes",
			    most);
		str_add(out, buf, (size_t)n);
	}
}

int
file_read_at(int dir, const char *name, struct str *out, size_t most,
    struct err *err)
{
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(err, "open %s", name);
	if (file_read_all(fd, out, most, err) < 0)
		return err_wrap(err, "%s", name);
	return 0;
}

int
file_replace_at(int dir, const char *name, const void *bytes, size_t n,
    mode_t mode, struct err *err)
{
	char temp[NAME_MAX + 1];
	auto_fd int fd = -1;

	if (snprintf(temp, sizeof temp, ".%s.%d", name, (int)getpid()) >=
	    (int)sizeof temp)
		return err_set(err, ERR_INVALID, "%s: name too long", name);
	fd = openat(dir, temp,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_sys(err, "create %s", temp);
	if (file_write_all(fd, bytes, n, err) < 0)
		err_wrap(err, "%s", temp);
	/* The mode is what was asked for, whatever the umask. */
	else if (fchmod(fd, mode) < 0 || fsync(fd) < 0 ||
	    renameat(dir, temp, dir, name) < 0)
		err_sys(err, "replace %s", name);
	else
		return 0;
	unlinkat(dir, temp, 0);
	return -1;
}

int
file_put_at(int dir, const char *name, const char *value, struct err *err)
{
	auto_fd int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t n = strlen(value);

	if (fd < 0)
		return err_sys(err, "open %s", name);
	if (write(fd, value, n) != (ssize_t)n)
		return err_sys(err, "write \"%s\" to %s", value, name);
	return 0;
}

int
file_mkdir_at(int dir, const char *name, mode_t mode, struct err *err)
{
	int fd;

	if (mkdirat(dir, name, mode) < 0 && errno != EEXIST)
		return err_sys(err, "make directory %s", name);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(err, "open directory %s", name);
	return fd;
}

/* Entries of dir, which is consumed; a level of recursion a level of tree. */
static int
empty(int dirfd, dev_t dev, int depth, struct err *err)
{
	DIR *d = fdopendir(dirfd);
	struct dirent *e;
	int r = 0;

	if (d == NULL) {
		err_sys(err, "list");
		close(dirfd);
		return -1;
	}
	while (r == 0 && (e = readdir(d)) != NULL) {
		struct stat st;
		int sub;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd, e->d_name, 0) == 0 || errno == ENOENT)
			continue;
		sub = openat(dirfd, e->d_name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (sub < 0 || fstat(sub, &st) < 0 || st.st_dev != dev ||
		    depth == 0) {
			r = err_sys(err, "remove %s", e->d_name);
			if (sub >= 0)
				close(sub);
			continue;
		}
		r = empty(sub, dev, depth - 1, err);
		if (r == 0 && unlinkat(dirfd, e->d_name, AT_REMOVEDIR) < 0)
			r = err_sys(err, "remove %s", e->d_name);
	}
	closedir(d);
	return r;
}

int
file_remove_tree(int dir, const char *name, struct err *err)
{
	struct stat st;
	int sub;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	sub =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (sub < 0)
		return err_sys(err, "remove %s", name);
	if (fstat(sub, &st) < 0) {
		err_sys(err, "stat %s", name);
		close(sub);
		return -1;
	}
	if (empty(sub, st.st_dev, 2048, err) < 0)
		return err_wrap(err, "%s", name);
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
		return err_sys(err, "remove %s", name);
	return 0;
}

int
file_memfd(const char *label, const void *bytes, size_t n, struct err *err)
{
	auto_fd int fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_sys(err, "memfd %s", label);
	if (file_write_all(fd, bytes, n, err) < 0)
		return err_wrap(err, "memfd %s", label);
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return err_sys(err, "seal memfd %s", label);
	return take_fd(&fd);
}
