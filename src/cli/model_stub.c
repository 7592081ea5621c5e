/* model-stub: the scripted model as a server of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/cli.h"
#include "model/stub.h"
#include "web/http.h"
#include "wire/loop.h"

#define DEFAULT_PORT 8093
#define BACKLOG_MOST 65536
#define BIT(m) (1u << (m))

/* One answer that goes out. */
struct answer {
	struct http_req *req;
	struct stub *stub;
	struct watch *timer;
	enum stub_word word;
	bool stuck; /* until something has been sent */
};

static void
closed(struct http_req *req)
{
	struct answer *a = http_req_data(req);

	stub_free(a->stub);
	watch_free(a->timer);
	free(a);
}

static void
step(void *arg, int what)
{
	struct answer *a = arg;
	unsigned wait = 0;

	(void)what;
	while (a->word == STUB_MORE && wait == 0) {
		auto_str struct str out = { 0 };

		a->stuck = http_reply_backlog(a->req) >= BACKLOG_MOST;
		if (a->stuck)
			return;
		a->word = stub_next(a->stub, &out, &wait);
		if (out.len > 0)
			http_reply_write(a->req, out.at, out.len);
	}
	if (a->word == STUB_MORE)
		watch_arm(a->timer, wait);
	else if (a->word == STUB_CUT)
		http_reply_abort(a->req);
	else
		http_reply_end(a->req);
}

static void
drained(struct http_req *req)
{
	struct answer *a = http_req_data(req);

	if (a->stuck)
		watch_arm(a->timer, 0);
}

static int
chat(struct http_req *req, struct err *err)
{
	struct answer *a = xcalloc(1, sizeof *a);
	size_t n;
	const uint8_t *body = http_req_body(req, &n);

	(void)err;
	a->req = req;
	a->stub = stub_new(body, n);
	a->timer = watch_timer(http_req_app(req), step, a);
	http_req_set_data(req, a);
	http_req_on_closed(req, closed);
	http_reply_start(req, (int)stub_status(a->stub), stub_type(a->stub),
	    -1);
	http_reply_on_drained(req, drained);
	watch_arm(a->timer, 0); /* nothing ends from within its own call */
	return 0;
}

static int
models(struct http_req *req, struct err *err)
{
	auto_str struct str out = { 0 };

	(void)err;
	stub_models(&out);
	http_reply(req, 200, "application/json", out.at, out.len);
	return 0;
}

/* clang-format off */
static const struct route stub_routes[] = {
	{ BIT(HTTP_POST), "/v1/chat/completions", AUTH_NONE, REPLY_STREAM, BODY_JSON, chat },
	{ BIT(HTTP_POST), "/chat/completions",	  AUTH_NONE, REPLY_STREAM, BODY_JSON, chat },
	{ BIT(HTTP_GET),  "/v1/models",		  AUTH_NONE, REPLY_JSON,   BODY_NONE, models },
	{ BIT(HTTP_GET),  "/models",		  AUTH_NONE, REPLY_JSON,   BODY_NONE, models },
};
/* clang-format on */

/* [[ADDRESS:]PORT] */
static int
address(const char *text, struct sockaddr_in *in, struct err *err)
{
	const char *colon = text != NULL ? strrchr(text, ':') : NULL;
	const char *port = colon != NULL ? colon + 1 : text;
	auto_free char *host = colon != NULL
	    ? xstrndup(text, (size_t)(colon - text))
	    : xstrdup("127.0.0.1");
	unsigned long n = DEFAULT_PORT;
	char *end;

	if (port != NULL) {
		errno = 0;
		n = strtoul(port, &end, 10);
		if (*port == '\0' || *end != '\0' || n > 65535 || errno != 0)
			return err_set(err, ERR_INVALID,
			    "%.40s: takes ADDRESS:PORT or PORT", text);
	}
	*in = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)n) };
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1)
		return err_set(err, ERR_INVALID,
		    "%.40s: takes an address as a number", host);
	return 0;
}

static int
listener(struct sockaddr_in *in, struct err *err)
{
	socklen_t len = sizeof *in;
	auto_fd int fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_sys(err, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)in, len) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)in, &len) < 0)
		return err_sys(err, "port %u", ntohs(in->sin_port));
	return take_fd(&fd);
}

static void
on_stop(void *arg, int sig)
{
	(void)sig;
	loop_stop(arg);
}

static void
serve(int fd)
{
	struct loop *loop = loop_new();
	const struct http_server_conf conf = { .loop = loop,
		.route = stub_routes,
		.nroute = sizeof stub_routes / sizeof *stub_routes,
		.limits = { .connections = 512,
		    .head_ms = 10000,
		    .body_ms = 30000,
		    .idle_ms = 75000,
		    .write_ms = 30000,
		    .json_max = 32u << 20,
		    .out_high = BACKLOG_MOST },
		.arg = loop };
	struct http_server *server = http_server_new(&conf);
	struct watch *term = watch_signal(loop, SIGTERM, on_stop, loop);
	struct watch *stop = watch_signal(loop, SIGINT, on_stop, loop);

	signal(SIGPIPE, SIG_IGN);
	http_server_listen(server, fd);
	loop_run(loop);
	http_server_free(server);
	watch_free(term);
	watch_free(stop);
	loop_free(loop);
}

int
cmd_model_stub(struct cli *cli, struct err *err)
{
	struct sockaddr_in in;
	char host[INET_ADDRSTRLEN];
	int fd;

	if (address(cli->narg > 0 ? cli->arg[0] : NULL, &in, err) < 0)
		return -1;
	fd = listener(&in, err);
	if (fd < 0)
		return -1;
	inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
	printf("http://%s:%u/v1\n", host, ntohs(in.sin_port));
	fflush(stdout);
	serve(fd);
	return 0;
}
