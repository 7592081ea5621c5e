/*
 * record: a sandbox's record as the wire shows it.
 */
#ifndef WEB_RECORD_H
#define WEB_RECORD_H

struct http_req;
struct record;
struct sandbox;
struct str;

/* The 20 keys of spec 1.4, in their order. */
void record_put(struct str *out, const struct http_req *,
    const struct record *);
/* What the native API says of it. */
void record_put_native(struct str *out, const struct http_req *,
    const struct sandbox *);

#endif
