/*
 * kept: runs whose stream can be read again, by their id.
 *
 * A reader of such a run that leaves may come back (Last-Event-ID) within
 * kept_time; only then is the run told that it has left.  When the run is over
 * it can be read for as long again.
 */
#ifndef WEB_KEPT_H
#define WEB_KEPT_H

#include <stdbool.h>

struct app;
struct deployment;
struct http_req;
struct kept;
struct run;

struct kept *kept_new(struct app *);
void kept_free(struct kept *);

/* true: its stream is kept, and kept_gone is to be told of its readers. */
bool kept_add(struct kept *, struct deployment *, int tenant, struct run *);
void kept_gone(void *kept, struct run *); /* a reader has left */
/* GET {native}/runs/ID: from Last-Event-ID or ?after=N on. */
int kept_read(struct http_req *, struct deployment *, const char *id);

#endif
