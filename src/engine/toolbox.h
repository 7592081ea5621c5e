/*
 * toolbox: what a model may do in a sandbox, and the doing of it.
 *
 * A table of tools with the schemas that a model is shown.  A box belongs to
 * one run: it finds the sandbox of its session (or makes one) when the first
 * tool needs it, runs any number of tools at once, and tells each one's outcome
 * as text.  Knows no model and no message.
 */
#ifndef ENGINE_TOOLBOX_H
#define ENGINE_TOOLBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;
struct manager;
struct toolbox;
struct toolbox_call;

/* Bits of the table's rows.  A name that is none of them: 0. */
#define TOOLBOX_ALL ((1u << 5) - 1)
unsigned toolbox_bit(const char *name);
/* "tools" of chat.completions: JSON text of an array; static or yours? yours. */
char *toolbox_schema(unsigned bits);

struct toolbox_conf {
	struct loop *loop;
	struct manager *manager;
	int tenant;
	const char *type;     /* of a new sandbox; NULL: the default */
	const char *session;  /* session_ctx_id: one sandbox each; copied */
	const char *identity; /* this sandbox, and none is made; copied; NULL */
	unsigned bits;        /* which tools there are */
	uint32_t timeout_ms;
	/* Called once for each call, never from within toolbox_call(). */
	void (*done)(void *arg, size_t index, bool failed, const char *text,
	    size_t n);
	void *arg;
};

struct toolbox *toolbox_new(const struct toolbox_conf *);
/* What runs is ended; done is not called any more. */
void toolbox_free(struct toolbox *);
/* arguments: JSON text, as the model said it. */
void toolbox_call(struct toolbox *, size_t index, const char *name,
    const char *arguments, size_t n);

#endif
