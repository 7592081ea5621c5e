#include <stdio.h>
#include <string.h>
#include "base/err.h"
#include "base/log.h"
#include "json/jtext.h"
#include "web/http_int.h"

/* clang-format off */

/* The one place where an error becomes a status. */
static const int statuses[ERR_CODES] = {
	[ERR_SYS]	= 500,
	[ERR_INVALID]	= 400,
	[ERR_DENIED]	= 403,
	[ERR_MISSING]	= 404,
	[ERR_BUSY]	= 409,
	[ERR_LIMIT]	= 429,	/* a quota; bodies too large never get here */
	[ERR_TIMEOUT]	= 504,
	[ERR_PROTO]	= 502,
};

static const struct {
	int status;
	const char *text;
} reasons[] = {
	{ 100, "Continue" },
	{ 101, "Switching Protocols" },
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 422, "Unprocessable Content" },
	{ 426, "Upgrade Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};
/* clang-format on */

static const char *
reason(int status)
{
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Other";
}

/* ---- heads ---- */

/* A CR or LF in a value would be a second reply: no such byte goes out. */
static void
tidy(char *value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)value[i] < ' ' && value[i] != '\t') ||
		    value[i] == 0x7f)
			value[i] = '?';
}

static void
add_line(struct str *to, const char *name, const char *value)
{
	size_t n = strlen(value);

	str_puts(to, name);
	str_puts(to, ": ");
	str_add(to, value, n);
	tidy(to->at + to->len - n, n);
	str_puts(to, "\r\n");
}

void
http_reply_header(struct http_req *r, const char *name, const char *value)
{
	if (r->conn->out != OUT_NONE || !parse_is_token(name, strlen(name)))
		return;
	add_line(&r->extra, name, value);
}

/*
 * May another request follow?  Not when a body that nobody takes lies between.
 * whole: the reply ends here, and so the handler's interest in the body.
 */
static bool
decide_keep(const struct http_req *r, bool whole)
{
	const struct http_conn *c = r->conn;

	return c->parse.keep && !c->server->draining &&
	    ((r->on_body != NULL && !whole) || conn_is_near_end(c));
}

static const char *
connection_line(const struct http_conn *c)
{
	if (!c->keep)
		return "connection: close\r\n";
	return c->parse.minor == 0 ? "connection: keep-alive\r\n" : "";
}

struct head {
	int status;
	const char *type;
	enum framing framing;
	uint64_t length;
	const struct str *extra;
};

static void
put_head(struct http_conn *c, const struct head *h)
{
	char text[640], *at = text, *end = text + sizeof text;
	int n;

	at += snprintf(at, (size_t)(end - at), "HTTP/1.1 %d %s\r\n%s",
	    h->status, reason(h->status), server_date(c->server));
	if (h->type != NULL) {
		n = snprintf(at, (size_t)(end - at), "content-type: %.200s",
		    h->type);
		tidy(at, (size_t)n);
		at += n;
		at += snprintf(at, (size_t)(end - at), "\r\n");
	}
	if (h->framing == FRAME_LENGTH)
		at += snprintf(at, (size_t)(end - at),
		    "content-length: %llu\r\n", (unsigned long long)h->length);
	else if (h->framing == FRAME_CHUNKED)
		at += snprintf(at, (size_t)(end - at),
		    "transfer-encoding: chunked\r\n");
	at += snprintf(at, (size_t)(end - at), "%s", connection_line(c));
	sock_write(c->sock, text, (size_t)(at - text));
	if (h->extra != NULL && h->extra->len > 0)
		sock_write(c->sock, h->extra->at, h->extra->len);
	sock_write(c->sock, "\r\n", 2);
}

static bool
has_no_body(const struct http_req *r, int status)
{
	return r->method == HTTP_HEAD || status < 200 || status == 204 ||
	    status == 304;
}

static enum framing
frame(const struct http_req *r, int status, int64_t length)
{
	if (length >= 0)
		return status == 204 || status == 304 ? FRAME_NONE
						      : FRAME_LENGTH;
	return r->conn->parse.minor == 0 ? FRAME_CLOSE : FRAME_CHUNKED;
}

static void
start(struct http_req *r, int status, const char *type, int64_t length,
    bool whole)
{
	struct http_conn *c = r->conn;
	const struct http_server_conf *conf = &c->server->conf;
	struct head h = { .status = status, .type = type };

	if (c->out != OUT_NONE)
		return;
	h.framing = frame(r, status, length);
	h.length = length > 0 ? (uint64_t)length : 0;
	c->keep = decide_keep(r, whole) && h.framing != FRAME_CLOSE;
	if (conf->headers != NULL)
		conf->headers(conf->arg, r);
	if (r->row != NULL && r->row->reply == REPLY_EVENTS && length < 0) {
		/* A proxy that gathers the stream would be a silent one. */
		add_line(&r->extra, "cache-control", "no-cache");
		add_line(&r->extra, "x-accel-buffering", "no");
	}
	h.extra = &r->extra;
	put_head(c, &h);
	c->out = OUT_OPEN;
	r->wrote = true;
	r->status = status;
	r->framing = has_no_body(r, status) ? FRAME_NONE : h.framing;
	r->out_left = h.length;
}

void
http_reply_start(struct http_req *r, int status, const char *type,
    int64_t length)
{
	start(r, status, type, length, false);
}

/* ---- bodies ---- */

/* A reply that is not what its head said must not look complete. */
static void
broken(struct http_req *r, const char *why)
{
	log_say(LOG_ERROR, "reply cut", "why", why, "path", r->path, NULL);
	http_reply_abort(r);
}

static void
put_chunk(struct sock *s, const void *bytes, size_t n)
{
	char size[24];
	int len = snprintf(size, sizeof size, "%zx\r\n", n);

	sock_write(s, size, (size_t)len);
	sock_write(s, bytes, n);
	sock_write(s, "\r\n", 2);
}

void
http_reply_write(struct http_req *r, const void *bytes, size_t n)
{
	struct http_conn *c = r->conn;

	if (c->out != OUT_OPEN || c->cut || n == 0)
		return;
	if (r->framing == FRAME_NONE)
		return;
	if (r->framing == FRAME_LENGTH && n > r->out_left) {
		broken(r, "more than its length");
		return;
	}
	if (r->framing == FRAME_LENGTH)
		r->out_left -= n;
	if (r->framing == FRAME_CHUNKED)
		put_chunk(c->sock, bytes, n);
	else
		sock_write(c->sock, bytes, n);
	r->wrote = true;
}

size_t
http_reply_backlog(const struct http_req *r)
{
	return sock_backlog(r->conn->sock);
}

void
http_reply_on_drained(struct http_req *r, void (*drained)(struct http_req *))
{
	r->drained = drained;
}

void
http_reply_end(struct http_req *r)
{
	struct http_conn *c = r->conn;

	if (c->out != OUT_OPEN || c->cut)
		return;
	if (r->framing == FRAME_LENGTH && r->out_left > 0) {
		broken(r, "less than its length");
		return;
	}
	if (r->framing == FRAME_CHUNKED)
		sock_write(c->sock, "0\r\n\r\n", 5);
	c->out = OUT_ENDED;
	conn_post(c);
}

void
http_reply_abort(struct http_req *r)
{
	r->conn->cut = true;
	conn_post(r->conn);
}

void
http_reply(struct http_req *r, int status, const char *type, const void *body,
    size_t n)
{
	if (r->conn->out != OUT_NONE)
		return;
	start(r, status, type, (int64_t)n, true);
	http_reply_write(r, body, n);
	http_reply_end(r);
}

/* ---- errors ---- */

static void
detail(struct str *out, const char *text)
{
	str_puts(out, "{\"detail\":");
	jtext_quote_text(out, text);
	str_putc(out, '}');
}

void
http_reply_detail(struct http_req *r, int status, const char *text)
{
	auto_str struct str body = { 0 };

	detail(&body, text);
	http_reply(r, status, "application/json", body.at, body.len);
}

void
http_reply_err(struct http_req *r, const struct err *err)
{
	http_reply_detail(r, statuses[err->code], err->text);
}

void
reply_unauthorized(struct http_req *r, const struct err *err)
{
	http_reply_header(r, "www-authenticate", "Bearer");
	http_reply_detail(r, 401, err->text);
}

void
reply_not_allowed(struct http_req *r, unsigned allow)
{
	auto_str struct str names = { 0 };

	for (int m = 0; m < HTTP_METHODS; m++)
		if (allow & 1u << m)
			str_printf(&names, "%s%s", names.len > 0 ? ", " : "",
			    http_method_name((enum http_method)m));
	http_reply_header(r, "allow", str_text(&names));
	http_reply_detail(r, 405, "Method Not Allowed");
}

void
reply_conn_error(struct http_conn *c, int status, const char *why)
{
	auto_str struct str body = { 0 };
	struct head h = { .status = status,
		.type = "application/json",
		.framing = FRAME_LENGTH };

	detail(&body, why);
	h.length = body.len;
	c->keep = false;
	put_head(c, &h);
	sock_write(c->sock, body.at, body.len);
	c->out = OUT_ENDED;
}

void
reply_interim(struct http_conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	sock_write(c->sock, text, sizeof text - 1);
}

void
reply_continue(struct http_conn *c)
{
	if (!c->parse.expect || c->in != IN_BODY || c->out != OUT_NONE)
		return;
	c->parse.expect = false;
	reply_interim(c);
}

/* ---- upgrade ---- */

void
http_reply_upgrade(struct http_req *r, const char *protocol)
{
	struct http_conn *c = r->conn;
	auto_str struct str head = { 0 };

	if (c->out != OUT_NONE)
		return;
	if (http_req_upgrade(r) == NULL) {
		http_reply_header(r, "upgrade", protocol);
		http_reply_detail(r, 426, "Upgrade Required");
		return;
	}
	if (c->server->conf.headers != NULL)
		c->server->conf.headers(c->server->conf.arg, r);
	str_puts(&head, "HTTP/1.1 101 Switching Protocols\r\n");
	add_line(&head, "connection", "upgrade");
	add_line(&head, "upgrade", protocol);
	str_add(&head, r->extra.at, r->extra.len);
	str_puts(&head, "\r\n");
	sock_write(c->sock, head.at, head.len);
	r->status = 101;
	r->framing = FRAME_CLOSE;
	c->keep = false;
	c->in = IN_TUNNEL;
	c->out = OUT_OPEN;
	conn_post(c);
}
