#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/walk.h"
#include "base/err.h"

struct walk_level {
	DIR *d;
	size_t path; /* length of walk.path that names this directory */
};

static int
push(struct walk *w, int fd)
{
	DIR *d = fdopendir(fd);

	if (d == NULL) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	if (w->n == w->room) {
		w->room = w->room > 0 ? 2 * w->room : 8;
		w->level = xrealloc(w->level, w->room * sizeof *w->level);
	}
	w->level[w->n].d = d;
	w->level[w->n++].path = w->path.len;
	return 0;
}

int
walk_begin(struct walk *w, int dir, struct err *err)
{
	*w = (struct walk){ 0 };
	str_puts(&w->path, "");
	if (push(w, dir) < 0)
		return err_sys(err, "list");
	return 0;
}

static void
name_it(struct walk *w, const char *name, size_t base)
{
	str_cut(&w->path, base);
	if (base > 0)
		str_putc(&w->path, '/');
	str_puts(&w->path, name);
	w->name = w->path.at + w->path.len - strlen(name);
}

static enum walk_step
leave(struct walk *w)
{
	struct walk_level *l = &w->level[--w->n];
	const char *slash;

	closedir(l->d);
	if (w->n == 0)
		return WALK_END;
	str_cut(&w->path, l->path);
	slash = strrchr(w->path.at, '/');
	w->name = slash != NULL ? slash + 1 : w->path.at;
	w->dir = dirfd(w->level[w->n - 1].d);
	return WALK_LEAVE;
}

enum walk_step
walk_next(struct walk *w)
{
	struct walk_level *l;
	struct dirent *e;

	if (w->n == 0)
		return WALK_END;
	l = &w->level[w->n - 1];
	while ((e = readdir(l->d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			break;
	if (e == NULL)
		return leave(w);
	name_it(w, e->d_name, l->path);
	w->dir = dirfd(l->d);
	return WALK_ENTRY;
}

int
walk_enter(struct walk *w)
{
	int fd;

	if (w->n >= WALK_DEPTH) {
		errno = EMLINK;
		return -1;
	}
	fd = openat(w->dir, w->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : push(w, fd);
}

int
walk_root(const struct walk *w)
{
	return dirfd(w->level[0].d);
}

size_t
walk_depth(const struct walk *w)
{
	return w->n;
}

void
walk_end(struct walk *w)
{
	while (w->n > 0)
		closedir(w->level[--w->n].d);
	free(w->level);
	str_free(&w->path);
	*w = (struct walk){ 0 };
}
