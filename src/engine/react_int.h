/*
 * react_int: what the halves of react share: what it does (react.c), and what
 * of it is told to the run (react_say.c).
 */
#ifndef ENGINE_REACT_INT_H
#define ENGINE_REACT_INT_H

#include "base/err.h"
#include "base/str.h"
#include "engine/completion.h"
#include "engine/event.h"
#include "engine/react.h"
#include "engine/sse_in.h"

struct model_call;
struct span;
struct toolbox;
struct watch;

struct react {
	struct react_conf conf;
	struct run *run; /* held */
	char *session, *type;
	unsigned step, tries;
	struct watch *timer;
	bool over, paused;
	/* the model's answer */
	struct model_call *call;
	unsigned status, retry_after;
	struct completion said;
	struct sse_in sse;
	struct str body;  /* of an error, or of an answer that is no stream */
	bool some, whole; /* bytes have come; they are one document */
	bool complete;    /* all of it is there */
	size_t owed;      /* bytes not yet credited */
	bool text_open, thought_open;
	size_t told[COMPLETION_CALLS]; /* of each call's arguments */
	struct err bad;
	bool broken; /* .bad says why */
	/* its tools */
	struct toolbox *box;
	json_t *result[COMPLETION_CALLS];
	size_t waits;
	json_int_t in, out; /* tokens */
	char *parent;       /* traceparent; NULL */
	struct span *asked, *ran[COMPLETION_CALLS];
};

/* Tells text, reasoning and calls as they come. */
extern const struct completion_ops react_said;
/* An open message of this answer: 't' text, 'r' reasoning. */
void react_close_part(struct react *, char what, bool *open);
/* 'c' the call, 'o' the output of the tool of this index. */
void react_open_tool(struct react *, char what, size_t i, const char *type,
    const char *role);
void react_tool_value(struct react *, char what, size_t i, const char *member,
    const char *text, size_t n, bool completed);
void react_close_message(struct react *, char what, size_t n, enum run_status);
void react_name_call(struct react *, struct tool_call *, size_t i);
void react_tell_output(struct react *, size_t i, const char *text, size_t n);

#endif
