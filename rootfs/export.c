#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "rootfs/export.h"
#include "rootfs/policy.h"

#define BLOCK (1 << 17)
#define TICK (16u << 20)
#define XATTRS_MAX 65536
#define NAMES_MAX (1u << 20) /* of one directory */

struct tar {
	struct archive *out;
	struct archive_entry_linkresolver *links;
	const struct export_to *to;
	struct err why; /* of a failed write, which libarchive passes through */
	uint64_t bytes, ticked;
	dev_t dev;
	char *buf;
};

struct names {
	char **at;
	size_t n, room;
};

static void
names_free(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i]);
	free(l->at);
}

OWN_DEFINE(struct names, names_free)
OWN_DEFINE(struct archive_entry, archive_entry_free)

static la_ssize_t
put_bytes(struct archive *a, void *arg, const void *at, size_t n)
{
	struct tar *t = arg;

	if (file_write_all(t->to->fd, at, n, &t->why) < 0) {
		archive_set_error(a, EIO, "%s", t->why.text);
		return -1;
	}
	t->bytes += n;
	if (t->to->tick != NULL && t->bytes - t->ticked >= TICK) {
		t->ticked = t->bytes;
		t->to->tick(t->to->arg, t->bytes);
	}
	return (la_ssize_t)n;
}

static int
failed(struct tar *t, const char *path, struct err *err)
{
	const char *why = archive_error_string(t->out);

	return err_set(err, ERR_SYS, "%.100s: %.100s", path,
	    why != NULL ? why : "cannot write");
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What dir holds, in order. */
static int
list(int dir, struct names *l, struct err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *e;

	if (d == NULL) {
		err_sys(err, "list");
		if (copy >= 0)
			close(copy);
		return -1;
	}
	while ((e = readdir(d)) != NULL && l->n < NAMES_MAX) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (l->n == l->room) {
			l->room = l->room > 0 ? l->room * 2 : 32;
			l->at = xrealloc(l->at, l->room * sizeof *l->at);
		}
		l->at[l->n++] = xstrdup(e->d_name);
	}
	closedir(d);
	if (e != NULL)
		return err_set(err, ERR_LIMIT, "more than %u names", NAMES_MAX);
	if (l->n > 0)
		qsort(l->at, l->n, sizeof *l->at, by_name);
	return 0;
}

static int
take_xattrs(int fd, struct archive_entry *ae, struct err *err)
{
	auto_free char *names = NULL;
	auto_free char *value = NULL;
	ssize_t n = flistxattr(fd, NULL, 0);

	if (n == 0 || (n < 0 && errno == ENOTSUP))
		return 0;
	names = xmalloc(XATTRS_MAX);
	value = xmalloc(XATTRS_MAX);
	n = flistxattr(fd, names, XATTRS_MAX);
	if (n < 0)
		return err_sys(err, "list attributes");
	for (char *p = names; p < names + n; p += strlen(p) + 1) {
		ssize_t len;

		if (!policy_xattr(p))
			continue;
		len = fgetxattr(fd, p, value, XATTRS_MAX);
		if (len < 0)
			return err_sys(err, "read attribute %.100s", p);
		archive_entry_xattr_add_entry(ae, p, value, (size_t)len);
	}
	return 0;
}

/* Exactly as many bytes as the header says, though the file may change. */
static int
put_file(struct tar *t, int fd, const char *path, uint64_t left,
    struct err *err)
{
	while (left > 0) {
		size_t want = left < BLOCK ? (size_t)left : BLOCK;
		ssize_t n = read(fd, t->buf, want);

		if (n < 0)
			return err_sys(err, "read %.120s", path);
		if (n == 0)
			return err_set(err, ERR_BUSY,
			    "%.120s became shorter while it was read", path);
		if (archive_write_data(t->out, t->buf, (size_t)n) != n)
			return failed(t, path, err);
		left -= (uint64_t)n;
	}
	return 0;
}

static struct archive_entry *
describe(const struct stat *st, const char *path)
{
	struct archive_entry *ae = archive_entry_new();

	archive_entry_copy_pathname(ae, path);
	archive_entry_copy_stat(ae, st);
	/* Whole seconds for what the layers had so; access is nobody's news. */
	archive_entry_unset_atime(ae);
	archive_entry_unset_ctime(ae);
	archive_entry_unset_birthtime(ae);
	return ae;
}

static int
put_entry(struct tar *t, int fd, struct archive_entry **ae, const char *path,
    struct err *err)
{
	struct archive_entry *spare = NULL;
	bool data;

	archive_entry_linkify(t->links, ae, &spare);
	archive_entry_free(spare); /* none in this format */
	data = archive_entry_hardlink(*ae) == NULL &&
	    archive_entry_filetype(*ae) == AE_IFREG;
	if (archive_write_header(t->out, *ae) != ARCHIVE_OK)
		return failed(t, path, err);
	if (data && archive_entry_size(*ae) > 0)
		return put_file(t, fd, path, (uint64_t)archive_entry_size(*ae),
		    err);
	return 0;
}

static int put_dir(struct tar *, int dir, const char *path, int depth,
    struct err *);

static int
put_link(struct tar *t, int dir, const char *name, const struct stat *st,
    const char *path, struct err *err)
{
	own(archive_entry_free) struct archive_entry *ae = describe(st, path);
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof target - 1);

	if (n < 0)
		return err_sys(err, "read link %.120s", path);
	target[n] = '\0';
	archive_entry_copy_symlink(ae, target);
	return put_entry(t, -1, &ae, path, err);
}

static int
put_node(struct tar *t, int dir, const char *name, const struct stat *st,
    const char *path, struct err *err)
{
	own(archive_entry_free) struct archive_entry *ae = describe(st, path);
	auto_fd int fd = -1;

	if (S_ISREG(st->st_mode)) {
		fd = openat(dir, name,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			return err_sys(err, "open %.120s", path);
		if (take_xattrs(fd, ae, err) < 0)
			return err_wrap(err, "%.120s", path);
	}
	return put_entry(t, fd, &ae, path, err);
}

static int
put_name(struct tar *t, int dir, const char *name, const char *path, int depth,
    struct err *err)
{
	auto_fd int sub = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "stat %.120s", path);
	if (S_ISLNK(st.st_mode))
		return put_link(t, dir, name, &st, path, err);
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))
		return put_node(t, dir, name, &st, path, err);
	if (!S_ISDIR(st.st_mode) || st.st_dev != t->dev)
		return 0;
	sub =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (sub < 0)
		return err_sys(err, "open %.120s", path);
	return put_dir(t, sub, path, depth, err);
}

static int
put_dir(struct tar *t, int dir, const char *path, int depth, struct err *err)
{
	own(names_free) struct names *l = &(struct names){ 0 };
	own(archive_entry_free) struct archive_entry *ae = NULL;
	auto_free char *own_name = xasprintf("%s/", *path ? path : ".");
	struct stat st;

	if (depth == 0)
		return err_set(err, ERR_LIMIT, "too deep: %.120s", path);
	if (fstat(dir, &st) < 0)
		return err_sys(err, "stat %.120s", path);
	ae = describe(&st, own_name);
	if (take_xattrs(dir, ae, err) < 0 || list(dir, l, err) < 0)
		return err_wrap(err, "%.120s", path);
	if (put_entry(t, -1, &ae, path, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		auto_free char *child =
		    xasprintf("%s%s%s", path, *path ? "/" : "", l->at[i]);

		if (put_name(t, dir, l->at[i], child, depth - 1, err) < 0)
			return -1;
	}
	return 0;
}

static int
start(struct tar *t, struct err *err)
{
	t->out = archive_write_new();
	t->links = archive_entry_linkresolver_new();
	if (t->out == NULL || t->links == NULL ||
	    archive_write_set_format_pax_restricted(t->out) != ARCHIVE_OK ||
	    archive_write_set_option(t->out, NULL, "hdrcharset", "BINARY") !=
		ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(t->out, BLOCK) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(t->out, 1) != ARCHIVE_OK ||
	    archive_write_open(t->out, t, NULL, put_bytes, NULL) != ARCHIVE_OK)
		return err_set(err, ERR_SYS, "libarchive cannot write tar");
	archive_entry_linkresolver_set_strategy(t->links,
	    archive_format(t->out));
	return 0;
}

int
export_tree(int dir, const struct export_to *to, struct err *err)
{
	struct tar t = { .to = to };
	struct stat st;
	int r = -1;

	if (fstat(dir, &st) < 0)
		return err_sys(err, "stat the tree");
	t.dev = st.st_dev;
	t.buf = xmalloc(BLOCK);
	if (start(&t, err) == 0)
		r = put_dir(&t, dir, "", POLICY_DEPTH + 2, err);
	if (r == 0 && archive_write_close(t.out) != ARCHIVE_OK)
		r = failed(&t, "end", err);
	archive_entry_linkresolver_free(t.links);
	archive_write_free(t.out);
	free(t.buf);
	return r;
}
