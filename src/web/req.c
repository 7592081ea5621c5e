#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/err.h"
#include "base/log.h"
#include "web/http_int.h"
#include "web/uri.h"

/* clang-format off */
static const char *const methods[HTTP_METHODS] = {
	[HTTP_GET]	= "GET",
	[HTTP_HEAD]	= "HEAD",
	[HTTP_POST]	= "POST",
	[HTTP_PUT]	= "PUT",
	[HTTP_DELETE]	= "DELETE",
	[HTTP_PATCH]	= "PATCH",
	[HTTP_OPTIONS]	= "OPTIONS",
};
/* clang-format on */

const char *
http_method_name(enum http_method m)
{
	return m < HTTP_METHODS ? methods[m] : "?";
}

/* HTTP_METHODS for one that no row can have: it will be a 404 or 405. */
static enum http_method
method_of(const char *name)
{
	int m = 0;

	while (m < HTTP_METHODS && strcmp(methods[m], name) != 0)
		m++;
	return (enum http_method)m;
}

static uint64_t last_id; /* of all servers: it names a request in the logs */

struct http_req *
req_new(struct http_conn *c)
{
	struct http_req *r = xcalloc(1, sizeof *r);

	r->conn = c;
	r->id = ++last_id;
	c->server->stats.requests++;
	r->method = method_of(c->parse.method);
	r->who.tenant = -1;
	c->server->nbusy++;
	return r;
}

static void
drop_body(struct http_req *r)
{
	r->conn->server->stats.collected -= r->body.len;
	str_free(&r->body);
}

void
req_free(struct http_req *r)
{
	struct http_kept *k;

	if (r->handled && r->closed != NULL)
		r->closed(r);
	while ((k = r->kept) != NULL) {
		r->kept = k->next;
		free(k);
	}
	r->conn->server->nbusy--;
	drop_body(r);
	str_free(&r->extra);
	free(r->path);
	free(r);
}

/* ---- from a head to a handler ---- */

static void
run_handler(struct http_req *r)
{
	struct err err = { 0 };

	r->handled = true;
	if (r->row->handle(r, &err) == 0)
		return;
	if (r->conn->out == OUT_NONE)
		http_reply_err(r, &err);
	else
		http_reply_abort(r);
}

static size_t
body_most(const struct http_req *r)
{
	return r->row->body_max == BODY_JSON
	    ? r->conn->server->conf.limits.json_max
	    : r->row->body_max;
}

static bool
is_stream(const struct http_req *r)
{
	return r->row->body_max == BODY_STREAM || r->row->reply == REPLY_TUNNEL;
}

static int
judge_gate(struct http_req *r)
{
	const struct http_server_conf *conf = &r->conn->server->conf;
	struct err err = { 0 };
	int verdict = 0;

	if (conf->gate != NULL)
		verdict = conf->gate(conf->arg, r, &err);
	if (verdict < 0)
		http_reply_err(r, &err);
	return verdict == 0 ? 0 : -1;
}

static int
judge_route(struct http_req *r)
{
	const struct http_server_conf *conf = &r->conn->server->conf;
	struct err err = { 0 };
	unsigned allow = 0;

	r->row = route_find(conf->route, conf->nroute, r->method,
	    r->conn->parse.path, &r->names, &allow, &err);
	if (r->row != NULL)
		return 0;
	if (err.code == ERR_DENIED)
		reply_not_allowed(r, allow);
	else
		http_reply_err(r, &err);
	return -1;
}

static int
judge_auth(struct http_req *r)
{
	const struct http_server_conf *conf = &r->conn->server->conf;
	struct err err = { 0 };

	if (conf->auth == NULL ||
	    conf->auth(conf->arg, r, r->row->auth, &r->who, &err) == 0)
		return 0;
	if (err.code == ERR_DENIED)
		http_reply_err(r, &err);
	else
		reply_unauthorized(r, &err);
	return -1;
}

static int
judge_body(struct http_req *r)
{
	int64_t length = r->conn->parse.length;
	size_t most = body_most(r);

	if (length < 0 ? most != BODY_NONE : (uint64_t)length <= most)
		return 0;
	http_reply_detail(r, 413, "Content Too Large");
	return -1;
}

static int
judge_path(struct http_req *r)
{
	struct parse *p = &r->conn->parse;
	size_t n;

	uri_collapse(p->path);
	n = strlen(p->path);
	r->path = xmalloc(n + 1);
	if (uri_decode(r->path, p->path, n, false) < 0) {
		r->path[0] = '\0';
		http_reply_detail(r, 400, "malformed path");
		return -1;
	}
	if (!uri_is_sane(p->query)) {
		http_reply_detail(r, 400, "malformed query");
		return -1;
	}
	return 0;
}

void
req_begin(struct http_req *r)
{
	static int (*const judges[])(struct http_req *) = { judge_path,
		judge_gate, judge_route, judge_auth, judge_body };

	for (size_t i = 0; i < sizeof judges / sizeof *judges; i++)
		if (judges[i](r) < 0)
			return;
	if (is_stream(r))
		run_handler(r);
}

/* A body that is collected, or thrown away because the reply has ended. */
static void
collect(struct http_req *r, const uint8_t *bytes, size_t n)
{
	struct http_server *s = r->conn->server;
	size_t most = BODIES_MAX * s->conf.limits.json_max;

	if (r->conn->out != OUT_NONE)
		return;
	if (n > body_most(r) - r->body.len) {
		drop_body(r);
		http_reply_detail(r, 413, "Content Too Large");
	} else if (s->stats.collected > most || n > most - s->stats.collected) {
		drop_body(r);
		http_reply_header(r, "retry-after", "1");
		http_reply_detail(r, 503, "too many large requests at once");
	} else {
		str_add(&r->body, bytes, n);
		s->stats.collected += n;
	}
}

void
req_piece(struct http_req *r, const uint8_t *bytes, size_t n)
{
	if (r->on_body != NULL && r->conn->out != OUT_ENDED)
		r->on_body(r, bytes, n);
	else if (r->row != NULL && !is_stream(r))
		collect(r, bytes, n);
}

void
req_body_end(struct http_req *r)
{
	if (r->body_ended || r->conn->out == OUT_ENDED)
		return;
	r->body_ended = true;
	if (r->handled) {
		if (r->on_body != NULL)
			r->on_body(r, NULL, 0);
	} else if (r->conn->out == OUT_NONE)
		run_handler(r);
}

void
req_drained(struct http_req *r)
{
	size_t high = r->conn->server->conf.limits.out_high;

	if (!r->wrote || sock_backlog(r->conn->sock) > high / 2)
		return;
	r->wrote = false;
	if (r->drained != NULL && r->conn->out == OUT_OPEN)
		r->drained(r);
}

/* ---- what a handler asks ---- */

enum http_method
http_req_method(const struct http_req *r)
{
	return r->method;
}

const char *
http_req_path(const struct http_req *r)
{
	return r->path;
}

const char *
http_req_query(const struct http_req *r)
{
	return r->conn->parse.query;
}

static const char *
decoded(struct http_req *r, const char *raw, size_t n, bool plus)
{
	struct http_kept *k;

	for (k = r->kept; k != NULL; k = k->next)
		if (k->raw == raw)
			return k->text;
	k = xmalloc(sizeof *k + n + 1);
	k->next = r->kept;
	k->raw = raw;
	if (uri_decode(k->text, raw, n, plus) < 0)
		k->text[0] = '\0'; /* can't be: judge_path has looked */
	r->kept = k;
	return k->text;
}

static bool
named(const struct uri_pair *pair, const char *name)
{
	char text[128];

	/* No name of ours is longer, however it is spelt. */
	if (pair->name_len >= sizeof text ||
	    uri_decode(text, pair->name, pair->name_len, true) < 0)
		return false;
	return strcmp(text, name) == 0;
}

const char *
http_req_param(struct http_req *r, const char *name)
{
	const char *at = r->conn->parse.query;
	struct uri_pair pair;

	while (uri_next_pair(&at, &pair))
		if (named(&pair, name))
			return decoded(r, pair.value, pair.value_len, true);
	return NULL;
}

const char *
http_req_name(struct http_req *r, const char *name)
{
	for (int i = 0; i < r->names.n; i++) {
		if (strlen(name) == r->names.at[i].name_len &&
		    memcmp(name, r->names.at[i].name, strlen(name)) == 0)
			return decoded(r, r->names.at[i].value,
			    r->names.at[i].value_len, false);
	}
	return "";
}

const char *
http_req_header(const struct http_req *r, const char *name)
{
	return parse_field(&r->conn->parse, name);
}

const char *
http_req_upgrade(const struct http_req *r)
{
	const struct parse *p = &r->conn->parse;

	return p->upgrade && p->minor > 0 ? parse_field(p, "upgrade") : NULL;
}

const struct http_who *
http_req_who(const struct http_req *r)
{
	return &r->who;
}

uint64_t
http_req_id(const struct http_req *r)
{
	return r->id;
}

void *
http_req_app(const struct http_req *r)
{
	return r->conn->server->conf.arg;
}

bool
http_req_local(const struct http_req *r)
{
	return r->conn->server->conf.local;
}

void
http_req_set_data(struct http_req *r, void *data)
{
	r->data = data;
}

void *
http_req_data(const struct http_req *r)
{
	return r->data;
}

void
http_req_on_closed(struct http_req *r, void (*closed)(struct http_req *))
{
	r->closed = closed;
}

void
http_req_on_half_closed(struct http_req *r, void (*fn)(struct http_req *))
{
	r->half_closed = fn;
}

const uint8_t *
http_req_body(const struct http_req *r, size_t *n)
{
	*n = r->body.len;
	return (const uint8_t *)str_text(&r->body);
}

void
http_req_on_body(struct http_req *r, http_body_fn *fn)
{
	r->on_body = fn;
	reply_continue(r->conn);
	conn_post(r->conn);
}

void
http_req_pause(struct http_req *r)
{
	r->paused = true;
	conn_post(r->conn);
}

void
http_req_resume(struct http_req *r)
{
	r->paused = false;
	conn_post(r->conn);
}

int64_t
http_req_length(const struct http_req *r)
{
	return r->conn->parse.length;
}
