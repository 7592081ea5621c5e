/*
 * agent_openai: what the doors in OpenAI's words share: which agent is meant,
 * and how they refuse.
 */
#ifndef WEB_AGENT_OPENAI_H
#define WEB_AGENT_OPENAI_H

#include <jansson.h>

struct ask_fault;
struct deployment;
struct err;
struct http_req;
struct run;
struct sse_ask;

/* {"error":{"message","type","param","code"}}; param, code: NULL is null. */
void openai_refuse(struct http_req *, int status, const char *code,
    const char *param, const char *message);
void openai_fault(struct http_req *, const struct ask_fault *); /* 400 */
/* A failure that the engine told. */
void openai_fail(struct http_req *, const struct err *);

/* The request's JSON object; NULL: there is none, and 400 has been replied. */
json_t *openai_body(struct http_req *);
/*
 * The agent that the path or the model names.  What names an agent is taken
 * out of `request`, for it is no model of the agent's.  NULL: replied.
 */
struct deployment *openai_agent(struct http_req *, const char *model);
bool openai_names_agent(struct http_req *, const char *model);

/* Fills loop, keep-alive and gone: when the reader leaves, d is told. */
void openai_sse(struct http_req *, struct deployment *, struct run *,
    struct sse_ask *);

#endif
