/*
 * script: what the scripted model does, found in what it was asked.
 *
 * A pure function of the conversation (but for `flaky`, which counts): the
 * same messages always give the same acts.  hutch(1), model-stub.
 */
#ifndef MODEL_SCRIPT_H
#define MODEL_SCRIPT_H

#include <jansson.h>
#include <stddef.h>

enum act_kind {
	ACT_SAY,
	ACT_THINK,
	ACT_CALL,    /* name, text: the arguments */
	ACT_PACE,    /* number: ms before each piece from here on */
	ACT_WAIT,    /* number: ms */
	ACT_FAIL,    /* number: HTTP status; text */
	ACT_CUT,     /* the connection ends here */
	ACT_ENDLESS, /* says text again and again */
	ACT_FINISH,  /* text: the reason */
	ACT_KINDS
};

struct act {
	enum act_kind kind;
	unsigned number;
	char *name, *text;
};

struct script {
	struct act *act;
	size_t n;
	char *reason; /* finish_reason; NULL: by what was done */
};

/* request: the body of chat/completions, an object. */
void script_make(struct script *, const json_t *request);
void script_free(struct script *);

#endif
