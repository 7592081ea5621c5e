/*
 * A whole connection: the server, handlers of every kind, and a client that
 * sends, waits, reads, half-closes and leaves as the input says.
 *
 * The input is a list of acts: a byte (act_t below, by its low three bits),
 * for SEND a length and so many bytes.  What must hold: no request is told its
 * end twice or never, and nobody touches one that has ended (ASan sees to it).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"
#include "web/http.h"
#include "wire/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define BIT(m) (1u << (m))

enum act_t { SEND, SEND_2, SEND_3, FILL, SHUT, TURN, READ, READ_ALL };

static struct loop *loop;
static struct http_server *server;
static struct watch *tick;
static struct http_req *waiting; /* one whose handler answers later */
static unsigned handled, closed;
static int listener;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static socklen_t name_len = sizeof(sa_family_t);

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
on_closed(struct http_req *req)
{
	closed++;
	must(http_req_data(req) == req);
	http_req_set_data(req, NULL);
	if (waiting == req)
		waiting = NULL;
}

static void
begin(struct http_req *req)
{
	handled++;
	http_req_set_data(req, req);
	http_req_on_closed(req, on_closed);
}

static int
whole(struct http_req *req, struct err *err)
{
	size_t n;
	const uint8_t *body = http_req_body(req, &n);

	(void)err;
	begin(req);
	http_reply(req, 200, http_req_param(req, "type"), body, n);
	return 0;
}

static void
echo_piece(struct http_req *req, const uint8_t *bytes, size_t n)
{
	must(http_req_data(req) == req);
	if (bytes == NULL) {
		http_reply_end(req);
		return;
	}
	http_reply_write(req, bytes, n);
	if (http_reply_backlog(req) > 256)
		http_req_pause(req);
}

static int
echo(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req);
	http_req_on_body(req, echo_piece);
	http_reply_on_drained(req, http_req_resume);
	http_reply_start(req, 200, "text/plain", http_req_length(req));
	return 0;
}

static int
refuse(struct http_req *req, struct err *err)
{
	begin(req);
	return err_set(err, ERR_DENIED, "%s", http_req_name(req, "why"));
}

static int
later(struct http_req *req, struct err *err)
{
	begin(req);
	if (waiting != NULL)
		return err_set(err, ERR_BUSY, "one at a time");
	waiting = req;
	return 0;
}

static void
swallow(struct http_req *req, const uint8_t *bytes, size_t n)
{
	must(http_req_data(req) == req);
	if (n == 3)
		http_reply_abort(req);
	if (n == 4)
		http_reply(req, 200, "text/plain", bytes, n);
}

static void
answer_waiting(void)
{
	struct http_req *req = waiting;

	if (req == NULL)
		return;
	waiting = NULL;
	if (http_req_param(req, "swallow") != NULL)
		http_req_on_body(req, swallow);
	else if (http_req_param(req, "abort") != NULL)
		http_reply_abort(req);
	else
		http_reply(req, 200, "text/plain", "later", 5);
}

static void
tunnel_piece(struct http_req *req, const uint8_t *bytes, size_t n)
{
	must(http_req_data(req) == req);
	if (bytes == NULL || bytes[0] == 'q')
		http_reply_end(req);
	else
		http_reply_write(req, bytes, n);
}

static int
tunnel(struct http_req *req, struct err *err)
{
	(void)err;
	begin(req);
	http_reply_upgrade(req, "echo");
	http_req_on_body(req, tunnel_piece);
	return 0;
}

/* clang-format off */
static const struct route routes[] = {
	{ BIT(HTTP_POST) | BIT(HTTP_GET) | BIT(HTTP_HEAD),
			   "/w", AUTH_NONE, REPLY_JSON,	  BODY_JSON,   whole },
	{ BIT(HTTP_POST),  "/e", AUTH_NONE, REPLY_EVENTS, BODY_STREAM, echo },
	{ BIT(HTTP_POST),  "/r/*why", AUTH_NONE, REPLY_JSON, BODY_STREAM, refuse },
	{ BIT(HTTP_POST),  "/l", AUTH_NONE, REPLY_STREAM, BODY_STREAM, later },
	{ BIT(HTTP_GET),   "/l", AUTH_NONE, REPLY_JSON,	  BODY_NONE,   later },
	{ BIT(HTTP_GET),   "/t", AUTH_NONE, REPLY_TUNNEL, BODY_NONE,   tunnel },
};
/* clang-format on */

static void
start(void)
{
	struct http_server_conf conf = { .route = routes,
		.nroute = sizeof routes / sizeof *routes,
		.limits = { 64, 60000, 60000, 60000, 60000, 100, 512 },
		.local = true };

	loop = loop_new();
	conf.loop = loop;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	/* No name: the kernel chooses an abstract one. */
	must(bind(listener, (struct sockaddr *)&name, name_len) == 0);
	name_len = sizeof name;
	must(getsockname(listener, (struct sockaddr *)&name, &name_len) == 0);
	must(listen(listener, 8) == 0);
	server = http_server_new(&conf);
	http_server_listen(server, listener);
}

static void
stop(void)
{
	http_server_free(server);
	watch_free(tick);
	loop_free(loop);
	loop = NULL;
	must(handled == closed && waiting == NULL);
}

static void
nothing(void *arg, int what)
{
	(void)arg;
	(void)what;
}

static void
turn(int times)
{
	if (tick == NULL)
		tick = watch_timer(loop, nothing, NULL);
	while (times-- > 0) {
		watch_arm(tick, 0);
		loop_turn(loop);
	}
}

static void
receive(int fd, size_t most)
{
	char bytes[4096];

	recv(fd, bytes, most < sizeof bytes ? most : sizeof bytes,
	    MSG_DONTWAIT);
}

static const uint8_t *
act(int fd, const uint8_t *at, const uint8_t *end)
{
	static const char fill[3000];
	enum act_t what = *at++ & 7;
	size_t n = 0;

	if (what <= SEND_3 && at < end) {
		n = *at++;
		n = n < (size_t)(end - at) ? n : (size_t)(end - at);
		send(fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		turn(1);
	} else if (what == FILL)
		send(fd, fill, sizeof fill, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (what == SHUT)
		shutdown(fd, SHUT_WR);
	else if (what == TURN) {
		turn(2);
		answer_waiting();
	} else
		receive(fd, what == READ ? 10 : 4096);
	return at + n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *at = bytes, *end = bytes + n;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int room = 4096;

	handled = closed = 0;
	start();
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	must(connect(fd, (struct sockaddr *)&name, name_len) == 0);
	while (at < end)
		at = act(fd, at, end);
	turn(2);
	answer_waiting();
	turn(2);
	receive(fd, 4096);
	if (n % 2 == 0)
		close(fd);
	turn(4);
	stop();
	if (n % 2 != 0)
		close(fd);
	tick = NULL;
	name_len = sizeof(sa_family_t);
	return 0;
}
