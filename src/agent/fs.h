/*
 * fs: names of files in the workspace, resolved so that nothing outside of it
 * is reached.
 *
 * A name may be relative or absolute, with links; it is first made into a path
 * below the root that has neither links nor "." nor "..", then used with calls
 * that follow no link (PATH_NO_LINKS).  Whoever exchanges a directory for a
 * link in between gets an error, not a file outside.  The root is opened anew
 * for each call and closed with it.
 *
 * Errors are those of the wire: ERR_MISSING not there (404), ERR_DENIED
 * outside of the workspace (403), ERR_BUSY something of another kind is in the
 * way (409), ERR_INVALID no name, or no regular file (400), ERR_LIMIT no room
 * (507).
 */
#ifndef AGENT_FS_H
#define AGENT_FS_H

#include <stdbool.h>
#include <sys/stat.h>
#include "agent/call.h"
#include "base/str.h"

struct args;
struct err;
struct world;

struct fs {
	int root; /* O_PATH */
	const char
	    *base; /* its name in the sandbox; "": the sandbox's own root */
	struct str path; /* below it: "" or "a/b" */
};

#define auto_fs __attribute__((cleanup(fs_close)))
#define FS_INIT                                                                \
	{                                                                      \
		.root = -1                                                     \
	}

void fs_close(struct fs *);
/*
 * Open the root and resolve the argument of this name.  last: a link in the
 * last place is followed.  The last part need not exist.
 */
int fs_open(struct fs *, const struct world *, const struct args *,
    const char *name, bool last, struct err *);
/* For the tables of those who use it. */
#define FS_ANYWHERE                                                            \
	{                                                                      \
		"anywhere", ARG_BOOL, 0, 1,                                    \
		    "In the whole sandbox, not in its workspace alone.", true  \
	}
/* openat(2) of .path, following nothing. */
int fs_use(const struct fs *, int flags, struct err *);
/* The directory of .path (O_PATH) and its last part. -1 for the root. */
int fs_parent(const struct fs *, const char **name, struct err *);
/* ... made if missing, as mkdir -p does. */
int fs_make_parent(const struct fs *, const char **name, struct err *);
/* All of .path, made if missing.  1: something was, 0: not, -1. */
int fs_make(const struct fs *, struct err *);

/* errno as an error of the wire; text is what people read. */
int fs_error(struct err *, const char *text);

/*
 * What is called name in dir, for the front.  path is its whole name below the
 * root.  1: *out is filled, its texts live in path and name; 0: a link to
 * nothing; -1: errno says why.
 */
int fs_entry(const struct fs *, int dir, const char *name, const char *path,
    struct call_entry *out, struct stat *);
/* The entry of .path itself, told to the call. */
int fs_tell(const struct fs *, struct call *, struct err *);

#endif
