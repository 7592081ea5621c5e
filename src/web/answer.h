/*
 * answer: a run of an agent as the reply to one request: its stream as it
 * comes, or the whole of it at the end.
 *
 * By sse.h; when the client leaves, the run is told (deployment_left).
 */
#ifndef WEB_ANSWER_H
#define WEB_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

struct deployment;
struct err;
struct http_req;
struct reply_kind;
struct run_ask;

/* {"detail":[...]} 422 for what is no JSON; then NULL, and it is replied. */
json_t *answer_body(struct http_req *);

/*
 * Asks for the run and answers with it.  ask->tenant is filled in here.  -1: err, refused, nothing has been replied.
 */
int answer_run(struct http_req *, struct deployment *, struct run_ask *,
    struct err *);

#endif
