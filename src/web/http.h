/*
 * http: one HTTP/1.1 server, and the requests on it.
 *
 * Strict by RFC 9112 (parse.h), streaming in both directions in bounded
 * memory, a deadline for each phase.  The order for each request: framing and
 * header names, gate (403), route (404, 405), authentication (401), then the
 * body (413).  A handler runs when its row's terms hold (route.h): with the
 * whole body, or before it when the row has BODY_STREAM.
 *
 * A request lives from its handler's call until its reply is ended or its
 * client is gone, whichever is later told: every struct http_req handed to a
 * handler gets exactly one `closed` callback, after which the pointer is dead.
 * Nothing is ever sent after http_reply_end.  Callbacks come from the loop and
 * never from inside a call of this module.
 */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "web/route.h"

struct err;
struct http_req;
struct http_server;
struct loop;

struct http_limits { /* 0 in none of them; main fills them from conf */
	unsigned connections;
	unsigned head_ms, body_ms, idle_ms, write_ms;
	size_t json_max; /* the most a collected body may have */
	size_t out_high; /* bytes waiting to be sent at which writers pause */
};

/* Who is asking: what auth.c found.  tenant -1: nobody. */
struct http_who {
	int tenant;
	bool admin;
};

struct http_server_conf {
	struct loop *loop;
	const struct route *route;
	size_t nroute;
	struct http_limits limits;
	/*
	 * Fills *who; or -1 and err: ERR_DENIED is a 403, anything else a 401
	 * with this text.
	 */
	int (*auth)(void *arg, struct http_req *, enum route_auth,
	    struct http_who *, struct err *);
	/*
	 * Hosts and origins: may this request be served at all?  0 yes, 1 it
	 * has been replied to here (a preflight), -1 err.  NULL: yes.
	 */
	int (*gate)(void *arg, struct http_req *, struct err *);
	/* Extra headers of every reply: CORS; may be NULL. */
	void (*headers)(void *arg, struct http_req *);
	void *arg;  /* of the three; also http_req_app() */
	bool local; /* a UNIX socket: whoever opened it is admin */
};

struct http_server *http_server_new(const struct http_server_conf *);
/* The listener is bound, listening and non-blocking; taken. */
void http_server_listen(struct http_server *, int fd);
/* Stop accepting, close idle connections, let running requests finish. */
void http_server_drain(struct http_server *);
unsigned http_server_busy(const struct http_server *); /* requests running */
/* Cuts what is left; the only call that tells `closed` from within. */
void http_server_free(struct http_server *);

struct http_stats { /* now */
	unsigned connections;
	size_t collected; /* bytes of bodies that are held in memory */
	/* since the start */
	uint64_t accepted, refused; /* connections; refused: above the cap */
	uint64_t requests, bad;     /* bad: not HTTP, or too slow */
};
void http_server_stats(const struct http_server *, struct http_stats *);

/* ---- reading the request ---- */

enum http_method http_req_method(const struct http_req *);
const char *http_method_name(enum http_method);
const char *http_req_path(const struct http_req *);  /* decoded, // collapsed */
const char *http_req_query(const struct http_req *); /* raw, "" if none */
/* Decoded value of a query parameter, NULL if absent; lives with the request. */
const char *http_req_param(struct http_req *, const char *name);
const char *http_req_header(const struct http_req *, const char *name);
/* A name bound by the route's pattern, decoded; never NULL. */
const char *http_req_name(struct http_req *, const char *name);
const struct http_who *http_req_who(const struct http_req *);
uint64_t http_req_id(const struct http_req *); /* for logs */
void *http_req_app(const struct http_req *);
bool http_req_local(const struct http_req *); /* came by the UNIX socket */
/* What the client would upgrade to; NULL if it doesn't ask. */
const char *http_req_upgrade(const struct http_req *);
void http_req_set_data(struct http_req *, void *); /* the handler's own */
void *http_req_data(const struct http_req *);
/* Client gone, or reply sent: the last callback.  Set in the handler. */
void http_req_on_closed(struct http_req *, void (*closed)(struct http_req *));
/*
 * While a reply is open: the client has sent its last byte.  It may have gone;
 * if so, `closed` follows soon after something is written, not before.
 */
void http_req_on_half_closed(struct http_req *, void (*)(struct http_req *));

/* A row with body_max: the whole body, ended by a NUL that is not counted. */
const uint8_t *http_req_body(const struct http_req *, size_t *n);

/*
 * A row with BODY_STREAM: called with each piece, then once with NULL, 0.
 * The body waits, unread, until this is set; what is left of it when the reply
 * ends is thrown away.  A client that leaves before the end of its body is told
 * by `closed` alone.  Set it before http_reply_start: a client that waits to be
 * told to go on is told so here.
 */
typedef void http_body_fn(struct http_req *, const uint8_t *, size_t n);
void http_req_on_body(struct http_req *, http_body_fn *);
void http_req_pause(struct http_req *); /* no more body callbacks ... */
void http_req_resume(struct http_req *);
int64_t http_req_length(const struct http_req *); /* -1: chunked */

/* ---- replying ---- */

/* Whole reply, then end. */
void http_reply(struct http_req *, int status, const char *type,
    const void *body, size_t n);
/* err to status and {"detail": text}; the one table of errors is in reply.c. */
void http_reply_err(struct http_req *, const struct err *);
/* {"detail": text} with a status that the table has not. */
void http_reply_detail(struct http_req *, int status, const char *text);
/* Before http_reply or http_reply_start. */
void http_reply_header(struct http_req *, const char *name, const char *value);
/* type NULL: no Content-Type.  length -1: chunked. */
void http_reply_start(struct http_req *, int status, const char *type,
    int64_t length);
void http_reply_write(struct http_req *, const void *, size_t n);
/* Bytes not yet taken by the kernel; at or above out_high a writer waits. */
size_t http_reply_backlog(const struct http_req *);
/* Called whenever something was sent and out_high / 2 or less is left. */
void http_reply_on_drained(struct http_req *, void (*)(struct http_req *));
void http_reply_end(struct http_req *);
/* Cut the connection: the client must not take what it has for the whole. */
void http_reply_abort(struct http_req *);

/*
 * A row with REPLY_TUNNEL: answers 101 with this Upgrade value (426 if the
 * client has asked for none); from then on the bytes are the caller's.  Pieces
 * come to on_body, NULL at half-close; http_reply_write sends; http_reply_end
 * closes.
 */
void http_reply_upgrade(struct http_req *, const char *protocol);

#endif
