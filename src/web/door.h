/*
 * door: the routes that need no sandbox and no key.
 */
#ifndef WEB_DOOR_H
#define WEB_DOOR_H

struct err;
struct http_req;

int door_health(struct http_req *, struct err *);
int door_openapi(struct http_req *, struct err *);
int door_docs(struct http_req *, struct err *);
/* No type has a desktop yet: what upstream answers for an unknown sandbox. */
int door_desktop(struct http_req *, struct err *);

#endif
