/*
 * serve: one front's stream of calls, each carried out.
 *
 * What comes from the front is checked as a stranger's: it may have been taken
 * over by whoever it talked to.  It names an endpoint of the table, and gets
 * what that answered without the endpoint's secrets.
 */
#ifndef MODEL_SERVE_H
#define MODEL_SERVE_H

#include "model/endpoint.h"

struct loop;
struct poster;
struct serve;

struct serve_conf {
	struct loop *loop;
	struct poster *poster;
	struct endpoints *table; /* may be read anew meanwhile */
	void (*gone)(void *arg, struct serve *); /* free it */
	void *arg;
};

struct serve *serve_new(const struct serve_conf *, int fd); /* fd is taken */
void serve_free(struct serve *);
/* Places at an endpoint may have become free. */
void serve_kick(struct serve *);

#endif
