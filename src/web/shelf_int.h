/*
 * shelf_int: what the files of the shelf share.
 */
#ifndef WEB_SHELF_INT_H
#define WEB_SHELF_INT_H

#include <stdbool.h>

struct responses_store;
struct shelf;

struct responses_store *shelf_store(struct shelf *);
/* Not to be built upon yet. */
bool shelf_goes_on(struct shelf *, const char *tenant, const char *id);

#endif
