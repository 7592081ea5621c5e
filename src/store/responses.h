/*
 * responses: answers of OpenAI's Responses API that can be asked for again.
 *
 * A row is a response's JSON, the items that were put in, and what it is found
 * by: its id and the conversation.  Knows nothing of what the JSON means.
 * Bounded for each tenant in number and bytes, oldest first out, and by age.
 */
#ifndef STORE_RESPONSES_H
#define STORE_RESPONSES_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct responses_store;

struct response_row { /* texts: never NULL when read; NULL is written as "" */
	const char *tenant, *id, *agent, *conversation, *status;
	const char *body;  /* JSON object */
	const char *input; /* JSON array */
	int64_t created_s;
};

struct response_bounds {
	unsigned rows;  /* of a tenant */
	uint64_t bytes; /* likewise */
	int64_t age_s;
};

/* path: a file; made if missing. */
struct responses_store *responses_open(const char *path,
    const struct response_bounds *, struct err *);
void responses_close(struct responses_store *);

/*
 * Puts it in the place of what was there, and keeps the bounds, roughly.  Seen
 * at once by whoever asks here; on disk after responses_commit().
 */
int responses_put(struct responses_store *, const struct response_row *,
    struct err *);
int responses_commit(struct responses_store *, struct err *);

typedef void response_fn(void *arg, const struct response_row *);
/* 1: fn has been called; 0: there is none.  fn must not write. */
int responses_get(struct responses_store *, const char *tenant, const char *id,
    response_fn *, void *arg, struct err *);
/* The newest of a conversation, at most so many, oldest first. */
int responses_conversation(struct responses_store *, const char *tenant,
    const char *conversation, unsigned limit, response_fn *, void *arg,
    struct err *);
/* 1: it was there. */
int responses_delete(struct responses_store *, const char *tenant,
    const char *id, struct err *);
/* All that are older, at this time, than the bounds allow are gone. */
int responses_expire(struct responses_store *, int64_t now_s, struct err *);

#endif
