/*
 * completion: what a model says, from the chunks of chat.completions.
 *
 * Tells text, reasoning and tool calls as they come and keeps all of it, as the
 * message that the model is shown next time.  Also reads an answer that came
 * whole.  What the endpoint wrote is a stranger's word: sizes are bounded, what
 * is not as it should be is an error or is ignored.  Pure, and fuzzed.
 */
#ifndef ENGINE_COMPLETION_H
#define ENGINE_COMPLETION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/str.h"

struct err;

#define COMPLETION_CALLS 64
#define COMPLETION_MOST (8u << 20) /* bytes of text, or of arguments */

struct tool_call {
	char *id, *name;
	struct str arguments; /* JSON text, if the model keeps to it */
};

struct completion_ops {
	void (*text)(void *arg, const char *, size_t n);
	void (*thought)(void *arg, const char *, size_t n);
	void (*call)(void *arg, size_t index); /* it has grown */
};

struct completion {
	const struct completion_ops *ops;
	void *arg;
	struct str text, thought;
	struct tool_call call[COMPLETION_CALLS];
	size_t ncall;
	char *finish;  /* finish_reason; NULL: not said */
	json_t *usage; /* as it was said; NULL */
	bool done;     /* [DONE] */
};

void completion_init(struct completion *, const struct completion_ops *,
    void *arg);
void completion_free(struct completion *);
/* The data of one event: a chunk, an error or [DONE]. */
int completion_chunk(struct completion *, const char *, size_t n, struct err *);
/* An answer that did not come as a stream. */
int completion_whole(struct completion *, const char *, size_t n, struct err *);
/* As a message of the conversation; a new reference. */
json_t *completion_message(const struct completion *);
/* The same of its text alone. */
json_t *completion_text(const struct completion *);
/* The text of an error's body, whatever its shape; yours to free. */
char *completion_error(const char *body, size_t n);

#endif
