/*
 * httpd_try: the HTTP server under a table of small routes, for http.t.
 *
 * Prints its address as "port N", serves until SIGTERM (which drains, with the
 * server's own patience) or SIGINT, and then prints what it has counted.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "web/auth.h"
#include "web/http.h"
#include "wire/loop.h"

#define BIT(m) (1u << (m))

struct httpd {
	struct loop *loop;
	struct http_server *server;
	struct auth *auth;
	struct watch *poll, *later;
	struct http_req *waiter;
	unsigned handled, closed;
	bool draining;
};

static struct httpd *
httpd_of(struct http_req *req)
{
	struct httpd *t = http_req_app(req);

	return t;
}

static void
counted(struct http_req *req)
{
	httpd_of(req)->closed++;
	free(http_req_data(req));
	if (httpd_of(req)->waiter == req)
		httpd_of(req)->waiter = NULL;
}

static void
begin(struct http_req *req, void *data)
{
	httpd_of(req)->handled++;
	http_req_set_data(req, data);
	http_req_on_closed(req, counted);
}

static void
reply_text(struct http_req *req, const struct str *text)
{
	http_reply(req, 200, "application/json", str_text(text), text->len);
}

/* ---- the plain ones ---- */

static int
hello(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req, NULL);
	http_reply(req, 200, "application/json", "{\"hello\":1}", 11);
	return 0;
}

static int
fails(struct http_req *req, struct err *err)
{
	begin(req, NULL);
	return err_set(err, ERR_BUSY, "a \"busy\"\n\xff thing");
}

static int
whole(struct http_req *req, struct err *err)
{
	size_t n;
	const uint8_t *body = http_req_body(req, &n);
	const char *type = http_req_param(req, "type");

	(void)err;
	begin(req, NULL);
	if (type != NULL)
		http_reply_header(req, "x-type", type);
	http_reply(req, 200, type != NULL ? type : "application/octet-stream",
	    body, n);
	return 0;
}

static int
names(struct http_req *req, struct err *err)
{
	auto_str struct str s = { 0 };
	const char *q = http_req_param(req, "q");

	(void)err;
	begin(req, NULL);
	str_printf(&s, "%s|%s|%s|%s|%s", http_req_name(req, "a"),
	    http_req_name(req, "rest"), http_req_name(req, "none"),
	    q != NULL ? q : "(null)", http_req_path(req));
	reply_text(req, &s);
	return 0;
}

static int
stats(struct http_req *req, struct err *err)
{
	auto_str struct str s = { 0 };
	struct httpd *t = httpd_of(req);
	struct http_stats n;

	(void)err;
	http_server_stats(t->server, &n);
	str_printf(&s, "{\"handled\":%u,\"closed\":%u,", t->handled, t->closed);
	str_printf(&s, "\"busy\":%u,", http_server_busy(t->server));
	str_printf(&s, "\"bad\":%u,", (unsigned)n.bad);
	str_printf(&s, "\"connections\":%u,", n.connections);
	str_printf(&s, "\"collected\":%zu}", n.collected);
	reply_text(req, &s);
	return 0;
}

static int
who(struct http_req *req, struct err *err)
{
	auto_str struct str s = { 0 };

	(void)err;
	begin(req, NULL);
	str_printf(&s, "{\"tenant\":%d,\"admin\":%d}",
	    http_req_who(req)->tenant, http_req_who(req)->admin);
	reply_text(req, &s);
	return 0;
}

/* ---- bodies as streams ---- */

struct count {
	uint64_t n, sum;
};

static void
count_piece(struct http_req *req, const uint8_t *bytes, size_t n)
{
	struct count *c = http_req_data(req);
	auto_str struct str s = { 0 };

	for (size_t i = 0; i < n; i++)
		c->sum = c->sum * 31 + bytes[i];
	c->n += n;
	if (bytes != NULL)
		return;
	str_printf(&s, "{\"n\":%" PRIu64 ",\"sum\":%" PRIu64 "}", c->n, c->sum);
	reply_text(req, &s);
}

static int
count(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req, xcalloc(1, sizeof(struct count)));
	http_req_on_body(req, count_piece);
	return 0;
}

static void
echo_piece(struct http_req *req, const uint8_t *bytes, size_t n)
{
	if (bytes == NULL) {
		http_reply_end(req);
		return;
	}
	http_reply_write(req, bytes, n);
	if (http_reply_backlog(req) >= 65536)
		http_req_pause(req);
}

static int
echo(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req, NULL);
	http_req_on_body(req, echo_piece);
	http_reply_start(req, 200, "application/octet-stream",
	    http_req_length(req));
	http_reply_on_drained(req, http_req_resume);
	return 0;
}

/* Has heard enough after the first piece. */
static void
some_piece(struct http_req *req, const uint8_t *bytes, size_t n)
{
	(void)bytes;
	(void)n;
	if (http_req_param(req, "whole") != NULL) {
		http_reply_detail(req, 507, "full");
		return;
	}
	http_reply_start(req, 200, "text/plain", 2);
	http_reply_write(req, "ok", 2);
	http_reply_end(req);
}

static int
some(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req, NULL);
	http_req_on_body(req, some_piece);
	return 0;
}

/* Lets the body wait for a second before it looks at it. */
static void
look_now(void *arg, int what)
{
	struct httpd *t = arg;

	(void)what;
	if (t->waiter != NULL)
		http_req_on_body(t->waiter, count_piece);
	t->waiter = NULL;
}

static int
waits(struct http_req *req, struct err *err)
{
	struct httpd *t = httpd_of(req);

	if (t->waiter != NULL)
		return err_set(err, ERR_BUSY, "one at a time");
	begin(req, xcalloc(1, sizeof(struct count)));
	t->waiter = req;
	watch_arm(t->later, 1000);
	return 0;
}

/* Takes nothing of the body. */
static int
refuse(struct http_req *req, struct err *err)
{
	begin(req, NULL);
	return err_set(err, ERR_DENIED, "no");
}

/* Does not even look at the body until the client goes. */
static int
hang(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req, NULL);
	return 0;
}

/* ---- replies as streams ---- */

struct source {
	uint64_t left;
	size_t piece;
};

static void
pour(struct http_req *req)
{
	static const char bytes[65536];
	struct source *s = http_req_data(req);

	while (s->left > 0 && http_reply_backlog(req) < 65536) {
		size_t n = s->left < s->piece ? s->left : s->piece;

		http_reply_write(req, bytes, n);
		s->left -= n;
	}
	if (s->left == 0)
		http_reply_end(req);
}

static uint64_t
number(struct http_req *req, const char *name, uint64_t otherwise)
{
	const char *text = http_req_param(req, name);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static int
stream(struct http_req *req, struct err *err)
{
	struct source *s = xcalloc(1, sizeof *s);

	(void)err;
	s->left = number(req, "n", 1000);
	s->piece = number(req, "piece", 16384);
	if (s->piece == 0 || s->piece > 65536)
		s->piece = 65536;
	begin(req, s);
	http_reply_start(req, 200, "application/octet-stream",
	    http_req_param(req, "chunked") != NULL ? -1 : (int64_t)s->left);
	http_reply_on_drained(req, pour);
	pour(req);
	return 0;
}

static int
events(struct http_req *req, struct err *err)
{
	uint64_t n = number(req, "n", 3);

	(void)err;
	begin(req, NULL);
	http_reply_start(req, 200, "text/event-stream", -1);
	for (uint64_t i = 0; i < n; i++)
		http_reply_write(req, "data: {}\n\n", 10);
	if (http_req_param(req, "open") == NULL)
		http_reply_end(req);
	return 0;
}

/* Starts, and then goes wrong in the way that is asked for. */
static int
wrong(struct http_req *req, struct err *err)
{
	const char *how = http_req_name(req, "how");

	begin(req, NULL);
	http_reply_start(req, 200, "text/plain",
	    strcmp(how, "chunked") == 0 ? -1 : 10);
	http_reply_write(req, "12345", 5);
	if (strcmp(how, "short") == 0)
		http_reply_end(req);
	else if (strcmp(how, "long") == 0)
		http_reply_write(req, "1234567", 7);
	else if (strcmp(how, "error") == 0)
		return err_set(err, ERR_SYS, "late");
	else
		http_reply_abort(req);
	return 0;
}

/* ---- a tunnel ---- */

static void
tunnel_piece(struct http_req *req, const uint8_t *bytes, size_t n)
{
	if (bytes == NULL) {
		http_reply_write(req, "bye", 3);
		http_reply_end(req);
	} else
		http_reply_write(req, bytes, n);
}

static int
tunnel(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req, NULL);
	http_reply_upgrade(req, "echo");
	http_req_on_body(req, tunnel_piece);
	return 0;
}

static int
drain(struct http_req *req, struct err *err)
{
	(void)err;
	raise(SIGTERM);
	http_reply(req, 200, "text/plain", "draining", 8);
	return 0;
}

/* clang-format off */
static const struct route routes[] = {
	{ BIT(HTTP_GET),	"/hello",	AUTH_NONE,  REPLY_JSON,   BODY_NONE,   hello },
	{ BIT(HTTP_POST) | BIT(HTTP_PUT),
				"/whole",	AUTH_NONE,  REPLY_JSON,   BODY_JSON,   whole },
	{ BIT(HTTP_POST),	"/small",	AUTH_NONE,  REPLY_JSON,   16,	       whole },
	{ BIT(HTTP_GET),	"/name/:a/*rest", AUTH_NONE, REPLY_JSON,  BODY_NONE,   names },
	{ BIT(HTTP_GET) | BIT(HTTP_HEAD),
				"/head",	AUTH_NONE,  REPLY_JSON,   BODY_NONE,   hello },
	{ BIT(HTTP_GET),	"/stats",	AUTH_NONE,  REPLY_JSON,   BODY_NONE,   stats },
	{ BIT(HTTP_GET),	"/fails",	AUTH_NONE,  REPLY_JSON,   BODY_NONE,   fails },
	{ BIT(HTTP_POST),	"/count",	AUTH_NONE,  REPLY_JSON,   BODY_STREAM, count },
	{ BIT(HTTP_POST),	"/echo",	AUTH_NONE,  REPLY_STREAM, BODY_STREAM, echo },
	{ BIT(HTTP_POST),	"/some",	AUTH_NONE,  REPLY_JSON,   BODY_STREAM, some },
	{ BIT(HTTP_POST),	"/waits",	AUTH_NONE,  REPLY_JSON,   BODY_STREAM, waits },
	{ BIT(HTTP_POST),	"/refuse",	AUTH_NONE,  REPLY_JSON,   BODY_STREAM, refuse },
	{ BIT(HTTP_POST),	"/hang",	AUTH_NONE,  REPLY_JSON,   BODY_STREAM, hang },
	{ BIT(HTTP_GET),	"/hang",	AUTH_NONE,  REPLY_JSON,   BODY_NONE,   hang },
	{ BIT(HTTP_GET),	"/stream",	AUTH_NONE,  REPLY_STREAM, BODY_NONE,   stream },
	{ BIT(HTTP_GET),	"/events",	AUTH_NONE,  REPLY_EVENTS, BODY_NONE,   events },
	{ BIT(HTTP_GET),	"/wrong/:how",	AUTH_NONE,  REPLY_STREAM, BODY_NONE,   wrong },
	{ BIT(HTTP_GET),	"/tunnel",	AUTH_NONE,  REPLY_TUNNEL, BODY_NONE,   tunnel },
	{ BIT(HTTP_POST),	"/drain",	AUTH_NONE,  REPLY_JSON,   BODY_NONE,   drain },
	{ BIT(HTTP_POST),	"/key",		AUTH_KEY,   REPLY_JSON,   16,	       who },
	{ BIT(HTTP_GET),	"/admin",	AUTH_ADMIN, REPLY_JSON,   BODY_NONE,   who },
};
/* clang-format on */

static int
check(void *arg, struct http_req *req, enum route_auth need,
    struct http_who *out, struct err *err)
{
	struct httpd *t = arg;

	return auth_check(t->auth, req, need, out, err);
}

static int
gate(void *arg, struct http_req *req, struct err *err)
{
	struct httpd *t = arg;

	return auth_gate(t->auth, req, err);
}

static void
headers(void *arg, struct http_req *req)
{
	struct httpd *t = arg;

	auth_headers(t->auth, req);
}

/* ---- the program ---- */

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static int
listen_tcp(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof in) < 0 ||
	    listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		die("listen");
	printf("port %u\n", ntohs(in.sin_port));
	fflush(stdout);
	return fd;
}

static int
listen_unix(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(un.sun_path, sizeof un.sun_path, "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof un) < 0 ||
	    listen(fd, 64) < 0)
		die(path);
	return fd;
}

static void
when_quiet(void *arg, int what)
{
	struct httpd *t = arg;

	(void)what;
	if (http_server_busy(t->server) == 0)
		loop_stop(t->loop);
	else
		watch_arm(t->poll, 20);
}

static void
on_signal(void *arg, int sig)
{
	struct httpd *t = arg;

	if (sig == SIGINT || t->draining)
		loop_stop(t->loop);
	t->draining = true;
	http_server_drain(t->server);
	watch_arm(t->poll, 20);
}

/* OPTION=VALUE, or "tenant NAME/OPTION=VALUE". */
static void
set(struct config *conf, const char *text)
{
	auto_free char *section = xstrdup(text);
	struct err err;
	char *value = strchr(section, '='), *key;

	if (value == NULL)
		exit(2);
	*value++ = '\0';
	key = strchr(section, '/');
	if (key != NULL)
		*key++ = '\0';
	if (conf_set(conf, key != NULL ? section : "",
		key != NULL ? key : section, value, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	struct config *conf = conf_new();
	struct httpd t = { .loop = loop_new() };
	struct http_server_conf c = { .loop = t.loop,
		.route = routes,
		.nroute = sizeof routes / sizeof *routes,
		.auth = check,
		.gate = gate,
		.headers = headers,
		.arg = &t,
		.limits = { 64, 1000, 1000, 2000, 1000, 1 << 20, 131072 } };
	const char *path = NULL;
	struct watch *term, *stop;
	int opt;

	while ((opt = getopt(argc, argv, "c:h:b:i:w:u:s:")) != -1) {
		unsigned n = optarg != NULL ? (unsigned)atoi(optarg) : 0;

		/* clang-format off */
		switch (opt) {
		case 'c': c.limits.connections = n; break;
		case 'h': c.limits.head_ms = n; break;
		case 'b': c.limits.body_ms = n; break;
		case 'i': c.limits.idle_ms = n; break;
		case 'w': c.limits.write_ms = n; break;
		case 'u': path = optarg; break;
		case 's': set(conf, optarg); break;
		default: return 2;
		}
		/* clang-format on */
	}
	t.auth = auth_new(conf);
	c.local = path != NULL;
	t.server = http_server_new(&c);
	http_server_listen(t.server,
	    path != NULL ? listen_unix(path) : listen_tcp());
	t.poll = watch_timer(t.loop, when_quiet, &t);
	t.later = watch_timer(t.loop, look_now, &t);
	term = watch_signal(t.loop, SIGTERM, on_signal, &t);
	stop = watch_signal(t.loop, SIGINT, on_signal, &t);
	loop_run(t.loop);
	http_server_free(t.server);
	printf("handled %u closed %u\n", t.handled, t.closed);
	watch_free(term);
	watch_free(stop);
	watch_free(t.poll);
	watch_free(t.later);
	auth_free(t.auth);
	conf_free(conf);
	loop_free(t.loop);
	return 0;
}
