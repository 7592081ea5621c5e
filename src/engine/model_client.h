/*
 * model_client: the front's end of the stream to hutch-model.
 *
 * Many calls at once; each ends with exactly one `done`, unless it is canceled.
 * The stream is asked of the broker when it is first needed, and again when it
 * has ended: calls that went on then fail with ERR_BUSY, new ones wait a moment
 * for the new one.  Knows no key, and can't.
 */
#ifndef ENGINE_MODEL_CLIENT_H
#define ENGINE_MODEL_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct broker_call;
struct err;
struct loop;
struct model_call;
struct model_client;

/* broker NULL: streams come by model_client_attach only (tests). */
struct model_client *model_client_new(struct loop *, struct broker_call *);
void model_client_free(struct model_client *); /* calls end without a word */
void model_client_attach(struct model_client *, int fd); /* taken */

struct model_call_ops {
	void (*head)(void *arg, unsigned status, unsigned retry_after_s);
	/* model_call_took() when they are used up */
	void (*bytes)(void *arg, const uint8_t *, size_t);
	void (*done)(void *arg, const struct err *); /* NULL: a whole answer */
};

struct model_want {
	uint32_t op;                    /* enum model_op */
	const char *name;               /* a [model NAME] */
	const char *traceparent;        /* NULL none */
	const char *url, *token, *auth; /* MODEL_PUSH; NULL none */
	const void *body;               /* copied */
	size_t nbody;
	const struct model_call_ops *ops; /* static */
	void *arg;
};

/* NULL and err: refused at once. */
struct model_call *model_call_start(struct model_client *,
    const struct model_want *, struct err *);
void model_call_took(struct model_call *, size_t n);
/* No callback after this; allowed inside of one. */
void model_call_cancel(struct model_call *);

#endif
