/*
 * policy: what of an archive is taken, and what a name in it means.
 *
 * Pure: text in, a verdict out.  Knows no files and no archive library.
 */
#ifndef ROOTFS_POLICY_H
#define ROOTFS_POLICY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

#define POLICY_DEPTH 256    /* components of a path */
#define POLICY_ID_MAX 65535 /* of a user or group: a slot has so many ids */

enum policy_name {
	NAME_PLAIN,
	NAME_WHITEOUT, /* hides one name of the layers below */
	NAME_OPAQUE,   /* hides all that a directory holds below */
	NAME_IGNORED   /* left over from older union file systems */
};

/*
 * The path without ".", doubled and trailing slashes; "" is the root itself.
 * Absolute paths, "..", and what is too long or too deep are errors.
 */
int policy_path(const char *raw, char out[PATH_MAX], struct err *);
/* parent "/" name, or an error when that is too long; parent may be "". */
int policy_join(const char *parent, const char *name, char out[PATH_MAX],
    struct err *);
/* Where the last component begins. */
const char *policy_base(const char *path);
char *policy_above(const char *path); /* what stands before it; yours to free */
/* What the last component means; *hidden is the name that a whiteout hides. */
int policy_name(const char *base, enum policy_name *, const char **hidden,
    struct err *);
/* May this extended attribute of an archive be set? */
bool policy_xattr(const char *name);
/* Do these owners fit a slot?  The error names path, ids and range. */
int policy_owner(const char *path, int64_t uid, int64_t gid, struct err *);

#endif
