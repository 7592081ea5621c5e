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

int
rlimit_apply(uint32_t nofile, struct err *err)
{
	if (nofile > 0 && lower(RLIMIT_NOFILE, nofile, "nofile", err) < 0)
		return -1;
	/* 1, not 0: if /proc/sys/kernel/core_pattern is a program of the host,
	 * the kernel runs it whatever the limit is, with this exception. */
	if (lower(RLIMIT_CORE, 1, "core", err) < 0 ||
	    lower(RLIMIT_RTPRIO, 0, "rtprio", err) < 0 ||
	    lower(RLIMIT_NICE, 0, "nice", err) < 0)
		return -1;
	return 0;
}
