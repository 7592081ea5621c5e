#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "rootfs/extract.h"
#include "rootfs/layer.h"
#include "rootfs/stream.h"

#define BYTES_MAX (1ull << 40)
#define ENTRIES_MAX (64ull << 20)

OWN_DEFINE(struct stream, stream_free)

static void
tick(void *arg, const struct layer_stats *stats)
{
	const struct extract_to *to = arg;

	if (to->tick != NULL)
		to->tick(to->arg, stats->bytes);
}

int
extract_tar(int fd, const struct extract_to *to, struct err *err)
{
	struct extract_to arg = *to;
	const struct layer_to layer = { .view = { .top = to->dir },
		.most = { BYTES_MAX, ENTRIES_MAX },
		.plain = true,
		.owners = to->owners,
		.tick = tick,
		.arg = &arg };
	struct layer_stats stats;
	uint8_t digest[STREAM_DIGEST];
	own(stream_free) struct stream *in =
	    stream_open(fd, 2 * BYTES_MAX, err);

	if (in == NULL || layer_unpack(in, &layer, &stats, err) < 0)
		return -1;
	return stream_finish(in, digest, err);
}

static bool
is_empty(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *e;
	bool empty = d != NULL;

	while (empty && (e = readdir(d)) != NULL)
		empty =
		    strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (d != NULL)
		closedir(d);
	else if (copy >= 0)
		close(copy);
	return empty;
}

static void
take_away(int dir)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;
	struct err ignored;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			file_remove_tree(dirfd(d), e->d_name, &ignored);
	if (d != NULL)
		closedir(d);
}

int
extract_path(int fd, const char *path, struct extract_to *to, struct err *err)
{
	bool made = mkdir(path, 0755) == 0;
	auto_fd int dir = -1;

	if (!made && errno != EEXIST)
		return err_sys(err, "make %.120s", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return err_sys(err, "open %.120s", path);
	if (!made && !is_empty(dir))
		return err_set(err, ERR_INVALID, "%.120s is not empty", path);
	to->dir = dir;
	if (extract_tar(fd, to, err) == 0)
		return 0;
	take_away(take_fd(&dir));
	if (made)
		rmdir(path);
	return -1;
}
