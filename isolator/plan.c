#include "base/err.h"
#include "base/str.h"
#include "isolator/plan.h"

/*
 * What /proc shows of the machine rather than of the sandbox, and what of it
 * could be changed.  Nothing else needs a mount: files that only their owner
 * may open or write belong to an id of the host, which no sandbox has, and
 * /proc/sys alone has files that belong to who owns a namespace.
 */
/* clang-format off */
static const struct {
	const char *at;
	enum plan_verb verb;
	unsigned flags;
} proc_rows[] = {
	{ "acpi",		PLAN_MASK,	PLAN_DIR },
	{ "asound",		PLAN_MASK,	PLAN_DIR },
	{ "scsi",		PLAN_MASK,	PLAN_DIR },
	{ "interrupts",		PLAN_MASK,	0 },
	{ "kallsyms",		PLAN_MASK,	0 },
	{ "kcore",		PLAN_MASK,	0 },
	{ "keys",		PLAN_MASK,	0 },
	{ "kmsg",		PLAN_MASK,	0 },
	{ "latency_stats",	PLAN_MASK,	0 },
	{ "pressure",		PLAN_MASK,	PLAN_DIR }, /* triggers, of the host */
	{ "sched_debug",	PLAN_MASK,	0 },
	{ "timer_list",		PLAN_MASK,	0 },
	{ "timer_stats",	PLAN_MASK,	0 },
	{ "sys",		PLAN_SEAL,	0 },
};
/* clang-format on */

static int
add(struct plan *p, struct plan_step s, struct err *err)
{
	if (p->n == PLAN_STEPS)
		return err_set(err, ERR_LIMIT, "plan: more than %d steps",
		    PLAN_STEPS);
	p->step[p->n++] = s;
	return 0;
}

int
plan_masks(struct plan *p, struct err *err)
{
	for (size_t i = 0; i < sizeof proc_rows / sizeof *proc_rows; i++)
		if (add(p,
			(struct plan_step){ proc_rows[i].verb, -1,
			    proc_rows[i].at, 0, proc_rows[i].flags },
			err) < 0)
			return -1;
	return 0;
}

static int
add_proc(struct plan *p, unsigned flags, struct err *err)
{
	if (add(p, (struct plan_step){ PLAN_PROC, -1, "proc", 0, flags }, err) <
	    0)
		return -1;
	if (flags & PLAN_PIDS) /* there is nothing left to hide */
		return 0;
	return plan_masks(p, err);
}

static int
add_mounts(const struct spec *s, struct plan *p, struct err *err)
{
	for (int i = 0; i < s->nmount; i++) {
		const struct spec_mount *m = &s->mount[i];
		unsigned flags = (m->flags & SPEC_READONLY ? PLAN_RO : 0) |
		    (m->flags & SPEC_NOEXEC ? PLAN_NOEXEC : 0) |
		    (m->flags & SPEC_PRIVATE ? PLAN_PRIVATE : 0);
		struct plan_step step = { PLAN_MOVE, SPEC_FD_MOUNT + i,
			m->at + 1, 0, flags };

		if (m->kind == SPEC_MOUNT_TMPFS)
			step = (struct plan_step){ PLAN_TMPFS, -1, m->at + 1,
				m->bytes, flags };
		if (add(p, step, err) < 0)
			return -1;
	}
	return 0;
}

int
plan_make(const struct spec *s, struct plan *p, struct err *err)
{
	unsigned pids = s->flags & SPEC_PROC_PIDS ? PLAN_PIDS | PLAN_RO : 0;

	p->n = 0;
	if (add(p, (struct plan_step){ PLAN_ROOT, SPEC_FD_ROOT, "", 0, 0 },
		err) < 0 ||
	    add(p, (struct plan_step){ PLAN_MOVE, SPEC_FD_DEV, "dev", 0, 0 },
		err) < 0 ||
	    add(p, (struct plan_step){ PLAN_PTS, -1, "dev/pts", 0, 0 }, err) <
		0)
		return -1;
	if (s->fds >> SPEC_FD_SYS & 1 &&
	    add(p, (struct plan_step){ PLAN_MOVE, SPEC_FD_SYS, "sys", 0, 0 },
		err) < 0)
		return -1;
	if (add_proc(p, pids, err) < 0 || add_mounts(s, p, err) < 0 ||
	    add(p, (struct plan_step){ PLAN_PIVOT, -1, "", 0, 0 }, err) < 0)
		return -1;
	if (!(s->flags & SPEC_ROOT_READONLY))
		return 0;
	return add(p, (struct plan_step){ PLAN_READONLY, -1, "", 0, 0 }, err);
}

static const char *const verb_name[PLAN_VERBS] = { "root", "move", "tmpfs",
	"pts", "proc", "mask", "seal", "pivot", "readonly" };

void
plan_print(const struct plan *p, struct str *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_step *s = &p->step[i];

		str_printf(out, "%s /%s", verb_name[s->verb], s->at);
		if (s->fd >= 0)
			str_printf(out, " fd=%d", s->fd);
		if (s->bytes > 0)
			str_printf(out, " size=%llu",
			    (unsigned long long)s->bytes);
		str_printf(out, "%s%s%s%s%s\n", s->flags & PLAN_RO ? " ro" : "",
		    s->flags & PLAN_NOEXEC ? " noexec" : "",
		    s->flags & PLAN_DIR ? " dir" : "",
		    s->flags & PLAN_PIDS ? " pids" : "",
		    s->flags & PLAN_PRIVATE ? " private" : "");
	}
}
