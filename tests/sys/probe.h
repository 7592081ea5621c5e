/* What the parts of the probe share. */
#ifndef TESTS_SYS_PROBE_H
#define TESTS_SYS_PROBE_H

#include <stddef.h>

/* name=0, or name=ERRNO when got is negative */
void say(const char *name, long got);
void open_all(const char *const *path, size_t n, int flags);

/* "CapEff" and the like, of /proc/self/status */
long status_caps(const char *key);

void probe_abi(const char *which); /* calls of another ABI, by each way in */
void probe_whoami(const char *);   /* ids and capabilities, after an exec */
void probe_leaks(const char *);    /* what the kernel tells of the host */
void probe_notify(const char *);   /* a filter of the guest's own */
void probe_mounts(const char *);   /* mounts by handle */
void probe_doors(const char *);    /* limits and teardown by side doors */
void probe_escape(const char *);   /* out of the root */
void probe_eat(const char *);      /* that many MiB of memory */
void probe_spin(const char *);  /* that many ms of wall time; prints cpu ms */
void probe_forks(const char *); /* up to that many children; prints how many */
void probe_survive(const char *);  /* a child that wants to outlive all */
void probe_fill(const char *);     /* a file until it is refused; prints MiB */
void probe_reach(const char *);    /* KIND/HOST/PORT,...: what answers */
void probe_abstract(const char *); /* a unix socket without a path */
void probe_exchange(const char *); /* a folder and links, for ever */
void probe_flows(const char *);    /* COUNT/HOST: datagrams, a port each */
void probe_counted(const char *);  /* takes all that is counted by owner */

#endif
