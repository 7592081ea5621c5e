#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "rootfs/layer.h"
#include "rootfs/stream.h"

/* An entry: type 'f', 'd', 'l' (to target), 'h' (to target), 'c' (device). */
struct row {
	char type;
	const char *path, *target;
};

#define LAYERS 4

struct place {
	char root[64];
	int dir[LAYERS]; /* nearest first, as a view wants them */
	size_t n;
};

static int
start(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	strcpy(p->root, "/tmp/layer-test-XXXXXX");
	*state = p;
	return mkdtemp(p->root) == NULL;
}

static int
stop(void **state)
{
	struct place *p = *state;
	struct err err;

	for (size_t i = 0; i < p->n; i++)
		close(p->dir[i]);
	file_remove_tree(AT_FDCWD, p->root, &err);
	free(p);
	return 0;
}

/* A tar of these rows, in memory. */
static int
pack(const struct row *rows)
{
	int fd = memfd_create("tar", MFD_CLOEXEC);
	struct archive *a = archive_write_new();

	archive_write_set_format_ustar(a);
	archive_write_open_fd(a, fd);
	for (; rows->type != 0; rows++) {
		struct archive_entry *e = archive_entry_new();

		archive_entry_set_pathname(e, rows->path);
		archive_entry_set_mode(e, 0644);
		archive_entry_set_mtime(e, 1000, 0);
		archive_entry_set_filetype(e,
		    rows->type == 'd'       ? AE_IFDIR
			: rows->type == 'l' ? AE_IFLNK
			: rows->type == 'c' ? AE_IFCHR
					    : AE_IFREG);
		if (rows->type == 'd')
			archive_entry_set_perm(e, 0751);
		if (rows->type == 'l')
			archive_entry_set_symlink(e, rows->target);
		if (rows->type == 'h')
			archive_entry_set_hardlink(e, rows->target);
		if (rows->type == 'f')
			archive_entry_set_size(e, 3);
		assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
		if (rows->type == 'f')
			archive_write_data(a, "abc", 3);
		archive_entry_free(e);
	}
	assert_int_equal(archive_write_free(a), ARCHIVE_OK);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int
try_layer(struct place *p, const struct row *rows, struct budget most,
    struct err *err)
{
	char name[] = "0";
	auto_fd int top = open(p->root, O_RDONLY | O_DIRECTORY);
	auto_fd int tar = pack(rows);
	struct stream *s = stream_open(tar, 1 << 20, err);
	struct layer_stats stats;
	int r;

	assert_non_null(s);
	name[0] = (char)('0' + p->n);
	memmove(p->dir + 1, p->dir, p->n++ * sizeof *p->dir);
	p->dir[0] = file_mkdir_at(top, name, 0755, err);
	assert_true(p->dir[0] >= 0);
	r = layer_unpack(s,
	    &(struct layer_to){ .view = { p->dir[0], p->dir + 1, p->n - 1 },
		.most = most },
	    &stats, err);
	stream_free(s);
	return r;
}

static void
layer(struct place *p, const struct row *rows)
{
	struct err err = { 0 };

	if (try_layer(p, rows, (struct budget){ 1 << 20, 1000 }, &err) < 0)
		fail_msg("%s", err.text);
}

/* What the nearest layer has at path: 'f', 'd', 'l', 'w', or 0 for nothing. */
static char
kind(const struct place *p, const char *path)
{
	struct stat st;

	if (fstatat(p->dir[0], path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return view_whiteout(&st) ? 'w'
	    : S_ISDIR(st.st_mode) ? 'd'
	    : S_ISLNK(st.st_mode) ? 'l'
	    : S_ISREG(st.st_mode) ? 'f'
				  : '?';
}

static size_t
count(const struct place *p, const char *path)
{
	int fd = openat(p->dir[0], path, O_RDONLY | O_DIRECTORY);
	DIR *d = fdopendir(fd);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static void
entries_become_files(void **state)
{
	struct place *p = *state;
	struct stat a, h, d;

	layer(p,
	    (struct row[]){ { 'd', "d/" }, { 'f', "d/a" },
		{ 'h', "d/h", "d/a" }, { 'l', "l", "/d" }, { 'f', "l/b" },
		{ 'f', "x/y/z" }, { 'c', "dev" }, { 0 } });
	assert_int_equal(kind(p, "d/b"), 'f');
	assert_int_equal(kind(p, "l"), 'l');
	assert_int_equal(kind(p, "dev"), 0);
	assert_int_equal(fstatat(p->dir[0], "d/a", &a, 0), 0);
	assert_int_equal(fstatat(p->dir[0], "d/h", &h, 0), 0);
	assert_int_equal(a.st_ino, h.st_ino);
	assert_int_equal(a.st_mtime, 1000);
	assert_int_equal(fstatat(p->dir[0], "d", &d, 0), 0);
	assert_int_equal(d.st_mode & 07777, 0751);
	assert_int_equal(d.st_mtime, 1000);
	assert_int_equal(fstatat(p->dir[0], "x/y", &d, 0), 0);
	assert_int_equal(d.st_mode & 07777, 0755);
}

static void
the_last_of_a_name_wins(void **state)
{
	struct place *p = *state;

	layer(p,
	    (struct row[]){ { 'f', "a" }, { 'd', "a" }, { 'f', "a/in" },
		{ 'd', "b" }, { 'f', "b/in" }, { 'f', "b" }, { 'l', "c", "a" },
		{ 'f', "c" }, { 'f', "e" }, { 'c', "e" }, { 0 } });
	assert_int_equal(kind(p, "a/in"), 'f');
	assert_int_equal(kind(p, "b"), 'f');
	assert_int_equal(kind(p, "c"), 'f');
	assert_int_equal(kind(p, "e"), 0);
}

static void
whiteouts_are_made_where_they_hide(void **state)
{
	struct place *p = *state;

	layer(p,
	    (struct row[]){ { 'd', "d" }, { 'f', "d/1" }, { 'f', "d/2" },
		{ 'd', "e" }, { 'f', "e/1" }, { 'f', "f" }, { 0 } });
	layer(p,
	    (struct row[]){ { 'f', "d/.wh.1" }, { 'f', ".wh.none" },
		{ 'f', ".wh.e" }, { 'f', "e/.wh.1" }, { 'f', ".wh.f" },
		{ 'f', "f" }, { 'f', "new/.wh.x" }, { 0 } });
	assert_int_equal(kind(p, "d/1"), 'w');
	assert_int_equal(kind(p, "none"), 0);
	assert_int_equal(kind(p, "e"), 'w');
	assert_int_equal(kind(p, "f"), 'f');
	assert_int_equal(kind(p, "new"), 0);
	/* What is hidden already needs no second whiteout. */
	layer(p, (struct row[]){ { 'f', "d/.wh.1" }, { 'f', ".wh.e" }, { 0 } });
	assert_int_equal(count(p, "."), 0);
}

static void
opaque_means_each_name_below(void **state)
{
	struct place *p = *state;

	layer(p,
	    (struct row[]){ { 'f', "d/1" }, { 'f', "d/s/1" }, { 'f', "d/t" },
		{ 0 } });
	layer(p, (struct row[]){ { 'f', "d/2" }, { 'f', "d/.wh.t" }, { 0 } });
	layer(p,
	    (struct row[]){ { 'f', "d/s/new" }, { 'f', "d/1" },
		{ 'f', "d/.wh..wh..opq" }, { 0 } });
	assert_int_equal(kind(p, "d/1"), 'f');
	assert_int_equal(kind(p, "d/2"), 'w');
	assert_int_equal(kind(p, "d/t"), 0);
	assert_int_equal(kind(p, "d/s/1"), 'w');
	assert_int_equal(kind(p, "d/s/new"), 'f');
	/* A directory after a file of the same layer: the lower one is gone. */
	layer(p,
	    (struct row[]){ { 'f', "d" }, { 'd', "d" }, { 'f', "d/own" },
		{ 0 } });
	assert_int_equal(kind(p, "d/1"), 'w');
	assert_int_equal(kind(p, "d/s"), 'w');
	assert_int_equal(kind(p, "d/2"), 0);
	assert_int_equal(kind(p, "d/own"), 'f');
}

static void
links_below_are_followed_inside(void **state)
{
	struct place *p = *state;

	layer(p,
	    (struct row[]){ { 'd', "usr/lib" }, { 'f', "usr/lib/old" },
		{ 'l', "lib", "/usr/lib" }, { 'l', "up", "../../../.." },
		{ 'l', "loop", "loop/x" }, { 0 } });
	layer(p,
	    (struct row[]){ { 'f', "lib/new" }, { 'f', "lib/.wh.old" },
		{ 'f', "up/top" }, { 'h', "hard", "lib/old" }, { 0 } });
	assert_int_equal(kind(p, "lib"), 0);
	assert_int_equal(kind(p, "usr/lib/new"), 'f');
	assert_int_equal(kind(p, "top"), 'f');
	assert_int_equal(kind(p, "hard"), 'f');
	/* It was brought up for the link: in this layer, so it stays. */
	assert_int_equal(kind(p, "usr/lib/old"), 'f');
}

static void
nonsense_is_refused(void **state)
{
	static const struct row bad[][3] = {
		{ { 'f', "../x" } },
		{ { 'f', "/x" } },
		{ { 'h', "h", "none" } },
		{ { 'd', "d" }, { 'h', "h", "d" } },
		{ { 'f', "f" }, { 'f', "f/x" } },
		{ { 'l', "a", "a" }, { 'f', "a/x" } },
		{ { 'f', ".wh." } },
		{ { 'h', "h", "../h" } },
		{ { 'f', "." } },
	};
	struct err err;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct place *p;

		start((void **)&p);
		assert_int_equal(try_layer(p, bad[i],
				     (struct budget){ 100, 100 }, &err),
		    -1);
		stop((void **)&p);
	}
	(void)state;
}

static void
budgets_hold(void **state)
{
	struct place *p = *state;
	const struct row rows[] = { { 'f', "a" }, { 'f', "b" }, { 0 } };
	struct err err;

	assert_int_equal(try_layer(p, rows, (struct budget){ 6, 2 }, &err), 0);
	assert_int_equal(try_layer(p, rows, (struct budget){ 5, 9 }, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(try_layer(p, rows, (struct budget){ 9, 1 }, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
}

int
main(void)
{
#define WITH_PLACE(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		WITH_PLACE(entries_become_files),
		WITH_PLACE(the_last_of_a_name_wins),
		WITH_PLACE(whiteouts_are_made_where_they_hide),
		WITH_PLACE(opaque_means_each_name_below),
		WITH_PLACE(links_below_are_followed_inside),
		WITH_PLACE(nonsense_is_refused),
		WITH_PLACE(budgets_hold),
	};

	return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
