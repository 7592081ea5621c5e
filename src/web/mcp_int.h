/*
 * mcp_int: what the files of the MCP server share: its sessions, and one call.
 *
 * For agent_mcp.c and mcp_*.c only (mcp.c is about servers in sandboxes).
 */
#ifndef WEB_MCP_INT_H
#define WEB_MCP_INT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "web/jsonrpc.h"

struct app;
struct err;
struct http_req;
struct mcp_desk;
struct mcp_session;
struct run;

/* ---- mcp_desk.c: sessions of protocols before 2026-07-28 ---- */

/* The app's, made when it is first asked for. */
struct mcp_desk *mcp_desk_of(struct app *);
/* NULL and err: there are too many. */
struct mcp_session *mcp_session_new(struct mcp_desk *, int tenant,
    struct err *);
struct mcp_session *mcp_session_find(struct mcp_desk *, int tenant,
    const char *id);
const char *mcp_session_id(const struct mcp_session *);
/* Its sandbox is released, its streams end. */
void mcp_session_end(struct mcp_session *);
/* Between these it is not ended for idleness. */
void mcp_session_hold(struct mcp_session *);
void mcp_session_drop(struct mcp_session *);
/* GET: a stream that says nothing, for as long as both are there. */
void mcp_session_listen(struct mcp_session *, struct http_req *);

struct mcp_wait; /* somebody who waits for a sandbox */
/* identity NULL: err. */
typedef void mcp_box_fn(void *arg, const char *identity, const struct err *);
/*
 * The session's own sandbox, made when it is first asked for.  fn comes from
 * the loop or at once, and then NULL is returned.
 */
struct mcp_wait *mcp_session_box(struct mcp_session *, mcp_box_fn *, void *arg);
void mcp_wait_forget(struct mcp_wait *);

/* What a session's client may cancel. */
struct mcp_running {
	struct mcp_running *next;
	char *id;        /* of the request: JSON */
	struct run *run; /* held; NULL: a tool's */
};
void mcp_session_run(struct mcp_session *, struct mcp_running *);
void mcp_session_ran(struct mcp_session *, struct mcp_running *);
void mcp_session_cancel(struct mcp_session *, const char *id);

/* ---- one request ---- */

struct mcp_call {
	struct http_req *q;
	struct app *app;
	int tenant;
	bool modern;                 /* 2026-07-28: no session */
	struct mcp_session *session; /* NULL: none */
	struct jsonrpc rpc;
};

void mcp_fail(struct mcp_call *, int status, int code, const char *message,
    const char *data);
/* result: an object; taken.  What its version wants besides is added. */
void mcp_say(struct mcp_call *, json_t *result);

/* mcp_tools.c: all of them; a call of one.  Both have replied. */
void mcp_tools_list(struct mcp_call *);
void mcp_tools_call(struct mcp_call *);
/* mcp_box.c: a tool of a sandbox. */
struct mcp_tool;
const struct mcp_tool *mcp_tool_find(const char *name);
void mcp_box_tools(json_t *list);
void mcp_box_call(struct mcp_call *, const struct mcp_tool *,
    const json_t *args, const char *progress);
/* {"content":[{text}],"isError":true} and the like: a new object. */
json_t *mcp_text_result(const char *text, bool failed);
/* Does the client take a stream? */
bool mcp_wants_stream(const struct http_req *);

#endif
