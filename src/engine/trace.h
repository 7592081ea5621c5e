/*
 * trace: spans of what agents do, to an OpenTelemetry collector.
 *
 * OTLP over HTTP as JSON, in batches, by hutch-model; W3C trace context in and
 * out; attributes by the gen_ai conventions.  What was said is never in them.
 * A tracer that is NULL traces nothing, and so does a span that is NULL: who
 * calls need not know.
 */
#ifndef ENGINE_TRACE_H
#define ENGINE_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct loop;
struct model_client;
struct span;
struct tracer;

enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

struct tracer *tracer_new(struct loop *, struct model_client *,
    const char *service);
void tracer_free(struct tracer *); /* what is not sent is lost */

#define TRACEPARENT 56 /* bytes of the text, with its NUL */

/*
 * parent: a traceparent, of anybody's; NULL or nonsense: a trace of its own.
 * NULL when it says that it is not sampled.
 */
struct span *span_begin(struct tracer *, const char *parent, enum span_kind,
    const char *name);
/* What a callee is told; "" for NULL. */
const char *span_traceparent(const struct span *);
void span_text(struct span *, const char *key, const char *); /* NULL: none */
void span_number(struct span *, const char *key, int64_t);
void span_fail(struct span *, const char *type, const char *why);
void span_end(struct span *); /* it is gone */

#endif
