#include <cap-ng.h>
#include <errno.h>
#include <sys/prctl.h>
#include "base/err.h"
#include "isolator/caps.h"

/* libcap-ng reads /proc three times for this; a sandbox's start has 20 us. */
int
caps_bound(uint64_t keep, struct err *err)
{
	for (unsigned cap = 0; cap < 64; cap++) {
		if (keep >> cap & 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL) /* the kernel has no more of them */
			return 0;
		return err_sys(err, "bounding set");
	}
	return 0;
}

/* Nothing inheritable: so nothing stays ambient, either. */
int
caps_set(uint64_t keep, struct err *err)
{
	capng_clear(CAPNG_SELECT_CAPS);
	for (unsigned cap = 0; cap < 64; cap++)
		if (keep >> cap & 1 &&
		    capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
			cap) < 0)
			return err_set(err, ERR_INVALID, "capability %u", cap);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return err_sys(err, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "no_new_privs");
	return 0;
}

int
caps_keep(uint64_t keep, struct err *err)
{
	return caps_bound(keep, err) < 0 ? -1 : caps_set(keep, err);
}
