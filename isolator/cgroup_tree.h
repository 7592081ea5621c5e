/*
 * cgroup_tree: what the two implementations of cgroup.h share.
 *
 * A tree is one hierarchy: the directory of this daemon instance in it.  All
 * functions work below descriptors, so that a test hands in any directory.
 */
#ifndef ISOLATOR_CGROUP_TREE_H
#define ISOLATOR_CGROUP_TREE_H

#include <limits.h>
#include "isolator/cgroup.h"

enum { CG_MEMORY, CG_PIDS, CG_CPU, CG_V1 }; /* indices of .v1 */

/* Where this process is in each hierarchy, as paths; "" if there is none. */
struct cgroup_layout {
	char v2_root[256], v2[PATH_MAX];
	char v1_root[CG_V1][256], v1[CG_V1][PATH_MAX];
};

/* From the text of /proc/self/mountinfo and /proc/self/cgroup. */
void cgroup_layout(const char *mountinfo, const char *self,
    struct cgroup_layout *);

struct cgroup_ops {
	const char *kind;
	/* what it can enforce below these directories, by trying */
	unsigned (*can)(struct cgroups *);
	int (*create)(struct cgroups *, struct cgroup *,
	    const struct cgroup_limits *, struct err *);
	int (*limit)(const struct cgroup *, const struct cgroup_limits *,
	    struct err *);
	void (*usage)(const struct cgroup *, struct usage *);
	int (*oom_fd)(const struct cgroup *, struct err *);
};

#define CGROUP_LEFT 64

struct cgroups {
	const struct cgroup_ops *ops;
	char name[48];           /* "hutch-" and the instance's */
	int v2, v1[CG_V1];       /* this instance's directories; -1 */
	int v2_up, v1_up[CG_V1]; /* their parents */
	int from; /* where this process was before it moved; -1: it stayed */
	unsigned can;
	char left[CGROUP_LEFT][40]; /* removed, but for the directory */
	unsigned nleft;
};

extern const struct cgroup_ops cgroup_v2, cgroup_hybrid;

/* Back to where it came from, if it moved. */
void cgroups_return(struct cgroups *);

/* One number of a file: the whole of it, or what follows key. 0 if absent;
 * "max" is 0 too: no limit. */
uint64_t cgroup_number(int dir, const char *file, const char *key);
int cgroup_put(int dir, const char *file, uint64_t value, struct err *err);

#endif
