/*
 * watcher: the git repository in a sandbox's workspace (spec 2.7).
 *
 * git runs inside the sandbox, as a short script whose arguments are the
 * client's; only what it prints comes out.
 */
#ifndef WEB_WATCHER_H
#define WEB_WATCHER_H

struct err;
struct http_req;

int watcher_commit(struct http_req *, struct err *);
int watcher_diff(struct http_req *, struct err *);
int watcher_logs(struct http_req *, struct err *);

#endif
