#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "rootfs/hide.h"
#include "rootfs/layer.h"
#include "rootfs/policy.h"
#include "rootfs/stream.h"

#define TICK (8u << 20)

struct job {
	struct unpack u;
	const struct layer_to *to;
	struct stream *stream;
	struct layer_stats stats;
	uint64_t ticked;
};

/* One entry, its names clean. */
struct entry {
	struct archive_entry *ae;
	const char *name; /* last component of canon */
	int dir;          /* where it goes; borrowed */
	struct attr attr;
	char path[PATH_MAX];  /* as the archive has it */
	char canon[PATH_MAX]; /* without links above it */
};

typedef int make_fn(struct job *, struct entry *, struct err *);

static int
put_xattrs(int fd, struct archive_entry *ae, struct err *err)
{
	const char *name;
	const void *value;
	size_t n;

	archive_entry_xattr_reset(ae);
	while (archive_entry_xattr_next(ae, &name, &value, &n) == ARCHIVE_OK)
		if (name != NULL && policy_xattr(name) &&
		    fsetxattr(fd, name, value, n, 0) < 0)
			return err_sys(err, "attribute %.100s", name);
	return 0;
}

static int
write_at(int fd, const char *at, size_t n, off_t offset, struct err *err)
{
	while (n > 0) {
		ssize_t w = pwrite(fd, at, n, offset);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return err_sys(err, "write");
		at += w;
		n -= (size_t)w;
		offset += w;
	}
	return 0;
}

static int
write_data(struct job *j, int fd, uint64_t size, struct err *err)
{
	struct archive *a = stream_tar(j->stream);
	const void *block;
	size_t n;
	la_int64_t at;
	uint64_t end = 0;
	int r;

	while (
	    (r = archive_read_data_block(a, &block, &n, &at)) == ARCHIVE_OK) {
		if (at < 0 || (uint64_t)at > size || n > size - (uint64_t)at)
			return err_set(err, ERR_INVALID, "longer than it says");
		if (write_at(fd, block, n, at, err) < 0)
			return -1;
		end = (uint64_t)at + n;
		j->stats.bytes += n;
		if (j->to->tick != NULL && j->stats.bytes - j->ticked >= TICK) {
			j->ticked = j->stats.bytes;
			j->to->tick(j->to->arg, &j->stats);
		}
	}
	if (r != ARCHIVE_EOF)
		return stream_err(j->stream, err);
	/* A hole may stand at the end. */
	if (end != size && ftruncate(fd, (off_t)size) < 0)
		return err_sys(err, "set size");
	return 0;
}

/* Most names are new, so that is tried first. */
static int
create(struct job *j, struct entry *e, struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
	struct err why;
	int fd = path_open(e->dir, e->name, flags, 0600, PATH_NO_LINKS, &why);

	if (fd < 0 && why.sys != EEXIST)
		*err = why;
	if (fd >= 0 || why.sys != EEXIST)
		return fd;
	if (unpack_clear(&j->u, e->dir, e->name, err) < 0)
		return -1;
	return path_open(e->dir, e->name, flags, 0600, PATH_NO_LINKS, err);
}

static int
make_file(struct job *j, struct entry *e, struct err *err)
{
	la_int64_t size = archive_entry_size(e->ae);
	auto_fd int fd = -1;

	if (size < 0)
		return err_set(err, ERR_INVALID, "negative size");
	if (budget_bytes(&j->u.left, (uint64_t)size, err) < 0)
		return -1;
	fd = create(j, e, err);
	if (fd < 0 || write_data(j, fd, (uint64_t)size, err) < 0 ||
	    put_xattrs(fd, e->ae, err) < 0)
		return -1;
	return attr_put(fd, &e->attr, j->to->owners, err);
}

static int
make_dir(struct job *j, struct entry *e, struct err *err)
{
	struct attr now = e->attr;
	struct stat st;
	auto_fd int fd = -1;
	bool there = fstatat(e->dir, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	if (there && !S_ISDIR(st.st_mode)) {
		/* A directory below must stay hidden, as the file hid it. */
		if (late_add(&j->u.late, LATE_WHITEOUT, e->canon, NULL, err) <
			0 ||
		    unpack_clear(&j->u, e->dir, e->name, err) < 0)
			return -1;
		there = false;
	}
	if (!there && mkdirat(e->dir, e->name, 0700) < 0)
		return err_sys(err, "make directory");
	fd = path_open(e->dir, e->name, O_RDONLY | O_DIRECTORY, 0,
	    PATH_NO_LINKS, err);
	if (fd < 0 || put_xattrs(fd, e->ae, err) < 0)
		return -1;
	now.mode = (now.mode & 0777) | 0700; /* until the end */
	if (attr_put(fd, &now, j->to->owners, err) < 0)
		return -1;
	return late_add(&j->u.late, LATE_DIR, e->canon, &e->attr, err);
}

static int
make_symlink(struct job *j, struct entry *e, struct err *err)
{
	const char *target = archive_entry_symlink(e->ae);

	if (target == NULL || *target == '\0')
		return err_set(err, ERR_INVALID, "link to nothing");
	if (unpack_clear(&j->u, e->dir, e->name, err) < 0)
		return -1;
	if (symlinkat(target, e->dir, e->name) < 0)
		return err_sys(err, "make link");
	return attr_put_at(e->dir, e->name, &e->attr, j->to->owners, err);
}

static int
make_fifo(struct job *j, struct entry *e, struct err *err)
{
	if (unpack_clear(&j->u, e->dir, e->name, err) < 0)
		return -1;
	if (mkfifoat(e->dir, e->name, 0600) < 0)
		return err_sys(err, "make fifo");
	return attr_put_at(e->dir, e->name, &e->attr, j->to->owners, err);
}

/* Not made; but neither is what it would have replaced still there. */
static int
drop_device(struct job *j, struct entry *e, struct err *err)
{
	j->stats.devices++;
	if (unpack_clear(&j->u, e->dir, e->name, err) < 0)
		return -1;
	return late_add(&j->u.late, LATE_WHITEOUT, e->canon, NULL, err);
}

/* The file a hard link means: of this layer, or brought into it. */
static int
link_target(struct job *j, const char *raw, char canon[PATH_MAX],
    struct err *err)
{
	auto_free char *parent = NULL;
	char clean[PATH_MAX];
	struct view_hit hit;
	int r;

	/* Some writers put a slash in front: the image's root. */
	if (policy_path(raw + strspn(raw, "/"), clean, err) < 0)
		return -1;
	parent = policy_above(clean);
	if (view_resolve(&j->u.view, parent, canon, err) < 0 ||
	    policy_join(canon, policy_base(clean), canon, err) < 0)
		return -1;
	r = view_find(&j->u.view, canon, VIEW_ALL, &hit, err);
	if (r == 0 || (r == 1 && S_ISDIR(hit.st.st_mode)))
		return err_set(err, ERR_INVALID,
		    "hard link to %.100s: no such file", raw);
	if (r == 1 && hit.dir != j->u.view.top)
		return unpack_raise(&j->u, canon, &hit, err);
	return r < 0 ? -1 : 0;
}

static int
make_hardlink(struct job *j, struct entry *e, struct err *err)
{
	auto_free char *parent = NULL;
	auto_fd int from = -1;
	char canon[PATH_MAX];

	if (link_target(j, archive_entry_hardlink(e->ae), canon, err) < 0)
		return -1;
	if (strcmp(canon, e->canon) == 0)
		return 0;
	if (unpack_clear(&j->u, e->dir, e->name, err) < 0)
		return -1;
	parent = policy_above(canon);
	from = path_open(j->u.view.top, *parent == '\0' ? "." : parent,
	    O_PATH | O_DIRECTORY, 0, PATH_NO_LINKS, err);
	if (from < 0)
		return -1;
	if (linkat(from, policy_base(canon), e->dir, e->name, 0) < 0)
		return err_sys(err, "hard link to %.100s", canon);
	return 0;
}

/* clang-format off */
static const struct {
	mode_t	 type;
	make_fn	*make;
} kinds[] = {
	{ AE_IFREG,	make_file },
	{ AE_IFDIR,	make_dir },
	{ AE_IFLNK,	make_symlink },
	{ AE_IFIFO,	make_fifo },
	{ AE_IFCHR,	drop_device },
	{ AE_IFBLK,	drop_device },
};
/* clang-format on */

static make_fn *
maker(struct archive_entry *ae)
{
	if (archive_entry_hardlink(ae) != NULL)
		return make_hardlink;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].type == archive_entry_filetype(ae))
			return kinds[i].make;
	return NULL;
}

static int
take_attr(struct job *j, struct entry *e, struct err *err)
{
	int64_t uid = archive_entry_uid(e->ae), gid = archive_entry_gid(e->ae);
	long nsec = archive_entry_mtime_nsec(e->ae);

	if (j->to->owners && policy_owner(e->path, uid, gid, err) < 0)
		return -1;
	e->attr = (struct attr){ .uid = (uid_t)uid,
		.gid = (gid_t)gid,
		.mode = archive_entry_perm(e->ae) & 07777,
		.mtime = { archive_entry_mtime(e->ae),
		    nsec >= 0 && nsec < 1000000000 ? nsec : 0 } };
	return 0;
}

/* 1: it was a mark, and is noted. */
static int
take_mark(struct job *j, const struct entry *e, struct err *err)
{
	const char *hidden, *base = policy_base(e->path);
	auto_free char *parent = policy_above(e->path);
	enum policy_name kind;
	char path[PATH_MAX];

	if (j->to->plain)
		return 0;
	if (policy_name(base, &kind, &hidden, err) < 0)
		return -1;
	if (kind == NAME_PLAIN || kind == NAME_IGNORED)
		return kind == NAME_IGNORED;
	if (kind == NAME_OPAQUE)
		return late_add(&j->u.late, LATE_OPAQUE, parent, NULL, err) < 0
		    ? -1
		    : 1;
	if (policy_join(parent, hidden, path, err) < 0)
		return -1;
	return late_add(&j->u.late, LATE_WHITEOUT, path, NULL, err) < 0 ? -1
									: 1;
}

/* The entry "./": what it says of the root itself. */
static int
take_root(struct job *j, struct entry *e, struct err *err)
{
	if (archive_entry_filetype(e->ae) != AE_IFDIR)
		return err_set(err, ERR_INVALID, "the root is no directory");
	if (take_attr(j, e, err) < 0 ||
	    put_xattrs(j->u.view.top, e->ae, err) < 0)
		return -1;
	return late_add(&j->u.late, LATE_DIR, "", &e->attr, err);
}

static int
take_entry(struct job *j, struct archive_entry *ae, struct err *err)
{
	struct entry e = { .ae = ae };
	const char *raw = archive_entry_pathname(ae);
	make_fn *make = maker(ae);
	int r;

	if (raw == NULL)
		return err_set(err, ERR_INVALID, "entry without a name");
	if (policy_path(raw, e.path, err) < 0)
		return -1;
	if (*e.path == '\0')
		return take_root(j, &e, err);
	r = take_mark(j, &e, err);
	if (r != 0)
		return r < 0 ? -1 : 0;
	if (make == NULL)
		return err_set(err, ERR_INVALID, "%.120s: unknown kind", raw);
	if (take_attr(j, &e, err) < 0)
		return -1;
	e.dir = unpack_parent(&j->u, e.path, &e.attr.mtime, e.canon, err);
	e.name = policy_base(e.canon);
	if (e.dir < 0 || make(j, &e, err) < 0)
		return err_wrap(err, "%.120s", raw);
	return 0;
}

/* The root's own attributes, unless the archive says them later. */
static int
start_root(struct job *j, struct err *err)
{
	struct attr a = { .mode = 0755 };
	struct view_hit hit;
	int r;

	if (j->to->plain)
		return 0;
	r = view_find(&j->u.view, "", VIEW_LOWER, &hit, err);
	if (r < 0)
		return -1;
	if (r == 1)
		a = attr_of(&hit.st);
	return late_add(&j->u.late, LATE_DIR, "", &a, err);
}

static int
run(struct job *j, struct err *err)
{
	struct archive_entry *ae;
	int r;

	if (start_root(j, err) < 0)
		return -1;
	while ((r = stream_next(j->stream, &ae)) == ARCHIVE_OK) {
		j->stats.entries++;
		if (budget_entry(&j->u.left, err) < 0 ||
		    take_entry(j, ae, err) < 0)
			return -1;
	}
	if (r != ARCHIVE_EOF)
		return stream_err(j->stream, err);
	if (hide_apply(&j->u, err) < 0)
		return -1;
	return late_dirs(&j->u.late, j->u.view.top, j->to->owners, err);
}

int
layer_unpack(struct stream *s, const struct layer_to *to,
    struct layer_stats *stats, struct err *err)
{
	struct job *j = xcalloc(1, sizeof *j);
	int r;

	j->to = to;
	j->stream = s;
	unpack_start(&j->u, &to->view, &to->most, to->owners);
	r = run(j, err);
	if (r == 0)
		*stats = j->stats;
	unpack_free(&j->u);
	free(j);
	return r;
}
