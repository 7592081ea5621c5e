#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/pack.h"

struct pack {
	FTS *walk;
	size_t skip; /* of a path, for its name in the archive */
	struct archive *tar;
	struct archive_entry *entry;
	struct str out; /* bytes made and not yet asked for */
	int fd;         /* of the file that is being packed; -1: none */
	int64_t left;   /* of it */
	bool over;
	bool code; /* not an image layout: see pack_open_code */
};

static la_ssize_t
on_made(struct archive *a, void *arg, const void *bytes, size_t n)
{
	struct pack *p = arg;

	(void)a;
	str_add(&p->out, bytes, n);
	return (la_ssize_t)n;
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static struct pack *
pack_start(char *const *roots, size_t skip, struct err *err)
{
	struct pack *p = xcalloc(1, sizeof *p);

	p->fd = -1;
	p->skip = skip;
	p->walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
	    by_name);
	p->tar = archive_write_new();
	p->entry = archive_entry_new();
	if (p->tar == NULL || p->entry == NULL)
		abort();
	if (p->walk == NULL)
		err_sys(err, "%s", roots[0]);
	else if (archive_write_set_format_pax_restricted(p->tar) == 0 &&
	    archive_write_set_bytes_in_last_block(p->tar, 1) == 0 &&
	    archive_write_open2(p->tar, p, NULL, on_made, NULL, NULL) == 0)
		return p;
	else
		err_set(err, ERR_SYS, "tar: %s", archive_error_string(p->tar));
	pack_free(p);
	return NULL;
}

struct pack *
pack_open(const char *dir, struct err *err)
{
	char *const roots[] = { (char *)dir, NULL };

	return pack_start(roots, strlen(dir), err);
}

struct pack *
pack_open_code(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
	auto_free char *beside =
	    xasprintf("%.*srequirements.txt", (int)folder, path);
	char *const file[] = { (char *)path,
		access(beside, F_OK) == 0 ? beside : NULL, NULL };
	char *const dir[] = { (char *)path, NULL };
	struct pack *p;
	struct stat st;

	if (stat(path, &st) < 0) {
		err_sys(err, "%s", path);
		return NULL;
	}
	if (S_ISDIR(st.st_mode))
		p = pack_start(dir, strlen(path), err);
	else
		p = pack_start(file, folder, err);
	if (p != NULL)
		p->code = true;
	return p;
}

void
pack_free(struct pack *p)
{
	if (p == NULL)
		return;
	if (p->walk != NULL)
		fts_close(p->walk);
	archive_write_free(p->tar);
	archive_entry_free(p->entry);
	str_free(&p->out);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static int
tar_failed(struct pack *p, struct err *err)
{
	return err_set(err, ERR_SYS, "tar: %s", archive_error_string(p->tar));
}

static int
link_target(struct pack *p, const FTSENT *e, struct err *err)
{
	char target[4096];
	ssize_t n = readlink(e->fts_accpath, target, sizeof target - 1);

	if (n < 0)
		return err_sys(err, "%s", e->fts_path);
	target[n] = '\0';
	archive_entry_set_symlink(p->entry, target);
	return 0;
}

/* Nobody wrote these: tools left them there. */
static bool
left_behind(const FTSENT *e)
{
	static const char *const names[] = { "__pycache__", ".git", ".hg",
		".svn", ".venv", "venv", "node_modules", ".mypy_cache",
		".pytest_cache", ".ruff_cache", ".tox", ".DS_Store" };
	size_t n = strlen(e->fts_name);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(e->fts_name, names[i]) == 0)
			return true;
	return n > 4 && strcmp(e->fts_name + n - 4, ".pyc") == 0;
}

static int
head(struct pack *p, const FTSENT *e, const struct stat *st, struct err *err)
{
	const char *name = e->fts_path + p->skip;

	name += strspn(name, "/");
	archive_entry_clear(p->entry);
	archive_entry_set_pathname(p->entry, name);
	archive_entry_set_filetype(p->entry, st->st_mode & S_IFMT);
	archive_entry_set_perm(p->entry,
	    S_ISDIR(st->st_mode) || (p->code && st->st_mode & S_IXUSR) ? 0755
								       : 0644);
	archive_entry_set_size(p->entry,
	    S_ISREG(st->st_mode) ? st->st_size : 0);
	if (S_ISLNK(st->st_mode) && link_target(p, e, err) < 0)
		return -1;
	if (archive_write_header(p->tar, p->entry) != ARCHIVE_OK)
		return tar_failed(p, err);
	return 0;
}

static int
start_file(struct pack *p, const FTSENT *e, struct err *err)
{
	auto_fd int fd =
	    open(e->fts_accpath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%s", e->fts_path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%s has just been replaced",
		    e->fts_path);
	p->left = st.st_size;
	if (head(p, e, &st, err) < 0)
		return -1;
	p->fd = take_fd(&fd);
	return 0;
}

static int
next_entry(struct pack *p, struct err *err)
{
	FTSENT *e;

	errno = 0;
	e = fts_read(p->walk);
	if (e == NULL && errno != 0)
		return err_sys(err, "read folder");
	if (e == NULL) {
		p->over = true;
		return archive_write_close(p->tar) == ARCHIVE_OK
		    ? 0
		    : tar_failed(p, err);
	}
	if (p->code && e->fts_level > 0 && left_behind(e)) {
		if (e->fts_info == FTS_D)
			fts_set(p->walk, e, FTS_SKIP);
		return 0;
	}
	if (p->code && (e->fts_info == FTS_SL || e->fts_info == FTS_SLNONE))
		return head(p, e, e->fts_statp, err);
	if (p->code && e->fts_info == FTS_DEFAULT)
		return 0;
	switch (e->fts_info) {
	case FTS_D:
		return e->fts_level == 0 ? 0 : head(p, e, e->fts_statp, err);
	case FTS_DP:
		return 0;
	case FTS_F:
		return start_file(p, e, err);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		errno = e->fts_errno;
		return err_sys(err, "%s", e->fts_path);
	default:
		return err_set(err, ERR_INVALID,
		    "%s is neither a file nor a folder: no image layout has "
		    "such",
		    e->fts_path);
	}
}

static int
more_of_file(struct pack *p, struct err *err)
{
	char buf[65536];
	ssize_t n = read(p->fd, buf, sizeof buf);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0)
		return err_sys(err, "read");
	if (n > p->left || (n == 0 && p->left > 0))
		return err_set(err, ERR_BUSY,
		    "a file changes while it is read");
	if (n > 0 && archive_write_data(p->tar, buf, (size_t)n) != n)
		return tar_failed(p, err);
	p->left -= n;
	if (n == 0) {
		close(p->fd);
		p->fd = -1;
	}
	return 0;
}

ssize_t
pack_read(struct pack *p, void *buf, size_t n, struct err *err)
{
	while (p->out.len == 0 && !p->over)
		if ((p->fd >= 0 ? more_of_file(p, err) : next_entry(p, err)) <
		    0)
			return -1;
	if (n > p->out.len)
		n = p->out.len;
	memcpy(buf, str_text(&p->out), n);
	str_drop(&p->out, n);
	return (ssize_t)n;
}
