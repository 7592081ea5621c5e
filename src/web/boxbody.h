/*
 * boxbody: the JSON body of a request to the in-box API, and what is wrong
 * with it, told as upstream's framework tells it (422).
 */
#ifndef WEB_BOXBODY_H
#define WEB_BOXBODY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct err;
struct http_req;

/*
 * NULL: it has been replied to.  What is no object, or no body at all, is an
 * empty object: its fields are missing.
 */
json_t *boxbody_read(struct http_req *);
/* A text field.  -1: missing or no text, replied. */
int boxbody_text(struct http_req *, const json_t *body, const char *name,
    const char **text, size_t *n);
/* The same, when it may be absent: *text is then left alone. */
int boxbody_optional(struct http_req *, const json_t *body, const char *name,
    const char **text, size_t *n);

#endif
