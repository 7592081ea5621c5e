#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "rootfs/choose.h"
#include "rootfs/image.h"
#include "rootfs/layer.h"
#include "rootfs/record.h"
#include "rootfs/spool.h"
#include "rootfs/stream.h"

#define NAME_SIZE (sizeof IMAGE_LAYER_PREFIX + 2 * IMAGE_DIGEST)
#define LOCK_SECONDS 1800 /* that another import may take */

OWN_DEFINE(struct stream, stream_free)

struct import {
	const struct image_job *job;
	struct spool spool;
	struct choice choice;
	struct record record;
	bool fresh[MANIFEST_LAYERS]; /* in staging, still to be committed */
	int dir[MANIFEST_LAYERS];    /* nearest first, as a view wants them */
	size_t ndir;
	struct budget left;
	size_t now; /* which layer, for progress */
};

static void say(const struct import *im, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(const struct import *im, const char *fmt, ...)
{
	auto_str struct str text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	im->job->ops->say(im->job->arg, str_text(&text));
}

static void
received(void *arg, uint64_t bytes)
{
	say(arg, "received %llu MiB", (unsigned long long)(bytes >> 20));
}

static void
unpacking(void *arg, const struct layer_stats *stats)
{
	const struct import *im = arg;

	say(im, "layer %zu of %zu: %llu MiB", im->now + 1, im->choice.n,
	    (unsigned long long)(stats->bytes >> 20));
}

/* chain(0) = diff(0); chain(i) = SHA-256 of "chain(i-1) diff(i)". */
static void
chain_id(const uint8_t *below, const uint8_t diff[IMAGE_DIGEST],
    uint8_t id[IMAGE_DIGEST])
{
	char a[2 * IMAGE_DIGEST + 1], b[2 * IMAGE_DIGEST + 1];
	auto_free char *text = NULL;

	memcpy(id, diff, IMAGE_DIGEST);
	if (below == NULL)
		return;
	hex_put(a, below, IMAGE_DIGEST);
	hex_put(b, diff, IMAGE_DIGEST);
	text = xasprintf("sha256:%s sha256:%s", a, b);
	EVP_Digest(text, strlen(text), id, NULL, EVP_sha256(), NULL);
}

static int
check_diff(const struct import *im, const uint8_t got[IMAGE_DIGEST],
    struct err *err)
{
	char hex[2 * IMAGE_DIGEST + 1];

	if (memcmp(got, im->choice.config.diff[im->now], IMAGE_DIGEST) == 0)
		return 0;
	hex_put(hex, got, IMAGE_DIGEST);
	return err_set(err, ERR_INVALID,
	    "its diff_id is sha256:%s, the config says otherwise", hex);
}

/* The layer is there; its blob must be what it claims to be all the same. */
static int
check_blob(struct import *im, struct stream *in, struct err *err)
{
	uint8_t digest[IMAGE_DIGEST];

	if (stream_finish(in, digest, err) < 0)
		return -1;
	return check_diff(im, digest, err);
}

static int
unpack(struct import *im, struct stream *in, const char *name, struct err *err)
{
	struct layer_to to = { .owners = true,
		.most = im->left,
		.tick = unpacking,
		.arg = im };
	struct layer_stats stats;
	uint8_t digest[IMAGE_DIGEST];
	int dir = file_mkdir_at(im->job->staging, name, 0700, err);

	if (dir < 0)
		return -1;
	/* A directory of the view from now on, and closed with it. */
	memmove(im->dir + 1, im->dir, im->ndir++ * sizeof *im->dir);
	im->dir[0] = dir;
	to.view = (struct view){ dir, im->dir + 1, im->ndir - 1 };
	if (layer_unpack(in, &to, &stats, err) < 0 ||
	    stream_finish(in, digest, err) < 0)
		return -1;
	if (stats.bytes > im->left.bytes || stats.entries > im->left.entries)
		return err_set(err, ERR_LIMIT, "the image is too big");
	im->left.bytes -= stats.bytes;
	im->left.entries -= stats.entries;
	if (stats.devices > 0)
		say(im, "layer %zu of %zu: %llu device nodes left out",
		    im->now + 1, im->choice.n,
		    (unsigned long long)stats.devices);
	im->fresh[im->now] = true;
	return check_diff(im, digest, err);
}

static int
make_layer(struct import *im, struct err *err)
{
	struct record_layer *l = &im->record.layer[im->now];
	const struct spool_file *f = im->choice.layer[im->now];
	char name[NAME_SIZE + 1] = IMAGE_LAYER_PREFIX;
	char *hex = name + strlen(IMAGE_LAYER_PREFIX);
	own(stream_free) struct stream *in = NULL;
	auto_fd int fd = spool_open(&im->spool, f, err), there = -1;
	struct err why;
	int r;

	memcpy(l->diff, im->choice.config.diff[im->now], IMAGE_DIGEST);
	chain_id(im->now > 0 ? l[-1].id : NULL, l->diff, l->id);
	hex_put(hex, l->id, IMAGE_DIGEST);
	say(im, "layer %zu of %zu: %.12s", im->now + 1, im->choice.n, hex);
	if (fd < 0)
		return -1;
	/* Headers and padding beside the data: as much again, at least 1 GiB */
	in = stream_open(fd, im->left.bytes + (1u << 30), err);
	if (in == NULL)
		return -1;
	there = path_open(im->job->layers, hex, O_RDONLY | O_DIRECTORY, 0,
	    PATH_NO_LINKS, &why);
	if (there < 0 && why.sys != ENOENT) {
		*err = why;
		return -1;
	}
	r = there < 0 ? unpack(im, in, name, err) : check_blob(im, in, err);
	if (r < 0)
		return -1;
	if (there >= 0) {
		memmove(im->dir + 1, im->dir, im->ndir++ * sizeof *im->dir);
		im->dir[0] = take_fd(&there);
	}
	l->size = stream_bytes(in);
	l->packed = f->size;
	return 0;
}

static int
make_layers(struct import *im, struct err *err)
{
	for (im->now = 0; im->now < im->choice.n; im->now++)
		if (make_layer(im, err) < 0)
			return err_wrap(err, "layer %zu", im->now + 1);
	im->record.n = im->choice.n;
	return 0;
}

static int
hand_over(struct import *im, struct err *err)
{
	const struct image_ops *ops = im->job->ops;
	uint8_t id[MANIFEST_LAYERS][IMAGE_DIGEST];
	auto_free char *text = record_text(&im->record, err);

	if (text == NULL ||
	    file_replace_at(im->job->staging, IMAGE_RECORD, text, strlen(text),
		0644, err) < 0)
		return -1;
	/* A record must not outlive, in a power cut, what it speaks of. */
	if (syncfs(im->job->staging) < 0 && errno != ENOSYS && errno != EPERM)
		return err_sys(err, "sync");
	for (size_t i = 0; i < im->record.n; i++) {
		memcpy(id[i], im->record.layer[i].id, IMAGE_DIGEST);
		if (im->fresh[i] && ops->commit(im->job->arg, id[i], err) < 0)
			return -1;
	}
	return ops->record(im->job->arg, (const uint8_t(*)[IMAGE_DIGEST])id,
	    im->record.n, err);
}

static void
rang(int sig)
{
	(void)sig;
}

/*
 * One import at a time makes layers: what the next one wants is then there.
 * The lock ends with the descriptor, so with the process.
 */
static int
lock(const struct import *im, struct err *err)
{
	struct sigaction ring = { .sa_handler = rang };
	/* An open file of our own: the one passed to us is shared. */
	auto_fd int fd =
	    openat(im->job->layers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return err_sys(err, "open the layers");
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return take_fd(&fd);
	if (errno != EWOULDBLOCK)
		return err_sys(err, "lock the layers");
	say(im, "waiting for another import");
	sigaction(SIGALRM, &ring, NULL);
	alarm(LOCK_SECONDS);
	r = flock(fd, LOCK_EX);
	alarm(0);
	if (r < 0)
		return err_set(err, ERR_TIMEOUT,
		    "another import takes too long");
	return take_fd(&fd);
}

static int
run(struct import *im, int in, struct err *err)
{
	auto_fd int locked = -1;

	im->spool = (struct spool){ .dir = im->job->staging,
		.left = im->left.bytes,
		.tick = received,
		.arg = im };
	if (spool_read(&im->spool, in, err) < 0)
		return err_wrap(err, "archive");
	if (choose(&im->spool, im->job->name, &im->choice, err) < 0)
		return -1;
	locked = lock(im, err);
	if (locked < 0)
		return -1;
	im->record.name = im->job->name;
	im->record.config = &im->choice.config;
	im->record.has_digest = im->choice.has_digest;
	memcpy(im->record.id, im->choice.id, IMAGE_DIGEST);
	memcpy(im->record.digest, im->choice.digest, IMAGE_DIGEST);
	if (make_layers(im, err) < 0)
		return -1;
	spool_free(&im->spool); /* else the sync would write it to the disk */
	return hand_over(im, err);
}

static void
clean_up(struct import *im, bool failed)
{
	struct err ignored;

	for (size_t i = 0; i < im->ndir; i++)
		close(im->dir[i]);
	for (size_t i = 0; failed && i <= im->now && i < im->choice.n; i++) {
		char name[NAME_SIZE + 1] = IMAGE_LAYER_PREFIX;

		hex_put(name + strlen(IMAGE_LAYER_PREFIX),
		    im->record.layer[i].id, IMAGE_DIGEST);
		file_remove_tree(im->job->staging, name, &ignored);
	}
	spool_free(&im->spool);
	choice_free(&im->choice);
	free(im);
}

int
image_import(int in, const struct image_job *job, struct err *err)
{
	struct import *im = xcalloc(1, sizeof *im);
	int r;

	im->job = job;
	im->left = job->most;
	r = run(im, in, err);
	clean_up(im, r < 0);
	return r;
}
