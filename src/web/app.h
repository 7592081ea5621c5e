/*
 * app: what a handler finds behind its request, and what all of them say of it.
 *
 * http_req_app() of every request is the one struct app of the front.
 */
#ifndef WEB_APP_H
#define WEB_APP_H

#include <stddef.h>
#include <stdint.h>

struct agent_tasks;
struct auth;
struct broker_call;
struct config;
struct a2a_desk;
struct engine;
struct err;
struct http_req;
struct journal;
struct kept;
struct leases;
struct loop;
struct manager;
struct mcp_desk;
struct route;
struct services;
struct shelf;
struct str;
struct trails;

/* A reply that has so much to send yet is given no more: http_limits.out_high. */
#define APP_OUT_HIGH (256 * 1024)

struct app {
	struct loop *loop;
	struct manager *manager;
	struct broker_call *broker;
	struct journal *journal;
	struct engine *engine;
	struct shelf *shelf;       /* responses that can be asked for again */
	struct a2a_desk *a2a;      /* a2a_desk_of() */
	struct mcp_desk *mcp;      /* mcp_desk_of() */
	struct services *services; /* what agents keep */
	struct agent_tasks *tasks;
	struct kept *kept; /* runs that can be read again */
	const struct config *config;
	struct trails *trails; /* of each sandbox: what was done in it */
	struct leases *leases; /* sandboxes that nobody holds yet */
	struct auth *auth;
	const char *state;         /* path of the front's own directory */
	const struct route *route; /* what is served */
	size_t nroute;
	const char *agents_url; /* where agents answer */
	uint32_t generation;    /* of this front */
	int64_t started_ms;     /* clock_ms() */
};

struct app *app_of(const struct http_req *);
int app_tenant(const struct http_req *);
const char *app_tenant_name(const struct app *, int tenant);
/* 200, application/json; out is emptied. */
void app_reply_json(struct http_req *, int status, struct str *out);
/* {"detail":[{...}]}: one field of a request is wrong (422, as FastAPI says). */
struct app_invalid {
	const char *type, *where, *field, *msg;
	const char *input; /* JSON; NULL: null */
	const char *ctx;   /* JSON; NULL: no such key */
};
void app_reply_invalid(struct http_req *, const struct app_invalid *);
/*
 * One audit line: who did what to which sandbox, and how it ended.  Never what
 * was sent or answered.  identity and err may be NULL.
 */
void app_audit(const struct http_req *, const char *what, const char *identity,
    const struct err *);

#endif
