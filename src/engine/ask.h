/*
 * ask: a client's request, checked, as the AgentRequest that agents get.
 *
 * Pure: JSON in, JSON out.  What is of a wrong type or out of range is a fault
 * that names the parameter; what agents may want and no check knows is passed
 * on.  ask_responses.c, ask_chat.c: one protocol each; ask_items.c,
 * ask_parts.c: what messages are made of.
 */
#ifndef ENGINE_ASK_H
#define ENGINE_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct str;

struct ask_fault {
	const char *code; /* "invalid_type", "invalid_value", ... */
	char param[96];   /* "input[2].content" */
	char text[256];
};

/* All return -1. */
int ask_missing(struct ask_fault *, const char *param);
int ask_type(struct ask_fault *, const char *param, const char *wanted,
    const json_t *got);
int ask_value(struct ask_fault *, const char *param, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

enum ask_kind {
	ASK_STRING,
	ASK_BOOL,
	ASK_INT,
	ASK_NUMBER,
	ASK_OBJECT,
	ASK_ARRAY,
	ASK_STRING_ARRAY, /* a string or an array */
	ASK_STRING_OBJECT
};

struct ask_member {
	const char *name;
	enum ask_kind kind;
	double min, max; /* equal: no bounds; of a string: its length */
	/* a string's values, NULL-ended; NULL: any */
	const char *const *words;
	const char *as; /* its name in an AgentRequest; NULL: not passed on */
};

/* null is as good as absent. */
int ask_check(const json_t *object, const struct ask_member *, size_t n,
    struct ask_fault *);
/* Copies those that have `as`. */
void ask_copy(json_t *to, const json_t *from, const struct ask_member *,
    size_t n);
int ask_metadata(const json_t *, struct ask_fault *);
/* {"type":"function","function":{...}} from both spellings. */
int ask_tools(json_t *to, const json_t *tools, struct ask_fault *);
int ask_tool_choice(const json_t *, struct ask_fault *);

/* ---- ask_parts.c, ask_items.c ---- */

/* "PARAM.NAME" */
void ask_param(char *out, size_t size, const char *param, const char *name);
/* A string that the object must have; NULL: a fault. */
const json_t *ask_need(const json_t *object, const char *name,
    const char *param, struct ask_fault *);

/* {"type":TYPE,"role":ROLE,"content":[...]}: content is taken. */
json_t *ask_message(const char *type, const char *role, json_t *content);
json_t *ask_texts(const json_t *string); /* content: it */
json_t *ask_data(json_t *data);          /* content: data, which is taken */
/* Content of a message, a string or a list of parts; NULL: a fault. */
json_t *ask_content(const json_t *, const char *param, struct ask_fault *);
/*
 * Appends what Responses' input items are in our messages.  before: items that
 * went before, where a call may be that one of these answers; may be NULL.
 */
int ask_items(json_t *messages, const json_t *before, const json_t *items,
    const char *param, struct ask_fault *);
/*
 * Items of a former turn as they may stand before a new one: outputs without
 * their call are left out, and calls that neither they nor `input` answer.
 */
json_t *ask_paired(const json_t *history, const json_t *input);

/* ---- the two protocols: a new AgentRequest, or NULL and a fault ---- */

/* history: items before the input's; may be NULL. */
json_t *ask_responses(const json_t *body, const json_t *history,
    struct ask_fault *);
/* Checked before, to know what history there is. */
int ask_responses_check(const json_t *body, struct ask_fault *);
/* What a Response repeats of it: members, without braces. */
void ask_responses_echo(struct str *, const json_t *body);
/* The input as a list of items, each with an id: what is stored of it.
 * unique: what the ids are made of. */
json_t *ask_responses_input(const json_t *body, const char *unique);
/* "": none is asked for. */
const char *ask_conversation(const json_t *body);

json_t *ask_chat(const json_t *body, struct ask_fault *);

#endif
