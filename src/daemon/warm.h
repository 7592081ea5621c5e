/*
 * warm: one zygote per trusted image, and the copies of it on their way into
 * sandboxes.
 *
 * Trusted is an image that the configuration names for a type; another's
 * Python would be a stranger's code in our process table.  A zygote is started
 * at the first sandbox over its image, so that it is warm when the first cell
 * comes; where there is none the agent starts an ordinary interpreter.
 */
#ifndef DAEMON_WARM_H
#define DAEMON_WARM_H

#include <sys/types.h>

struct broker;
struct err;
struct live;
struct warm;

/* libexec holds hutch_cell.py and hutch_zygote.py.  NULL: no zygotes, the log
 * says why. */
struct warm *warm_new(struct broker *, const char *libexec, uid_t owner);
void warm_free(struct warm *);
/* Have one ready for what this sandbox stands on, if that is trusted. */
void warm_heat(struct warm *, const struct live *);
/* An image changed: what stands on none that is trusted goes. */
void warm_trim(struct warm *);
/* ERR_BUSY: none is warm yet; ERR_MISSING: there will be none. */
int warm_join(struct warm *, struct live *, struct err *);

#endif
