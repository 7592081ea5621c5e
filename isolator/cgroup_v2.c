#include <stdio.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "isolator/cgroup_tree.h"

/* Absent on a kernel without swap accounting: then there is none to forbid. */
static int
no_swap(int dir, struct err *err)
{
	if (faccessat(dir, "memory.swap.max", W_OK, 0) < 0)
		return 0;
	return file_put_at(dir, "memory.swap.max", "0", err);
}

static int
limit(const struct cgroup *cg, const struct cgroup_limits *l, struct err *err)
{
	char cpu[48];

	if (l->memory > 0 &&
	    (cgroup_put(cg->v2, "memory.max", l->memory, err) < 0 ||
		no_swap(cg->v2, err) < 0 ||
		file_put_at(cg->v2, "memory.oom.group", "1", err) < 0))
		return -1;
	if (l->pids > 0 && cgroup_put(cg->v2, "pids.max", l->pids, err) < 0)
		return -1;
	if (l->cpu_milli > 0) {
		snprintf(cpu, sizeof cpu, "%llu 100000",
		    (unsigned long long)l->cpu_milli * 100);
		if (file_put_at(cg->v2, "cpu.max", cpu, err) < 0)
			return -1;
	}
	if (l->io_weight > 0) { /* best effort: few schedulers know it */
		struct err ignored;

		cgroup_put(cg->v2, "io.weight", l->io_weight, &ignored);
	}
	return 0;
}

static int
create(struct cgroups *cs, struct cgroup *cg, const struct cgroup_limits *l,
    struct err *err)
{
	(void)cs;
	return l != NULL ? limit(cg, l, err) : 0;
}

static void
usage(const struct cgroup *cg, struct usage *u)
{
	u->cpu_us = cgroup_number(cg->v2, "cpu.stat", "usage_usec");
	u->memory = cgroup_number(cg->v2, "memory.current", NULL);
	u->memory_peak = cgroup_number(cg->v2, "memory.peak", NULL);
	u->memory_limit = cgroup_number(cg->v2, "memory.max", NULL);
	u->pids = cgroup_number(cg->v2, "pids.current", NULL);
	u->pids_limit = cgroup_number(cg->v2, "pids.max", NULL);
	u->oom_kills = cgroup_number(cg->v2, "memory.events", "oom_kill");
}

static int
oom_fd(const struct cgroup *cg, struct err *err)
{
	(void)cg;
	return err_set(err, ERR_MISSING, "the kernel ends the whole group");
}

static unsigned
can(struct cgroups *cs)
{
	static const struct {
		const char *file;
		unsigned bit;
	} rows[] = { { "memory.max", CGROUP_MEMORY },
		{ "memory.oom.group", CGROUP_GROUP_OOM },
		{ "pids.max", CGROUP_PIDS }, { "cpu.max", CGROUP_CPU },
		{ "io.weight", CGROUP_IO } };
	unsigned bits = 0;

	/* The instance's own directory has them when its children do. */
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (faccessat(cs->v2, rows[i].file, W_OK, 0) == 0)
			bits |= rows[i].bit;
	return bits;
}

const struct cgroup_ops cgroup_v2 = { "v2", can, create, limit, usage, oom_fd };
