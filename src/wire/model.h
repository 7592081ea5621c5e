/*
 * model: what the front asks hutch-model for, and what it is told.
 *
 * Frames (frame.h) on a stream pair that the broker made: a struct model_frame
 * and a payload.  Calls are multiplexed by the front's number; a call is
 * MODEL_ASK and its body in pieces, then MODEL_HEAD, bytes as far as there is
 * credit, and MODEL_DONE, which always comes and always comes last (after
 * MODEL_CANCEL, too).  Both ends are built together: structs are the wire.
 * Neither end believes the other: sizes and types are checked, text has its
 * NUL.  No key travels here in any direction.
 */
#ifndef WIRE_MODEL_H
#define WIRE_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;

#define MODEL_CALLS 1024             /* at once */
#define MODEL_BODY_MAX (32u << 20)   /* of a request */
#define MODEL_PIECE (64u << 10)      /* payload of a frame */
#define MODEL_WINDOW (256u << 10)    /* of an answer, before any credit */
#define MODEL_QUEUE_MAX (128u << 20) /* what an end keeps for the other */

enum model_type {
	/* from the front */
	MODEL_ASK = 1, /* struct model_ask */
	MODEL_BODY,    /* a piece; the body's length was told in ask */
	MODEL_CREDIT,  /* value more bytes may come */
	MODEL_CANCEL,
	/* from hutch-model */
	MODEL_HEAD,  /* value: HTTP status; struct model_head */
	MODEL_BYTES, /* a piece of the answer's body */
	MODEL_DONE,  /* value: 0, or 1 + enum err_code; text why */
	MODEL_TYPES
};

struct model_frame {
	uint32_t type, call, value;
};

enum model_op {
	MODEL_CHAT = 1, /* name: a [model NAME]; its chat/completions */
	MODEL_PUSH,     /* url: a stranger's, of a client of ours */
	MODEL_TRACES,   /* the configured collector's v1/traces */
	MODEL_OPS
};

struct model_ask {
	uint32_t op;
	uint32_t body; /* bytes that follow, JSON */
	char name[32];
	char traceparent[64]; /* W3C; "" none */
	/* MODEL_PUSH: */
	char url[1024];
	char token[512]; /* X-A2A-Notification-Token; "" none */
	char auth[1024]; /* Authorization; "" none */
};

struct model_head {
	uint32_t retry_after; /* seconds; 0: not said */
};

/* ---- one end of such a stream ---- */

struct model_conn;

struct model_conn_ops {
	/* -1: it broke the rules; gone follows. */
	int (*frame)(void *arg, const struct model_frame *, const uint8_t *,
	    size_t, struct err *);
	/* Once, from the loop; model_conn_free is yours. */
	void (*gone)(void *arg, const struct err *);
};

/* fd is taken. */
struct model_conn *model_conn_new(struct loop *, int fd,
    const struct model_conn_ops *, void *arg);
void model_conn_free(struct model_conn *);
/* Never waits; n <= MODEL_PIECE.  A stream that is over swallows it. */
void model_conn_send(struct model_conn *, enum model_type, uint32_t call,
    uint32_t value, const void *, size_t n);
size_t model_conn_queued(const struct model_conn *); /* bytes */

#endif
