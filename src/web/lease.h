/*
 * lease: sandboxes that end unless somebody comes for them in time.
 *
 * `hutch run' makes a sandbox and then runs its command there, which ends the
 * sandbox with it.  Between the two nobody holds it: a client that is killed
 * then would leave it for good.
 */
#ifndef WEB_LEASE_H
#define WEB_LEASE_H

#include <stdint.h>

struct app;
struct leases;

struct leases *leases_new(struct app *);
void leases_free(struct leases *); /* the sandboxes stay */
/* id: public and whole. */
void lease_add(struct leases *, const char *id, uint32_t seconds);
void lease_end(struct leases *, const char *id); /* somebody has come */

#endif
