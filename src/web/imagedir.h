/*
 * imagedir: the records of the store's images, read from its directory.
 *
 * The directory is the broker's answer to BROKER_IMAGES; a record is what the
 * fetcher wrote: a stranger's word, checked to be JSON with a name.
 */
#ifndef WEB_IMAGEDIR_H
#define WEB_IMAGEDIR_H

#include <jansson.h>

struct err;

/* A new array, by name; what is no record is left out.  dir is taken. */
json_t *imagedir_list(int dir, struct err *);
/* A new reference; NULL: there is none. */
json_t *imagedir_find(const json_t *list, const char *name);

#endif
