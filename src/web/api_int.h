/*
 * api_int: what the files of the native interface share.
 */
#ifndef WEB_API_INT_H
#define WEB_API_INT_H

struct err;
struct http_req;
struct str;

/* {"code":...,"detail":...} with the status of the code; returns 0. */
int api_fail(struct http_req *, const struct err *);
void api_put_error(struct str *out, const struct err *);
/* Whose sandboxes the caller may see: a tenant, or -1 for everybody's. */
int api_scope(const struct http_req *);
int api_none(struct http_req *, const char *identity); /* unknown: 404 */
void api_done(struct http_req *);                      /* 204 */

#endif
