#include <cap-ng.h>
#include <sys/prctl.h>
#include "base/err.h"
#include "isolator/caps.h"

int
caps_keep(uint64_t keep, struct err *err)
{
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned cap = 0; cap < 64; cap++)
		if (keep >> cap & 1 &&
		    capng_update(CAPNG_ADD,
			CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
			cap) < 0)
			return err_set(err, ERR_INVALID, "capability %u", cap);
	if (capng_apply(CAPNG_SELECT_ALL) != 0)
		return err_sys(err, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "no_new_privs");
	return 0;
}
