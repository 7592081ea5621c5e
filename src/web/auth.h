/*
 * auth: who asks, and whether a browser was talked into asking.
 *
 * Bearer tokens against the tenants' digests; hosts and origins.  Without
 * any token whoever reaches the port may do all, so then a request must name a
 * loopback host (a foreign name that resolves to us is DNS rebinding) and must
 * not come from a foreign page.  With tokens a page has none to send, and CORS
 * decides what it may read.
 *
 * Knows the tenants' table and nothing of what they may do.
 */
#ifndef WEB_AUTH_H
#define WEB_AUTH_H

#include <stdbool.h>
#include "web/http.h"

struct auth;
struct config;
struct err;

/* Keeps a pointer to the configuration. */
struct auth *auth_new(const struct config *);
void auth_free(struct auth *);

/* The three of http_server_conf, less their arg. */
int auth_check(const struct auth *, struct http_req *, enum route_auth,
    struct http_who *, struct err *);
int auth_gate(const struct auth *, struct http_req *, struct err *);
void auth_headers(const struct auth *, struct http_req *);

/* What they are made of. */
/* value: of the Authorization field, NULL if none. */
int auth_token(const struct auth *, const char *value, struct http_who *,
    struct err *);
bool auth_host(const struct auth *, const char *host);     /* one of ours */
bool auth_origin(const struct auth *, const char *origin); /* cors_origins */

#endif
