/*
 * http_int: what the files of the server share; no one else includes it.
 *
 *	server	listeners, the set of connections, drain
 *	conn	one connection: reading, phases, deadlines, its end
 *	req	one request: from a parsed head to its handler
 *	reply	status lines, framing, errors
 *
 * A connection serves one request at a time.  Its life is: read a head, judge
 * it, read the body as fast as its consumer takes it, wait for the reply to be
 * ended and sent, begin anew or linger.  Whatever handlers call only notes
 * what is to be done and posts a turn (conn_post): conn.c acts from the loop.
 */
#ifndef WEB_HTTP_INT_H
#define WEB_HTTP_INT_H

#include <sys/queue.h>
#include "base/str.h"
#include "web/http.h"
#include "web/parse.h"
#include "web/sock.h"

struct watch;

enum {
	/* A body that nobody wants is read this far to keep the connection. */
	DISCARD_MAX = 65536,
	/* After the last reply: so much, so long, or a reset eats the reply. */
	LINGER_BYTES = 8 << 20,
	LINGER_MS = 2000,
	/* While a request runs, pipelined bytes wait up to this. */
	WAITING_MAX = 16384,
	/* A peer we do not read from is looked at so often. */
	PROBE_MS = 1000,
	PROBE_EOF_MS = 100, /* of a client that has sent its last byte */
	/* Connections above the cap, to be told so. */
	REFUSE_MAX = 32,
	/* Bodies of all requests together, in times of the largest one. */
	BODIES_MAX = 32,
};

enum in_state { /* what the bytes that come are */
	IN_HEAD,
	IN_BODY,
	IN_DONE,   /* the next request's, which must wait */
	IN_TUNNEL, /* the handler's */
	IN_LINGER, /* nobody's */
};
enum out_state { OUT_NONE, OUT_OPEN, OUT_ENDED };

struct http_conn {
	struct http_server *server;
	struct sock *sock;
	struct watch *timer;
	TAILQ_ENTRY(http_conn) next, idle;
	struct parse parse;
	struct http_req *req; /* NULL: none, or it has been closed */
	enum in_state in;
	enum out_state out;
	bool keep;   /* another request may follow this reply */
	bool used;   /* a request has been served */
	bool idling; /* in the server's list of idle ones */
	bool eof;    /* the peer has sent its last byte ... */
	bool told;   /* ... and the tunnel's owner knows */
	bool shut;   /* we have */
	bool cut;    /* reset it at the next turn */
	bool dead;   /* its sock is silent; freed at the next turn */
	bool posted, reading, taking;
	bool excess;   /* above the cap */
	int64_t armed; /* when the timer fires; 0: it doesn't */
	int64_t phase_at, probe_at;
	size_t discarded;
};
TAILQ_HEAD(http_conns, http_conn);

struct http_kept { /* a decoded string that lives with the request */
	struct http_kept *next;
	const char *raw; /* what it was decoded from */
	char text[];
};

enum framing { FRAME_NONE, FRAME_LENGTH, FRAME_CHUNKED, FRAME_CLOSE };

struct http_req {
	struct http_conn *conn;
	uint64_t id;
	enum http_method method;
	char *path; /* decoded */
	const struct route *row;
	struct route_names names;
	struct http_who who;
	struct http_kept *kept;
	struct str body;  /* collected */
	struct str extra; /* header lines of the reply */
	bool handled;     /* a handler has it: `closed` is owed */
	bool paused, body_ended;
	bool wrote; /* since `drained` was last told */
	enum framing framing;
	uint64_t out_left; /* FRAME_LENGTH */
	int status;
	http_body_fn *on_body;
	void (*closed)(struct http_req *);
	void (*drained)(struct http_req *);
	void (*half_closed)(struct http_req *);
	void *data;
};

struct http_server {
	struct http_server_conf conf;
	struct http_conns conns, idle; /* idle: longest first */
	unsigned nconn, nbusy, nexcess;
	struct http_listener *listeners;
	struct http_stats stats; /* what is not counted elsewhere */
	bool draining;
	int64_t date_at;
	char date[40];
};

/* conn.c */
struct http_conn *conn_new(struct http_server *, int fd, bool excess);
void conn_free(struct http_conn *); /* at once; tells its request */
void conn_die(struct http_conn *);  /* from the loop only */
void conn_post(struct http_conn *);
/* What is left of the request is little enough to be read for nothing. */
bool conn_is_near_end(const struct http_conn *);

/* req.c */
struct http_req *req_new(struct http_conn *);
void req_free(struct http_req *);  /* tells `closed` when owed */
void req_begin(struct http_req *); /* the head is parsed */
void req_piece(struct http_req *, const uint8_t *, size_t n);
void req_body_end(struct http_req *);
void req_drained(struct http_req *);

/* reply.c */
/* Without a request: framing errors, deadlines.  The last of a connection. */
void reply_conn_error(struct http_conn *, int status, const char *why);
void reply_not_allowed(struct http_req *, unsigned allow);
void reply_unauthorized(struct http_req *, const struct err *);
void reply_interim(struct http_conn *);  /* "100 Continue" */
void reply_continue(struct http_conn *); /* if the client waits for it */

/* server.c */
void server_forget(struct http_conn *); /* it is being freed */
const char *server_date(struct http_server *);

#endif
