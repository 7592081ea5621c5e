#include <stddef.h>
#include <sys/resource.h>
#include "base/err.h"
#include "isolator/rlimit.h"

static int
lower(int which, rlim_t to, const char *name, struct err *err)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)which, &now) < 0)
		return err_sys(err, "limit %s", name);
	if (now.rlim_max > to)
		now.rlim_max = to;
	now.rlim_cur = now.rlim_max < to ? now.rlim_max : to;
	if (setrlimit((__rlimit_resource_t)which, &now) < 0)
		return err_sys(err, "limit %s", name);
	return 0;
}

/*
 * What the kernel also counts for a user namespace as a whole, against the
 * limit that its creator had, and all sandboxes' namespaces have one owner.
 */
static const struct {
	int which;
	rlim_t inside;
	const char *name;
} counted[] = {
	{ RLIMIT_SIGPENDING, 16384, "sigpending" },
	{ RLIMIT_MSGQUEUE, 819200, "msgqueue" },
	{ RLIMIT_MEMLOCK, 8 << 20, "memlock" },
	{ RLIMIT_NPROC, 65536, "nproc" },
};

void
rlimit_lift(void)
{
	static const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		setrlimit((__rlimit_resource_t)counted[i].which, &all);
}

int
rlimit_apply(uint32_t nofile, struct err *err)
{
	if (nofile > 0 && lower(RLIMIT_NOFILE, nofile, "nofile", err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (lower(counted[i].which, counted[i].inside, counted[i].name,
			err) < 0)
			return -1;
	/* 1, not 0: if /proc/sys/kernel/core_pattern is a program of the host,
	 * the kernel runs it whatever the limit is, with this exception. */
	if (lower(RLIMIT_CORE, 1, "core", err) < 0 ||
	    lower(RLIMIT_RTPRIO, 0, "rtprio", err) < 0 ||
	    lower(RLIMIT_NICE, 0, "nice", err) < 0)
		return -1;
	return 0;
}
