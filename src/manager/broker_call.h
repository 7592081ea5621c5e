/*
 * broker_call: asks the broker; one function a request.
 *
 * Many may be out at once, told apart by number; each is answered exactly once,
 * from the loop, in time or with an error.  A reply that nobody waits for any
 * more is dropped with its descriptors.  Knows the link and the structs of
 * wire/broker.h, not what a sandbox is.
 */
#ifndef MANAGER_BROKER_CALL_H
#define MANAGER_BROKER_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/broker.h"

struct broker_ask; /* a question that has not been answered */
struct broker_call;
struct err;
struct link_msg;
struct loop;

/*
 * reply NULL: err says why.  Its body has the size that belongs to the
 * question, its descriptors are as many as promised; those that fn does not
 * take (setting them to -1) are closed afterwards.
 */
typedef void broker_fn(void *arg, struct link_msg *reply, const struct err *);

struct broker_call *broker_call_new(struct loop *, int fd); /* fd is taken */
void broker_call_free(struct broker_call *); /* open questions are forgotten */

/* What the broker says by itself.  Until set, it is dropped. */
void broker_call_on_exited(struct broker_call *,
    void (*)(void *arg, const struct broker_exited *), void *arg);
void broker_call_on_drain(struct broker_call *, void (*)(void *arg), void *arg);
/* A new configuration: the descriptor is the caller's and closed afterwards. */
void broker_call_on_reload(struct broker_call *, void (*)(void *arg, int fd),
    void *arg);
/* The broker has left, or is none of ours.  Told once; questions have ended. */
void broker_call_on_gone(struct broker_call *,
    void (*)(void *arg, const struct err *), void *arg);

/* fn won't be called; the broker does what it was asked all the same. */
void broker_forget(struct broker_ask *);

struct broker_ask *broker_listeners(struct broker_call *, broker_fn *, void *);
/* A stream to hutch-model (wire/model.h).  ERR_BUSY: in a moment. */
struct broker_ask *broker_model(struct broker_call *, broker_fn *, void *);
struct broker_ask *broker_live(struct broker_call *, uint32_t from, broker_fn *,
    void *);
struct broker_ask *broker_build(struct broker_call *,
    const struct broker_build *, broker_fn *, void *);
struct broker_ask *broker_attach(struct broker_call *, const uint8_t *id,
    broker_fn *, void *);
/* ERR_BUSY, ERR_MISSING: an ordinary interpreter will do. */
struct broker_ask *broker_join(struct broker_call *, const uint8_t *id,
    broker_fn *, void *);
struct broker_ask *broker_stop(struct broker_call *, const uint8_t *id,
    broker_fn *, void *);
struct broker_ask *broker_freeze(struct broker_call *, const uint8_t *id,
    bool on, broker_fn *, void *);
struct broker_ask *broker_usage(struct broker_call *, const uint8_t *id,
    broker_fn *, void *);
struct broker_ask *broker_import(struct broker_call *, const char *name,
    broker_fn *, void *);
struct broker_ask *broker_export(struct broker_call *, const char *name,
    broker_fn *, void *);
struct broker_ask *broker_images(struct broker_call *, broker_fn *, void *);
struct broker_ask *broker_image_rm(struct broker_call *, const char *name,
    broker_fn *, void *);

#endif
