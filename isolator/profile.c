#include <linux/capability.h>
#include "isolator/caps.h"
#include "isolator/profile.h"
#include "isolator/spec.h"

/*
 * What package managers need to place files of several owners and to run their
 * own helpers under other ids, within the sandbox's ids.  Nothing that reaches
 * the kernel at large: no SYS_ADMIN, NET_ADMIN, SYS_PTRACE, MKNOD, SETFCAP.
 */
#define CAPS_BOX                                                               \
	(CAPS(CAP_CHOWN) | CAPS(CAP_DAC_OVERRIDE) | CAPS(CAP_FOWNER) |         \
	    CAPS(CAP_FSETID) | CAPS(CAP_KILL) | CAPS(CAP_SETGID) |             \
	    CAPS(CAP_SETUID) | CAPS(CAP_NET_BIND_SERVICE))

#define CAPS_FETCH                                                             \
	(CAPS(CAP_CHOWN) | CAPS(CAP_DAC_OVERRIDE) | CAPS(CAP_FOWNER) |         \
	    CAPS(CAP_FSETID) | CAPS(CAP_SETFCAP))

#define FLAGS_OWN (SPEC_PROC_PIDS | SPEC_STDERR | SPEC_ROOT_READONLY)

static const struct profile_row rows[PROFILES] = {
	[PROFILE_BOX] = { "box", CAPS_BOX, 0, 4096, true },
	[PROFILE_HARDENED] = { "hardened", CAPS_BOX,
	    SPEC_ROOT_READONLY | SPEC_PROC_PIDS | SPEC_LANDLOCK, 4096, true },
	[PROFILE_FRONT] = { "front", 0, FLAGS_OWN, 0, false, false, 64 },
	[PROFILE_FETCH] = { "fetch", CAPS_FETCH, FLAGS_OWN, 0, false, false,
	    64 },
	/* libcurl asks for addresses in threads. */
	[PROFILE_MODEL] = { "model", 0, FLAGS_OWN, 0, false, true, 256 },
};

const struct profile_row *
profile_row(enum profile p)
{
	return &rows[p];
}
