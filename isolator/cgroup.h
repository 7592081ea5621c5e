/*
 * cgroup: one directory per sandbox in each hierarchy in use, and its limits.
 *
 * Two implementations behind one table: v2 (all controllers in the unified
 * tree) and hybrid (v2 for kill, freeze and CLONE_INTO_CGROUP; v1 memory, pids
 * and cpu for limits).  Which one is found out by a real attempt, at start.
 * Knows files below the directories it finds in /proc/self/mountinfo; not why
 * a limit is what it is.
 */
#ifndef ISOLATOR_CGROUP_H
#define ISOLATOR_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct cgroups; /* this host's, and the directory of this daemon in them */

enum {
	CGROUP_MEMORY = 1,
	CGROUP_PIDS = 2,
	CGROUP_CPU = 4,
	CGROUP_IO = 8,
	CGROUP_GROUP_OOM = 16,
	CGROUP_FREEZE = 32,
	CGROUP_KILL = 64
};

struct cgroup_limits {   /* 0: no such limit */
	uint64_t memory; /* bytes; no swap on top */
	uint32_t pids;
	uint32_t cpu_milli; /* thousandths of a processor */
	uint32_t io_weight; /* 1..10000 */
};

enum { CGROUP_TREES = 4 };

struct cgroup { /* zeroed is not empty: see cgroup_init */
	char name[40];
	int v2;               /* its directory; -1: none */
	int v1[CGROUP_TREES]; /* hybrid: memory, pids, cpu, and spare */
};

void cgroup_init(struct cgroup *);

struct usage {
	uint64_t cpu_us, memory, memory_peak, memory_limit;
	uint64_t pids, pids_limit, oom_kills;
};

/* Finds the hierarchies, makes name's own directory in each, tries them out
 * (a clone into a fresh child too: kernel trap of a once-killed parent), kills
 * and removes children that a former life left. */
struct cgroups *cgroups_open(const char *name, struct err *);
void cgroups_close(struct cgroups *); /* removes its directories if empty */
unsigned cgroups_can(const struct cgroups *);     /* CGROUP_* bits */
const char *cgroups_kind(const struct cgroups *); /* "v2", "hybrid" */

/* Its .v2, for a process to be cloned into; then, while that is under way, all
 * else, with limits (NULL: none yet). */
int cgroup_begin(struct cgroups *, const char *name, struct cgroup *,
    struct err *);
int cgroup_complete(struct cgroups *, struct cgroup *,
    const struct cgroup_limits *, struct err *);
/*
 * v1: what a process writes "0" to, to be in; yours to close; -1 beyond.  To
 * move oneself is free: no other thread's migration waits for an RCU period,
 * which to be moved by cgroup.procs costs (kernel/cgroup/cgroup.c,
 * cgroup_procs_write_start).
 */
int cgroup_doors(const struct cgroup *, int fd[CGROUP_TREES], struct err *);
void cgroup_doors_close(int fd[CGROUP_TREES]); /* -1 in each then */
/* One more process, which was born elsewhere, into all hierarchies. */
int cgroup_adopt(const struct cgroup *, pid_t, struct err *);
int cgroup_limit(struct cgroups *, const struct cgroup *,
    const struct cgroup_limits *, struct err *);
int cgroup_kill(const struct cgroup *, struct err *);
int cgroup_freeze(const struct cgroup *, bool on, struct err *);
int cgroup_usage(struct cgroups *, const struct cgroup *, struct usage *,
    struct err *);
/* v1: readable (POLLIN, an eventfd) when the group ran out of memory: then
 * cgroup_kill() it, since v1 kills one process only.  v2: -1 with ERR_MISSING,
 * the kernel ends the group by itself.  Either way .oom_kills tells later. */
int cgroup_oom_fd(struct cgroups *, const struct cgroup *, struct err *);
/* Kill, remove, close.  Never fails and hardly waits: what is still busy is
 * tried again at each later call. */
void cgroup_destroy(struct cgroups *, struct cgroup *);

#endif
