/*
 * rlimit: the process limits that every sandbox has, whatever its cgroup says.
 *
 * A sandbox's are only ever lowered: raising a hard limit needs
 * CAP_SYS_RESOURCE on the host, which the broker may not have.
 */
#ifndef ISOLATOR_RLIMIT_H
#define ISOLATOR_RLIMIT_H

#include <stdint.h>

struct err;

/* In the broker, before it makes user namespaces; in vain if it may not. */
void rlimit_lift(void);
/* nofile 0: as it is.  No core dumps, no real-time priority. */
int rlimit_apply(uint32_t nofile, struct err *);

#endif
