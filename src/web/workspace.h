/*
 * workspace: the files of a sandbox over HTTP (spec 2.6).
 *
 * Streams in both directions in bounded memory.  What a path means and whether
 * it may be touched is the agent's to say.
 */
#ifndef WEB_WORKSPACE_H
#define WEB_WORKSPACE_H

struct err;
struct http_req;

int workspace_read(struct http_req *, struct err *);
int workspace_write(struct http_req *, struct err *);
int workspace_batch(struct http_req *, struct err *);
int workspace_list(struct http_req *, struct err *);
int workspace_exists(struct http_req *, struct err *);
int workspace_remove(struct http_req *, struct err *);
int workspace_move(struct http_req *, struct err *);
int workspace_mkdir(struct http_req *, struct err *);

#endif
