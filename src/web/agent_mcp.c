/*
 * The MCP server: streamable HTTP, with sessions for the protocols from
 * 2024-11-05 to 2025-11-25, and without for 2026-07-28.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/escape.h"
#include "json/jtext.h"
#include "web/agent_routes.h"
#include "web/app.h"
#include "web/auth.h"
#include "web/http.h"
#include "web/mcp_int.h"

#define MCP_MODERN "2026-07-28"
#define MCP_MISMATCH (-32020)
#define MCP_VERSION (-32022)
#define META "io.modelcontextprotocol/"

static const char *const legacy[] = { "2025-11-25", "2025-06-18", "2025-03-26",
	"2024-11-05" };
#define LEGACY (sizeof legacy / sizeof *legacy)
#define SUPPORTED                                                              \
	"[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"]"

static bool
is_legacy(const char *version)
{
	for (size_t i = 0; i < LEGACY; i++)
		if (strcmp(legacy[i], version) == 0)
			return true;
	return false;
}

/* ---- replies ---- */

void
mcp_fail(struct mcp_call *c, int status, int code, const char *message,
    const char *data)
{
	auto_str struct str out = { 0 };

	jsonrpc_error(&out, c->rpc.id != NULL ? c->rpc.id : "null", code,
	    message, data);
	http_reply(c->q, status, "application/json", out.at, out.len);
}

static json_t *
server_info(void)
{
	return json_pack("{s:s,s:s}", "name", "hutch", "version", VERSION);
}

void
mcp_say(struct mcp_call *c, json_t *result)
{
	auto_str struct str out = { 0 }, text = { 0 };

	if (c->modern) {
		json_object_set_new(result, "resultType",
		    json_string("complete"));
		json_object_set_new(result, "_meta",
		    json_pack("{s:o}", META "serverInfo", server_info()));
	}
	escape_json(&text, result);
	json_decref(result);
	jsonrpc_result(&out, c->rpc.id, str_text(&text));
	http_reply(c->q, 200, "application/json", out.at, out.len);
}

bool
mcp_wants_stream(const struct http_req *q)
{
	const char *accept = http_req_header(q, "accept");

	return accept != NULL && strstr(accept, "text/event-stream") != NULL;
}

/* ---- methods ---- */

static const char instructions[] =
    "Tools that run commands and Python in an isolated sandbox and read and "
    "write its files; and agents that can be asked.";

static json_t *
capabilities(void)
{
	return json_pack("{s:{}}", "tools");
}

static void
method_initialize(struct mcp_call *c)
{
	const char *want =
	    jtext_cstring(json_object_get(c->rpc.params, "protocolVersion"));
	struct err err;

	if (want == NULL) {
		mcp_fail(c, 200, RPC_PARAMS, "protocolVersion is missing",
		    NULL);
		return;
	}
	c->session = mcp_session_new(mcp_desk_of(c->app), c->tenant, &err);
	if (c->session == NULL) {
		mcp_fail(c, 503, RPC_INTERNAL, err.text, NULL);
		return;
	}
	http_reply_header(c->q, "mcp-session-id", mcp_session_id(c->session));
	mcp_say(c,
	    json_pack("{s:s,s:o,s:o,s:s}", "protocolVersion",
		is_legacy(want) ? want : legacy[0], "capabilities",
		capabilities(), "serverInfo", server_info(), "instructions",
		instructions));
}

static void
method_ping(struct mcp_call *c)
{
	mcp_say(c, json_object());
}

static void
method_discover(struct mcp_call *c)
{
	json_t *r = json_pack("{s:[s,s,s,s],s:o,s:s,s:i,s:s}",
	    "supportedVersions", MCP_MODERN, legacy[0], legacy[1], legacy[2],
	    "capabilities", capabilities(), "instructions", instructions,
	    "ttlMs", 60000, "cacheScope", "private");

	mcp_say(c, r);
}

static const struct {
	const char *name;
	void (*run)(struct mcp_call *);
	bool old, new;
} methods[] = {
	{ "initialize", method_initialize, true, false },
	{ "ping", method_ping, true, false },
	{ "server/discover", method_discover, false, true },
	{ "tools/list", mcp_tools_list, true, true },
	{ "tools/call", mcp_tools_call, true, true },
};

/* ---- what came with the request ---- */

/* =?base64?...?= or as it is; "" when it is none. */
static void
decode_value(struct str *out, const char *v)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(v);
	unsigned acc = 0, bits = 0;
	const char *at;

	if (n < 11 || strncmp(v, "=?base64?", 9) != 0 ||
	    strcmp(v + n - 2, "?=") != 0) {
		str_puts(out, v);
		return;
	}
	for (const char *c = v + 9; c < v + n - 2 && *c != '='; c++) {
		at = strchr(digits, *c);
		if (at == NULL)
			return;
		acc = acc << 6 | (unsigned)(at - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			str_putc(out, (char)(acc >> bits & 0xff));
		}
	}
}

/* The header says what the body says; else it has been replied. */
static bool
agrees(struct mcp_call *c, const char *header, const char *body)
{
	const char *v = http_req_header(c->q, header);
	auto_str struct str have = { 0 }, why = { 0 };

	if (v != NULL)
		decode_value(&have, v);
	if (v != NULL && strcmp(str_text(&have), body) == 0)
		return true;
	str_printf(&why, "Header mismatch: %s is not what the body says",
	    header);
	mcp_fail(c, 400, MCP_MISMATCH, why.at, NULL);
	return false;
}

static bool
is_modern(struct mcp_call *c, const char *version)
{
	const char *name =
	    jtext_cstring(json_object_get(c->rpc.params, "name"));
	auto_str struct str data = { 0 };

	if (!agrees(c, "mcp-protocol-version", version))
		return false;
	if (strcmp(version, MCP_MODERN) != 0) {
		str_puts(&data, "{\"supported\":" SUPPORTED ",\"requested\":");
		escape_quote(&data, version);
		str_putc(&data, '}');
		mcp_fail(c, 400, MCP_VERSION, "Unsupported protocol version",
		    data.at);
		return false;
	}
	c->modern = true;
	return agrees(c, "mcp-method", c->rpc.method) &&
	    (strcmp(c->rpc.method, "tools/call") != 0 || name == NULL ||
		agrees(c, "mcp-name", name));
}

/* The session that the request names; false: it has been replied. */
static bool
has_session(struct mcp_call *c)
{
	const char *id = http_req_header(c->q, "mcp-session-id");
	const char *version = http_req_header(c->q, "mcp-protocol-version");

	if (version != NULL && !is_legacy(version)) {
		mcp_fail(c, 400, RPC_REQUEST, "Unsupported protocol version",
		    NULL);
		return false;
	}
	if (c->rpc.method != NULL && strcmp(c->rpc.method, "initialize") == 0)
		return true;
	if (id == NULL) {
		mcp_fail(c, 400, RPC_REQUEST, "Mcp-Session-Id is missing",
		    NULL);
		return false;
	}
	c->session = mcp_session_find(mcp_desk_of(c->app), c->tenant, id);
	if (c->session == NULL)
		mcp_fail(c, 404, RPC_REQUEST, "There is no such session", NULL);
	return c->session != NULL;
}

/* A response, or a notification: nothing is said to it. */
static void
notified(struct mcp_call *c)
{
	const json_t *id = json_object_get(c->rpc.params, "requestId");
	auto_str struct str text = { 0 };

	if (c->session != NULL && c->rpc.method != NULL && id != NULL &&
	    strcmp(c->rpc.method, "notifications/cancelled") == 0) {
		escape_json(&text, id);
		mcp_session_cancel(c->session, str_text(&text));
	}
	http_reply(c->q, 202, NULL, NULL, 0);
}

static void
dispatch(struct mcp_call *c)
{
	const char *version = jtext_cstring(
	    json_object_get(json_object_get(c->rpc.params, "_meta"),
		META "protocolVersion"));

	if (version != NULL && c->rpc.method != NULL) {
		if (!is_modern(c, version))
			return;
	} else if (!has_session(c)) {
		return;
	}
	if (!c->rpc.has_id || c->rpc.method == NULL) {
		notified(c);
		return;
	}
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].name, c->rpc.method) == 0 &&
		    (c->modern ? methods[i].new : methods[i].old)) {
			methods[i].run(c);
			return;
		}
	mcp_fail(c, c->modern ? 404 : 200, RPC_METHOD, "Method not found",
	    NULL);
}

/* A page of somebody else's may not speak to us, be there tokens or not. */
static bool
origin_fits(struct http_req *q)
{
	const char *origin = http_req_header(q, "origin");
	const char *host = http_req_header(q, "host"), *at;

	if (origin == NULL || auth_origin(app_of(q)->auth, origin))
		return true;
	at = strstr(origin, "://");
	if (at != NULL && host != NULL && strcasecmp(at + 3, host) == 0)
		return true;
	http_reply_detail(q, 403, "pages of this origin are not served");
	return false;
}

static struct mcp_call
call_of(struct http_req *q)
{
	return (struct mcp_call){ .q = q,
		.app = app_of(q),
		.tenant = app_tenant(q) };
}

int
agent_mcp(struct http_req *q, struct err *err)
{
	struct mcp_call c = call_of(q);
	const uint8_t *body;
	const char *why;
	size_t n;
	int code;

	(void)err;
	if (!origin_fits(q))
		return 0;
	body = http_req_body(q, &n);
	code = jsonrpc_read(&c.rpc, body, n, &why);
	if (code != 0)
		mcp_fail(&c, 400, code, why, NULL);
	else
		dispatch(&c);
	jsonrpc_free(&c.rpc);
	return 0;
}

/* GET: a stream of what the server has to say of itself, which is nothing. */
int
agent_mcp_listen(struct http_req *q, struct err *err)
{
	struct mcp_call c = call_of(q);

	(void)err;
	if (!origin_fits(q))
		return 0;
	if (http_req_header(q, "mcp-session-id") == NULL ||
	    !mcp_wants_stream(q)) {
		http_reply_header(q, "allow", "POST");
		http_reply_detail(q, 405, "Method Not Allowed");
	} else if (has_session(&c)) {
		mcp_session_listen(c.session, q);
	}
	return 0;
}

int
agent_mcp_end(struct http_req *q, struct err *err)
{
	struct mcp_call c = call_of(q);

	(void)err;
	if (origin_fits(q) && has_session(&c)) {
		mcp_session_end(c.session);
		http_reply(q, 200, NULL, NULL, 0);
	}
	return 0;
}
