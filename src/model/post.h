/*
 * post: POSTs of JSON, many at once, on libcurl and the loop.
 *
 * Follows no redirect, speaks http and https only, never keeps more of an
 * answer than libcurl's own buffer: who has no room says so and is asked again
 * after post_room.  Knows no model and no key.
 */
#ifndef MODEL_POST_H
#define MODEL_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;
struct post;
struct poster;

struct poster *poster_new(struct loop *);
void poster_free(struct poster *); /* posts first */

struct post_ops {
	/* The answer's head, once; before any byte. */
	void (*head)(void *arg, unsigned status, unsigned retry_after);
	/* false: there is no room; the same bytes come again */
	bool (*bytes)(void *arg, const void *, size_t);
	/* Over; err NULL: the answer is whole.  The post is gone. */
	void (*done)(void *arg, const struct err *);
};

struct post_want {
	const char *url;
	const char *const *header; /* NULL-ended "Name: value"; copied */
	const char *proxy;         /* NULL: the environment's; "none" */
	char *body;                /* taken */
	size_t nbody;
	unsigned timeout_s, stall_s; /* 0: none */
	bool public_only; /* never to an address that is not the internet's */
	const struct post_ops *ops; /* static */
	void *arg;
};

/* NULL and err: not even begun; the body is gone then, too. */
struct post *post_start(struct poster *, const struct post_want *,
    struct err *);
void post_room(struct post *);
void post_cancel(struct post *); /* done is not called */

/* Whether an address (struct sockaddr) is one of the public internet. */
bool post_is_public(const void *sockaddr);

#endif
