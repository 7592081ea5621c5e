#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/str.h"
#include "manager/image.h"

#define RECORD_MAX (4 << 20)
#define CACHE_MAX 64

struct kept {
	TAILQ_ENTRY(kept) next;
	char *name;
	struct timespec mtime;
	ino_t ino;
	struct image *image;
};

struct images {
	int dir;
	TAILQ_HEAD(, kept) kept;
	unsigned n;
};

struct images *
images_new(void)
{
	struct images *im = xcalloc(1, sizeof *im);

	im->dir = -1;
	TAILQ_INIT(&im->kept);
	return im;
}

static void
kept_drop(struct images *im, struct kept *k)
{
	TAILQ_REMOVE(&im->kept, k, next);
	im->n--;
	image_drop(k->image);
	free(k->name);
	free(k);
}

void
images_free(struct images *im)
{
	struct kept *k;

	while ((k = TAILQ_FIRST(&im->kept)) != NULL)
		kept_drop(im, k);
	if (im->dir >= 0)
		close(im->dir);
	free(im);
}

void
images_dir(struct images *im, int dir)
{
	if (im->dir >= 0)
		close(im->dir);
	im->dir = dir;
}

bool
images_open(const struct images *im)
{
	return im->dir >= 0;
}

/* ---- one record ---- */

void
image_drop(struct image *i)
{
	if (i == NULL || --i->refs > 0)
		return;
	for (char **e = i->env; e != NULL && *e != NULL; e++)
		free(*e);
	free(i->env);
	free(i);
}

bool
image_same(const struct image *a, const struct image *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return a->nlayer == b->nlayer &&
	    memcmp(a->layer, b->layer, a->nlayer * BROKER_DIGEST) == 0;
}

static char **
env_copy(json_t *list)
{
	char **env = xcalloc(json_array_size(list) + 1, sizeof *env);
	size_t i, n = 0;
	json_t *v;

	json_array_foreach(list, i, v) {
		const char *text = json_string_value(v);

		if (text != NULL && strchr(text, '=') > text)
			env[n++] = xstrdup(text);
	}
	return env;
}

static struct image *
image_parse(const char *text, size_t n, struct err *err)
{
	own(json_decref) json_t *doc = json_loadb(text, n, 0, NULL);
	json_t *layers = json_object_get(doc, "layers"), *v;
	size_t i, nlayer = json_array_size(layers);
	struct image *im;

	if (nlayer == 0 || nlayer > BROKER_LAYERS) {
		err_set(err, ERR_INVALID, "its record makes no sense");
		return NULL;
	}
	im = xcalloc(1, sizeof *im + nlayer * sizeof *im->layer);
	im->refs = 1;
	im->nlayer = nlayer;
	json_array_foreach(layers, i, v) {
		const char *id = json_string_value(json_object_get(v, "id"));

		if (id == NULL ||
		    hex_get(im->layer[i], BROKER_DIGEST, id) < 0) {
			err_set(err, ERR_INVALID, "its record's layer %zu", i);
			image_drop(im);
			return NULL;
		}
	}
	im->env =
	    env_copy(json_object_get(json_object_get(doc, "config"), "env"));
	return im;
}

/* ---- finding one ---- */

static int
record_open(struct images *im, const char *name, struct stat *st,
    struct err *err)
{
	char file[2 * SHA256_BYTES + sizeof ".json"];
	uint8_t digest[SHA256_BYTES];
	auto_fd int fd = -1;

	sha256(digest, name, strlen(name));
	hex_put(file, digest, sizeof digest);
	strcat(file, ".json");
	fd = openat(im->dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_MISSING,
		    "it is not in the store; `hutch image ls' lists what "
		    "is, `hutch image import' adds one");
	if (fd < 0 || fstat(fd, st) < 0)
		return err_sys(err, "its record");
	return take_fd(&fd);
}

static struct image *
kept_find(struct images *im, const char *name, const struct stat *st)
{
	struct kept *k;

	TAILQ_FOREACH(k, &im->kept, next) {
		if (strcmp(k->name, name) != 0)
			continue;
		if (k->ino == st->st_ino &&
		    memcmp(&k->mtime, &st->st_mtim, sizeof k->mtime) == 0)
			return k->image;
		kept_drop(im, k);
		return NULL;
	}
	return NULL;
}

static struct image *
read_and_keep(struct images *im, const char *name, int fd,
    const struct stat *st, struct err *err)
{
	auto_str struct str text = { 0 };
	struct image *i;
	struct kept *k;

	if (file_read_all(fd, &text, RECORD_MAX, err) < 0)
		return NULL;
	i = image_parse(str_text(&text), text.len, err);
	if (i == NULL)
		return NULL;
	if (im->n >= CACHE_MAX)
		kept_drop(im, TAILQ_FIRST(&im->kept));
	k = xcalloc(1, sizeof *k);
	k->name = xstrdup(name);
	k->ino = st->st_ino;
	k->mtime = st->st_mtim;
	k->image = i;
	TAILQ_INSERT_TAIL(&im->kept, k, next);
	im->n++;
	return i;
}

static struct image *
get(struct images *im, const char *name, struct err *err)
{
	struct stat st;
	auto_fd int fd = record_open(im, name, &st, err);
	struct image *i;

	if (fd < 0)
		return NULL;
	i = kept_find(im, name, &st);
	if (i == NULL)
		i = read_and_keep(im, name, fd, &st, err);
	if (i != NULL)
		i->refs++;
	return i;
}

struct image *
images_get(struct images *im, const char *name, struct err *err)
{
	const char *base = strrchr(name, '/');
	auto_free char *tagged = NULL;
	struct image *i = get(im, name, err);

	if (i == NULL && err->code == ERR_MISSING &&
	    strchr(base != NULL ? base : name, ':') == NULL) {
		tagged = xasprintf("%s:latest", name);
		i = get(im, tagged, err);
	}
	if (i == NULL)
		err_wrap(err, "image %.100s", name);
	return i;
}
