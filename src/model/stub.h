/*
 * stub: a model that is scripted: chat.completions of OpenAI's shape, as a
 * stream or whole, made from a request without any I/O.
 *
 * Whoever serves it asks for the next piece, sends it, and waits as long as it
 * was told to before the piece after.
 */
#ifndef MODEL_STUB_H
#define MODEL_STUB_H

#include <stddef.h>

struct str;
struct stub;

enum stub_word { STUB_MORE, STUB_END, STUB_CUT };

struct stub *stub_new(const void *body, size_t n);
void stub_free(struct stub *);
unsigned stub_status(const struct stub *);
const char *stub_type(const struct stub *); /* Content-Type */
/* Appends to out, may be nothing; *wait_ms before the next one. */
enum stub_word stub_next(struct stub *, struct str *out, unsigned *wait_ms);
/* GET /v1/models */
void stub_models(struct str *out);

#endif
