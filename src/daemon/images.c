#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "daemon/images.h"
#include "daemon/trash.h"

#define LIST_MAGIC "hutch layers 1\n"
#define RECORD_MOST (1 << 20)

/* What a .layers file holds; written and read by the broker only. */
struct list_head {
	char magic[16];
	char name[256];
	uint32_t nlayer, pad;
};

struct entry {
	struct image image;
	TAILQ_ENTRY(entry) next;
};

struct images {
	struct images_dirs dirs;
	TAILQ_HEAD(, entry) all;
};

struct file_name {
	char text[2 * SHA256_BYTES + 8];
};

static struct file_name
name_of(const char *image, const char *ending)
{
	uint8_t digest[SHA256_BYTES];
	struct file_name f;

	sha256(digest, image, strlen(image));
	hex_put(f.text, digest, sizeof digest);
	strcpy(f.text + 2 * SHA256_BYTES, ending);
	return f;
}

bool
images_good_name(const char *name)
{
	size_t n = strnlen(name, 256);

	if (n == 0 || n > 255 || !isalnum((unsigned char)*name))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) &&
		    strchr("._-/:@+", name[i]) == NULL)
			return false;
	return true;
}

static void
entry_free(struct images *im, struct entry *e)
{
	TAILQ_REMOVE(&im->all, e, next);
	free(e->image.layer);
	free(e);
}

static struct entry *
entry_find(const struct images *im, const char *name)
{
	struct entry *e;

	TAILQ_FOREACH(e, &im->all, next)
		if (strcmp(e->image.name, name) == 0)
			return e;
	return NULL;
}

static void
entry_put(struct images *im, const char *name, const void *layers, uint32_t n)
{
	struct entry *e = entry_find(im, name);

	if (e == NULL) {
		e = xcalloc(1, sizeof *e);
		memcpy(e->image.name, name, strlen(name) + 1);
		TAILQ_INSERT_TAIL(&im->all, e, next);
	}
	free(e->image.layer);
	e->image.nlayer = n;
	e->image.layer = xcalloc(n, BROKER_DIGEST);
	memcpy(e->image.layer, layers, (size_t)n * BROKER_DIGEST);
}

const struct image *
images_find(const struct images *im, const char *name)
{
	struct entry *e = entry_find(im, name);

	return e != NULL ? &e->image : NULL;
}

/* ---- lists on disk ---- */

static int
list_load(struct images *im, const char *file, struct err *err)
{
	auto_str struct str text = { 0 };
	struct list_head h;
	struct file_name want;

	if (file_read_at(im->dirs.images, file, &text,
		sizeof h + 2 * BROKER_LAYERS * BROKER_DIGEST, err) < 0)
		return -1;
	if (text.len < sizeof h)
		return err_set(err, ERR_PROTO, "too short");
	memcpy(&h, text.at, sizeof h);
	if (memcmp(h.magic, LIST_MAGIC, sizeof h.magic) != 0 ||
	    h.nlayer > 2 * BROKER_LAYERS ||
	    text.len != sizeof h + (size_t)h.nlayer * BROKER_DIGEST ||
	    memchr(h.name, '\0', sizeof h.name) == NULL)
		return err_set(err, ERR_PROTO, "not a list of layers");
	want = name_of(h.name, ".layers");
	if (strcmp(want.text, file) != 0)
		return err_set(err, ERR_PROTO, "of another image");
	entry_put(im, h.name, text.at + sizeof h, h.nlayer);
	return 0;
}

static int
list_save(const struct images *im, const char *name, const void *layers,
    uint32_t n, struct err *err)
{
	struct file_name file = name_of(name, ".layers");
	auto_str struct str text = { 0 };
	struct list_head h = { .magic = LIST_MAGIC, .nlayer = n };

	memcpy(h.name, name, strlen(name) + 1);
	str_add(&text, &h, sizeof h);
	str_add(&text, layers, (size_t)n * BROKER_DIGEST);
	return file_replace_at(im->dirs.images, file.text, text.at, text.len,
	    0644, err);
}

/* A list without a record, or the reverse: a life that ended between. */
static void
half_there(const struct images *im, const char *file)
{
	const char *dot = strrchr(file, '.');
	struct file_name other;
	struct err err;

	if (dot == NULL || dot - file != 2 * SHA256_BYTES)
		return;
	snprintf(other.text, sizeof other.text, "%.*s%s", (int)(dot - file),
	    file, strcmp(dot, ".json") == 0 ? ".layers" : ".json");
	if (faccessat(im->dirs.images, other.text, F_OK, AT_SYMLINK_NOFOLLOW) ==
	    0)
		return;
	log_say(LOG_NOTE, "half an image removed", "file", file, NULL);
	if (file_remove_tree(im->dirs.images, file, &err) < 0)
		log_err(LOG_WARN, &err, "remove", "file", file, NULL);
}

static DIR *
list_dir(int dir, struct err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

	if (d == NULL) {
		err_sys(err, "list directory");
		if (copy >= 0)
			close(copy);
	}
	return d;
}

struct images *
images_open(const struct images_dirs *dirs, struct err *err)
{
	struct images *im;
	struct dirent *e;
	DIR *d = list_dir(dirs->images, err);

	if (d == NULL)
		return NULL;
	im = xcalloc(1, sizeof *im);
	im->dirs = *dirs;
	TAILQ_INIT(&im->all);
	while ((e = readdir(d)) != NULL)
		half_there(im, e->d_name);
	rewinddir(d);
	while ((e = readdir(d)) != NULL) {
		const char *dot = strrchr(e->d_name, '.');
		struct err why;

		if (dot != NULL && strcmp(dot, ".layers") == 0 &&
		    list_load(im, e->d_name, &why) < 0)
			log_err(LOG_WARN, &why, "list of layers ignored",
			    "file", e->d_name, NULL);
	}
	closedir(d);
	return im;
}

void
images_free(struct images *im)
{
	struct entry *e;

	while ((e = TAILQ_FIRST(&im->all)) != NULL)
		entry_free(im, e);
	free(im);
}

/* ---- layers ---- */

int
images_layer(const struct images *im, const uint8_t digest[BROKER_DIGEST],
    struct err *err)
{
	char hex[2 * BROKER_DIGEST + 1];
	int fd;

	hex_put(hex, digest, BROKER_DIGEST);
	fd = openat(im->dirs.layers, hex,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_MISSING, "no layer %s", hex);
	if (fd < 0)
		return err_sys(err, "layer %s", hex);
	return fd;
}

/* Whoever staged it could still exchange names: look where it can't. */
static int
layer_check(const struct images *im, const char *hex, struct err *err)
{
	struct stat st;

	if (fstatat(im->dirs.layers, hex, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "layer %s", hex);
	if (S_ISDIR(st.st_mode) && st.st_uid - im->dirs.rest < 65536)
		return 0;
	if (trash_add(im->dirs.trash, im->dirs.layers, hex, err) < 0)
		return -1;
	return err_set(err, ERR_DENIED, "%s: not a layer", hex);
}

int
images_commit(struct images *im, int staging,
    const uint8_t digest[BROKER_DIGEST], struct err *err)
{
	char name[2 * BROKER_DIGEST + 8] = "layer-", *hex = name + 6;

	hex_put(hex, digest, BROKER_DIGEST);
	if (renameat2(staging, name, im->dirs.layers, hex, RENAME_NOREPLACE) ==
	    0)
		return layer_check(im, hex, err);
	return errno == EEXIST ? 0 : err_sys(err, "move %s", name);
}

/* ---- records ---- */

/* Copied, not moved: nobody else has the copy open. */
static int
record_copy(const struct images *im, int staging, const char *to,
    struct err *err)
{
	auto_fd int fd = openat(staging, "record.json",
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	auto_str struct str text = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "record.json");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_DENIED, "record.json: not a file");
	if (file_read_all(fd, &text, RECORD_MOST, err) < 0)
		return err_wrap(err, "record.json");
	return file_replace_at(im->dirs.images, to, str_text(&text), text.len,
	    0644, err);
}

static int
layers_check(const struct images *im, const struct broker_record *q,
    struct err *err)
{
	for (uint32_t i = 0; i < q->nlayer; i++) {
		auto_fd int fd = images_layer(im, q->layer[i], err);

		if (fd < 0)
			return -1;
	}
	return 0;
}

/*
 * Old and new layers are both listed while the record is exchanged, so that a
 * crash leaves a layer too much and never one too few.
 */
int
images_record(struct images *im, int staging, const struct broker_record *q,
    struct err *err)
{
	struct file_name json = name_of(q->name, ".json");
	struct entry *old = entry_find(im, q->name);
	auto_str struct str both = { 0 };
	uint32_t n = q->nlayer;

	if (layers_check(im, q, err) < 0)
		return -1;
	str_add(&both, q->layer, (size_t)n * BROKER_DIGEST);
	if (old != NULL && old->image.nlayer <= BROKER_LAYERS) {
		str_add(&both, old->image.layer,
		    (size_t)old->image.nlayer * BROKER_DIGEST);
		n += old->image.nlayer;
	}
	if (list_save(im, q->name, both.at, n, err) < 0)
		return -1;
	if (record_copy(im, staging, json.text, err) < 0)
		return err_wrap(err, "record of %s", q->name);
	if (fsync(im->dirs.images) < 0 ||
	    list_save(im, q->name, q->layer, q->nlayer, err) < 0)
		log_say(LOG_WARN, "a list of layers names too many", "image",
		    q->name, NULL);
	entry_put(im, q->name, q->layer, q->nlayer);
	return 0;
}

int
images_remove(struct images *im, const char *name, struct err *err)
{
	struct entry *e = entry_find(im, name);

	if (e == NULL)
		return err_set(err, ERR_MISSING, "no image %s", name);
	if (unlinkat(im->dirs.images, name_of(name, ".json").text, 0) < 0 ||
	    unlinkat(im->dirs.images, name_of(name, ".layers").text, 0) < 0)
		return err_sys(err, "remove image %s", name);
	entry_free(im, e);
	return 0;
}

static bool
named(const struct images *im, const uint8_t digest[BROKER_DIGEST])
{
	struct entry *e;

	TAILQ_FOREACH(e, &im->all, next)
		for (uint32_t i = 0; i < e->image.nlayer; i++)
			if (memcmp(e->image.layer[i], digest, BROKER_DIGEST) ==
			    0)
				return true;
	return false;
}

unsigned
images_collect(struct images *im,
    bool (*used)(void *arg, const uint8_t digest[BROKER_DIGEST]), void *arg)
{
	struct err err;
	struct dirent *e;
	unsigned n = 0;
	DIR *d = list_dir(im->dirs.layers, &err);

	if (d == NULL) {
		log_err(LOG_WARN, &err, "layers not looked through", NULL);
		return 0;
	}
	while ((e = readdir(d)) != NULL) {
		uint8_t digest[BROKER_DIGEST];

		if (hex_get(digest, sizeof digest, e->d_name) < 0 ||
		    named(im, digest) || used(arg, digest))
			continue;
		if (trash_add(im->dirs.trash, im->dirs.layers, e->d_name,
			&err) < 0)
			log_err(LOG_WARN, &err, "layer not removed", "layer",
			    e->d_name, NULL);
		else
			n++;
	}
	closedir(d);
	return n;
}
