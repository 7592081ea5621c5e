/*
 * view: how a layer in the making looks on top of the layers below it.
 *
 * Answers as an overlay mount of the same directories would, without one:
 * the topmost thing of a name wins, a whiteout (character device 0:0) hides
 * what is below, and so does anything that is not a directory.  Paths are
 * resolved as inside a root of their own: links never lead out.  Only looks.
 */
#ifndef ROOTFS_VIEW_H
#define ROOTFS_VIEW_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct err;

struct view {
	int top;          /* the layer in the making */
	const int *lower; /* directories of finished layers, nearest first */
	size_t nlower;
};

enum view_from { VIEW_ALL, VIEW_LOWER };

struct view_hit {
	int dir; /* which layer: a descriptor of the view, borrowed */
	struct stat st;
};

/*
 * What path is, without following a link in its last component.
 * 1: *hit says; 0: no such thing; -1: an error.  The path is canonical: what
 * stands above its last component is known to be directories.
 */
int view_find(const struct view *, const char *path, enum view_from,
    struct view_hit *hit, struct err *);
/*
 * The path with every link in it followed: names that don't exist stay as
 * they are.  A file in the middle, or too many links, is an error.
 */
int view_resolve(const struct view *, const char *path, char out[PATH_MAX],
    struct err *);
bool view_whiteout(const struct stat *);

#endif
