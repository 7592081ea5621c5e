/*
 * mount: the new mount API, a step at a time, with errors that say what.
 *
 * A tree here is always a descriptor of a mount, detached until someone moves
 * it.  Knows no sandbox: plan.h says what goes where.
 */
#ifndef ISOLATOR_MOUNT_H
#define ISOLATOR_MOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct mount_opt {
	const char *key, *value; /* value NULL: a flag; key NULL ends */
};

/* A fresh file system; attr: MOUNT_ATTR_*.  The text of a failure has the
 * kernel's own words where it has some. */
int mount_new(const char *type, const struct mount_opt *, unsigned attr,
    struct err *);
/* A detached copy of the mount or directory fd (and those below it). */
int mount_clone(int fd, bool recursive, struct err *);
/* set, clr: MOUNT_ATTR_*; userns >= 0: MOUNT_ATTR_IDMAP with it. */
int mount_attr(int fd, unsigned set, int userns, struct err *);
/* mount_clone and mount_attr; one system call where the kernel has it. */
int mount_clone_attr(int fd, unsigned set, int userns, struct err *);
/* Onto dir/name, which is resolved without links; "" is dir itself. */
int mount_move(int tree, int dir, const char *name, struct err *);
/* On top of "/", where it is pivoted to: the old root is gone then. */
int mount_over_root(int tree, struct err *);
int mount_pivot(int root, struct err *);
/* fd's file system context error log, or errno, into err: for overlays. */
int mount_err(int context, struct err *, const char *what);

/* dir/name, made if missing (directories 0755; the last part a file unless
 * directory), no symbolic link on the way; an O_PATH descriptor. */
int mount_point(int dir, const char *name, bool directory, struct err *);

#endif
