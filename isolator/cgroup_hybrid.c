#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "isolator/cgroup_tree.h"

/* Kernel-facts: v1 for limits, the unified tree for kill, freeze and birth. */

static int
limit_memory(int dir, uint64_t bytes, struct err *err)
{
	struct err ignored;

	/* memsw may never be below memory: first down to it, then up. */
	if (cgroup_put(dir, "memory.limit_in_bytes", bytes, err) < 0) {
		if (err->sys != EINVAL ||
		    cgroup_put(dir, "memory.memsw.limit_in_bytes", bytes,
			&ignored) < 0 ||
		    cgroup_put(dir, "memory.limit_in_bytes", bytes, err) < 0)
			return -1;
	}
	/* Absent where swap isn't accounted. */
	cgroup_put(dir, "memory.memsw.limit_in_bytes", bytes, &ignored);
	return 0;
}

static int
limit(const struct cgroup *cg, const struct cgroup_limits *l, struct err *err)
{
	const int *v1 = cg->v1;

	if (l->memory > 0 && v1[CG_MEMORY] >= 0 &&
	    limit_memory(v1[CG_MEMORY], l->memory, err) < 0)
		return -1;
	if (l->pids > 0 && v1[CG_PIDS] >= 0 &&
	    cgroup_put(v1[CG_PIDS], "pids.max", l->pids, err) < 0)
		return -1;
	if (l->cpu_milli > 0 && v1[CG_CPU] >= 0 &&
	    cgroup_put(v1[CG_CPU], "cpu.cfs_quota_us",
		(uint64_t)l->cpu_milli * 100, err) < 0)
		return -1;
	return 0;
}

static int
create(struct cgroups *cs, struct cgroup *cg, const struct cgroup_limits *l,
    struct err *err)
{
	for (int i = 0; i < CG_V1; i++) {
		if (cs->v1[i] < 0)
			continue;
		cg->v1[i] = file_mkdir_at(cs->v1[i], cg->name, 0755, err);
		if (cg->v1[i] < 0)
			return -1;
	}
	return l != NULL ? limit(cg, l, err) : 0;
}

static void
usage(const struct cgroup *cg, struct usage *u)
{
	int memory = cg->v1[CG_MEMORY], pids = cg->v1[CG_PIDS];

	u->cpu_us = cgroup_number(cg->v2, "cpu.stat", "usage_usec");
	if (memory >= 0) {
		u->memory =
		    cgroup_number(memory, "memory.usage_in_bytes", NULL);
		u->memory_peak =
		    cgroup_number(memory, "memory.max_usage_in_bytes", NULL);
		u->memory_limit =
		    cgroup_number(memory, "memory.limit_in_bytes", NULL);
		u->oom_kills =
		    cgroup_number(memory, "memory.oom_control", "oom_kill");
	}
	if (pids >= 0) {
		u->pids = cgroup_number(pids, "pids.current", NULL);
		u->pids_limit = cgroup_number(pids, "pids.max", NULL);
	}
}

static int
oom_fd(const struct cgroup *cg, struct err *err)
{
	int dir = cg->v1[CG_MEMORY];
	auto_fd int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	auto_fd int control = -1;
	char line[32];

	if (dir < 0)
		return err_set(err, ERR_MISSING, "no memory controller");
	control = openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (event < 0 || control < 0)
		return err_sys(err, "memory.oom_control");
	snprintf(line, sizeof line, "%d %d", event, control);
	if (file_put_at(dir, "cgroup.event_control", line, err) < 0)
		return -1;
	return take_fd(&event);
}

static unsigned
can(struct cgroups *cs)
{
	static const struct {
		const char *file;
		unsigned bits;
	} rows[CG_V1] = {
		[CG_MEMORY] = { "memory.limit_in_bytes",
		    CGROUP_MEMORY | CGROUP_GROUP_OOM },
		[CG_PIDS] = { "pids.max", CGROUP_PIDS },
		[CG_CPU] = { "cpu.cfs_quota_us", CGROUP_CPU },
	};
	unsigned bits = 0;

	for (int i = 0; i < CG_V1; i++)
		if (cs->v1[i] >= 0 &&
		    faccessat(cs->v1[i], rows[i].file, W_OK, 0) == 0)
			bits |= rows[i].bits;
	return bits;
}

const struct cgroup_ops cgroup_hybrid = { "hybrid", can, create, limit, usage,
	oom_fd };
