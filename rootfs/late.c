#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/str.h"
#include "rootfs/late.h"

#define BYTES_MAX (96u << 20)

void
late_free(struct late *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i].path);
	free(l->at);
	*l = (struct late){ 0 };
}

int
late_add(struct late *l, enum late_kind kind, const char *path,
    const struct attr *attr, struct err *err)
{
	size_t size = strlen(path) + 1 + sizeof *l->at;

	if (size > BYTES_MAX - l->bytes)
		return err_set(err, ERR_LIMIT,
		    "too many directories and whiteouts in one layer");
	if (l->n == l->room) {
		l->room = l->room > 0 ? l->room * 2 : 64;
		l->at = xrealloc(l->at, l->room * sizeof *l->at);
	}
	l->at[l->n] = (struct late_item){ .path = xstrdup(path),
		.kind = kind,
		.order = l->n };
	if (attr != NULL)
		l->at[l->n].attr = *attr;
	l->n++;
	l->bytes += size;
	return 0;
}

void
late_path(struct late *l, size_t i, const char *path)
{
	free(l->at[i].path);
	l->at[i].path = xstrdup(path);
}

static int
compare(const void *one, const void *two)
{
	const struct late_item *a = one, *b = two;
	int r = strcmp(a->path, b->path);

	if (r == 0)
		r = (a->kind > b->kind) - (a->kind < b->kind);
	if (r == 0)
		r = (a->order > b->order) - (a->order < b->order);
	return r;
}

void
late_sort(struct late *l)
{
	if (l->n > 0)
		qsort(l->at, l->n, sizeof *l->at, compare);
}

static int
put_dir(const struct late_item *it, int top, bool owners, struct err *err)
{
	struct err why;
	auto_fd int fd = path_open(top, *it->path == '\0' ? "." : it->path,
	    O_RDONLY | O_DIRECTORY, 0, PATH_NO_LINKS, &why);

	if (fd < 0) { /* something else took its place since */
		if (why.sys == ENOENT || why.sys == ENOTDIR || why.sys == ELOOP)
			return 0;
		*err = why;
		return -1;
	}
	if (attr_put(fd, &it->attr, owners, err) < 0)
		return err_wrap(err, "%.120s", it->path);
	return 0;
}

int
late_dirs(const struct late *l, int top, bool owners, struct err *err)
{
	const struct late_item *last = NULL;

	/* From the end: children before parents, the last word before others. */
	for (size_t i = l->n; i-- > 0;) {
		const struct late_item *it = &l->at[i];

		if (it->kind != LATE_DIR ||
		    (last != NULL && strcmp(last->path, it->path) == 0))
			continue;
		last = it;
		if (put_dir(it, top, owners, err) < 0)
			return -1;
	}
	return 0;
}
