/*
 * A layer's tar, plain or packed, on top of two layers.  The first byte says
 * how.  Beside what sanitizers see: nothing outside of the layer may change.
 * In /dev/shm, since a disk would make it ten times slower.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "rootfs/layer.h"
#include "rootfs/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { PLAIN = 1, ALONE = 2 };

static char root[] = "/dev/shm/layer-fuzz-XXXXXX";
static int outside = -1, lower[2], input;
static struct stat was[2];

static void
look(struct stat st[2])
{
	if (fstat(outside, &st[0]) < 0 ||
	    fstatat(outside, "canary", &st[1], 0) < 0)
		abort();
}

static void
clean(void)
{
	struct err err;

	file_remove_tree(AT_FDCWD, root, &err);
}

/* Links that lead astray, files to be linked to, whiteouts. */
static void
fill(void)
{
	struct err err;

	for (int i = 0; i < 2; i++) {
		int d = file_mkdir_at(lower[i], "d", 0755, &err);
		int s = file_mkdir_at(d, "s", 0755, &err);

		close(openat(s, i ? "one" : "two", O_CREAT | O_WRONLY, 0644));
		close(s);
		close(d);
	}
	if (mknodat(lower[0], "white", S_IFCHR, 0) < 0 ||
	    symlinkat("d/s", lower[1], "l") < 0 ||
	    symlinkat("../../../../../..", lower[1], "up") < 0 ||
	    symlinkat("/tmp", lower[0], "abs") < 0)
		abort();
	close(openat(lower[1], "white", O_CREAT | O_WRONLY, 0644));
	close(openat(lower[1], "f", O_CREAT | O_WRONLY, 0644));
}

static void
start(void)
{
	struct err err;

	if (mkdtemp(root) == NULL)
		abort();
	atexit(clean);
	outside = open(root, O_RDONLY | O_DIRECTORY);
	close(openat(outside, "canary", O_CREAT | O_WRONLY, 0600));
	lower[0] = file_mkdir_at(outside, "0", 0755, &err);
	lower[1] = file_mkdir_at(outside, "1", 0755, &err);
	input = memfd_create("tar", 0);
	umask(0);
	fill();
}

/*
 * A fresh directory each time, made before the outside is looked at.  Without
 * root's rights one that took its own away can't be removed: then another.
 */
static int
fresh(void)
{
	static char name[32] = "top";
	static unsigned n;
	struct err err;
	int top;

	if (file_remove_tree(outside, name, &err) < 0)
		snprintf(name, sizeof name, "top%u", ++n);
	top = file_mkdir_at(outside, name, 0700, &err);
	if (top < 0)
		abort();
	return top;
}

static void
unpack(int top, uint8_t how)
{
	struct layer_to to = { .view = { top, lower, how & ALONE ? 0 : 2 },
		.most = { 1 << 18, 200 },
		.plain = how & PLAIN };
	uint8_t digest[STREAM_DIGEST];
	struct layer_stats stats;
	struct err err;
	struct stream *s = stream_open(input, 1 << 20, &err);

	if (s == NULL)
		return;
	if (layer_unpack(s, &to, &stats, &err) == 0)
		(void)!stream_finish(s, digest, &err);
	stream_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct stat now[2];
	int top;

	if (outside < 0)
		start();
	if (n == 0)
		return 0;
	if (ftruncate(input, 0) < 0 ||
	    pwrite(input, bytes + 1, n - 1, 0) != (ssize_t)(n - 1) ||
	    lseek(input, 0, SEEK_SET) != 0)
		abort();
	top = fresh();
	look(was);
	unpack(top, bytes[0]);
	look(now);
	for (int i = 0; i < 2; i++)
		if (memcmp(&was[i].st_mtim, &now[i].st_mtim,
			sizeof now[i].st_mtim) != 0 ||
		    was[i].st_mode != now[i].st_mode ||
		    was[i].st_nlink != now[i].st_nlink)
			abort();
	close(top);
	return 0;
}
