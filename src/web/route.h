/*
 * route: which function answers which request, and under what terms.
 *
 * The row states everything that is true before the handler runs: the caller
 * is known, the body is no larger than this, the path's names are bound.  So no
 * handler checks any of it.
 */
#ifndef WEB_ROUTE_H
#define WEB_ROUTE_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct http_req; /* opaque: web/http.c alone knows bufferevents */

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_DELETE,
	HTTP_PATCH,
	HTTP_OPTIONS,
	HTTP_METHODS
};
enum route_auth { AUTH_NONE, AUTH_KEY, AUTH_ADMIN };
enum route_reply { REPLY_JSON, REPLY_EVENTS, REPLY_STREAM, REPLY_TUNNEL };

#define BODY_NONE 0              /* a body is refused */
#define BODY_STREAM SIZE_MAX     /* in pieces, unbounded */
#define BODY_JSON (SIZE_MAX - 1) /* collected, at most http_limits.json_max */

struct route {
	unsigned methods; /* bits: 1u << HTTP_POST | ... */
	/* ":name" binds one segment, "*name" all the rest, even if empty */
	const char *path;
	enum route_auth auth;
	enum route_reply reply;
	size_t body_max;
	/* -1: err is filled, nothing has been replied; http answers with it. */
	int (*handle)(struct http_req *, struct err *);
};

#define ROUTE_NAMES 4

struct route_names { /* pieces of the raw path, not yet decoded */
	struct {
		const char *name, *value;
		size_t name_len, value_len;
	} at[ROUTE_NAMES];
	int n;
};

/*
 * NULL: err says which, ERR_MISSING for an unknown path, ERR_DENIED for a
 * method that this path does not have; *allow is then the methods it has.
 * The first row that fits wins.  One trailing slash is ignored.
 */
const struct route *route_find(const struct route *, size_t n, enum http_method,
    const char *path, struct route_names *, unsigned *allow, struct err *);

#endif
