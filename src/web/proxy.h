/*
 * proxy: /proxy/IDENTITY/..., the API that upstream's boxes serve (spec 2).
 *
 * Nothing is proxied: the sandbox has no HTTP server, these are the same
 * answers made here.  Files are workspace.h's, git is watcher.h's.
 */
#ifndef WEB_PROXY_H
#define WEB_PROXY_H

struct err;
struct http_req;

int proxy_healthz(struct http_req *, struct err *);
int proxy_tool(struct http_req *, struct err *);
int proxy_mcp_list(struct http_req *, struct err *);
int proxy_mcp_call(struct http_req *, struct err *);
int proxy_mcp_add(struct http_req *, struct err *);
int proxy_openapi(struct http_req *, struct err *);
/* What no other row has: 404 or 405, if there is such a sandbox at all. */
int proxy_other(struct http_req *, struct err *);

#endif
