/*
 * rpc: the 28 routes of spec 1.3 as one table of 14 operations.
 *
 * Every one is POST with a JSON object of arguments; success is
 * {"data": result}, any failure a 500 {"detail":"Error in <endpoint>: text"},
 * which is what the SDK understands.  The `_async` form of an operation is the
 * same; on those that the SDK declares with star-args, "args" and "kwargs" are
 * taken for the first and the second parameter.
 */
#ifndef WEB_RPC_H
#define WEB_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct app;
struct err;
struct http_req;
struct sandbox;
struct str;
struct wait;
struct work;

#define RPC_ARGS 5

struct rpc_call;

struct rpc {
	const char *name;
	const char *arg[RPC_ARGS + 1]; /* in upstream's order; NULL-ended */
	unsigned required;             /* so many of the first */
	bool star;                     /* "args", "kwargs" on the async form */
	bool extra;                    /* unknown arguments are ignored */
	/* Replies or arranges for it; -1: err is the text of the 500. */
	int (*run)(struct rpc_call *, struct err *);
};

struct rpc_call {
	struct http_req *q;
	struct app *app;
	const struct rpc *row;
	bool async;
	int64_t started_ms;
	json_t *body;
	json_t *arg[RPC_ARGS]; /* borrowed from body; NULL: absent */
	char identity[128];    /* of the operations that have one */
	struct wait *wait;     /* what it waits for, if anything */
	struct work *work;
};

/* The handler of every row. */
int rpc_handle(struct http_req *, struct err *);

/* ---- for the operations ---- */

/* Every one of them, once: {"data": data}; data is JSON text. */
void rpc_reply(struct rpc_call *, const char *data);
void rpc_reply_str(struct rpc_call *, struct str *data); /* emptied */
void rpc_fail(struct rpc_call *, const struct err *);
/* The text of the argument, or how Python would print it. */
int rpc_text(const json_t *, char *out, size_t room, struct err *);
/* "str", "NoneType", ... */
const char *rpc_type_name(const json_t *);
int rpc_no_such(const char *identity, struct err *);

int rpc_create(struct rpc_call *, struct err *);
int rpc_create_from_pool(struct rpc_call *, struct err *);
int rpc_release(struct rpc_call *, struct err *);
int rpc_start(struct rpc_call *, struct err *);
int rpc_stop(struct rpc_call *, struct err *);
int rpc_get_status(struct rpc_call *, struct err *);
int rpc_get_info(struct rpc_call *, struct err *);
int rpc_check_health(struct rpc_call *, struct err *);
int rpc_get_session_mapping(struct rpc_call *, struct err *);
int rpc_list_session_keys(struct rpc_call *, struct err *);
int rpc_cleanup(struct rpc_call *, struct err *);
int rpc_list_tools(struct rpc_call *, struct err *);
int rpc_call_tool(struct rpc_call *, struct err *);
int rpc_add_mcp_servers(struct rpc_call *, struct err *);

#endif
