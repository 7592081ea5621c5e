/* A run's answer over HTTP: a real server, clients on loopback. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/feed.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "tests/lib/drive.h"
#include "web/http.h"
#include "web/sse.h"

static struct world {
	struct loop *loop;
	struct http_server *server;
	int port;
	struct run *run; /* what the next request asks for */
	unsigned keep_alive, left, cancels;
	bool paused;
} w;

static void
cancel(void *arg, struct run *run)
{
	(void)arg;
	(void)run;
	w.cancels++;
}

static void
pause_source(void *arg, struct run *run, bool on)
{
	(void)arg;
	(void)run;
	w.paused = on;
}

static const struct source source = { cancel, pause_source };

static void
new_run(size_t keep)
{
	w.run = run_new(&(struct run_conf){ .id = "R",
	    .session_id = "S",
	    .reply = &reply_native,
	    .stream = true,
	    .keep = keep,
	    .ids = keep > 0,
	    .high = 65536 });
	run_start(w.run, &source, NULL);
}

static void
gone(void *arg, struct run *run)
{
	(void)arg;
	assert_non_null(run);
	w.left++;
}

static int
teapot(const struct run *run)
{
	return run_status(run) == RUN_COMPLETED ? 200 : 503;
}

static int
door(struct http_req *q, struct err *err)
{
	struct sse_ask ask = { .loop = w.loop,
		.keep_alive_s = w.keep_alive,
		.run = w.run,
		.after = sse_last_id(q),
		.gone = gone };

	ask.status = teapot;
	if (http_req_method(q) == HTTP_POST) {
		sse_whole(q, &ask);
		return 0;
	}
	return sse_stream(q, &ask, err);
}

static const struct route routes[] = {
	{ 1u << HTTP_GET | 1u << HTTP_POST, "/run", AUTH_NONE, REPLY_EVENTS,
	    BODY_JSON, door },
};

static int
setup(void **unused)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)unused;
	w = (struct world){ .loop = loop_new() };
	w.server = http_server_new(&(struct http_server_conf){ .loop = w.loop,
	    .route = routes,
	    .nroute = 1,
	    .limits = { .connections = 100,
		.head_ms = 5000,
		.body_ms = 5000,
		.idle_ms = 5000,
		.write_ms = 5000,
		.json_max = 1 << 20,
		.out_high = 256 * 1024 } });
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	w.port = ntohs(a.sin_port);
	http_server_listen(w.server, fd);
	return 0;
}

static int
teardown(void **unused)
{
	(void)unused;
	http_server_free(w.server);
	run_drop(w.run);
	loop_free(w.loop);
	return 0;
}

/* ---- a client ---- */

struct client {
	int fd;
	struct str got;
	bool over;
	const char *until;
};

static struct client
dial(const char *head)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)w.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct client c = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC,
				0) };
	int small = 4096;

	setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	assert_int_equal(connect(c.fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_true(write(c.fd, head, strlen(head)) > 0);
	fcntl(c.fd, F_SETFL, O_NONBLOCK);
	return c;
}

static void
take(struct client *c)
{
	char b[65536];
	ssize_t n;

	while ((n = read(c->fd, b, sizeof b)) > 0)
		str_add(&c->got, b, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		c->over = true;
}

static bool
has(void *arg)
{
	struct client *c = arg;

	take(c);
	return c->over || strstr(str_text(&c->got), c->until) != NULL;
}

static void
wait_for(struct client *c, const char *text)
{
	c->until = text;
	if (!drive(w.loop, has, c, 5000) ||
	    strstr(str_text(&c->got), text) == NULL)
		fail_msg("no %s in %s", text, str_text(&c->got));
}

static void
hang_up(struct client *c)
{
	close(c->fd);
	str_free(&c->got);
}

static bool
is_left(void *unused)
{
	(void)unused;
	return w.left > 0;
}

#define GET "GET /run HTTP/1.1\r\nhost: x\r\n"

static void
say(const char *text)
{
	run_text(w.run, (struct slice){ text, strlen(text) });
}

static unsigned
count(const char *in, const char *what)
{
	unsigned n = 0;

	while ((in = strstr(in, what)) != NULL) {
		in += strlen(what);
		n++;
	}
	return n;
}

/* ---- tests ---- */

static void
a_stream(void **unused)
{
	struct client c;

	(void)unused;
	new_run(0);
	c = dial(GET "\r\n");
	wait_for(&c, "\"in_progress\"");
	assert_non_null(strstr(c.got.at,
	    "content-type: text/event-stream; charset=utf-8\r\n"));
	assert_non_null(strstr(c.got.at, "cache-control: no-cache\r\n"));
	assert_non_null(strstr(c.got.at, "x-accel-buffering: no\r\n"));
	assert_non_null(strstr(c.got.at, "transfer-encoding: chunked\r\n"));
	str_cut(&c.got, 0);
	/* What is said in one go is one chunk. */
	say("a");
	say("b");
	say("c");
	wait_for(&c, "\"c\"");
	assert_int_equal(count(c.got.at, "data: "), 4);
	assert_int_equal(count(c.got.at, "\r\n"), 2);
	run_end(w.run, RUN_COMPLETED, NULL, NULL);
	wait_for(&c, "0\r\n\r\n");
	assert_true(drive(w.loop, is_left, NULL, 5000));
	/* And the connection serves on. */
	assert_int_equal(w.cancels, 0);
	str_cut(&c.got, 0);
	assert_true(write(c.fd, "GET /no HTTP/1.1\r\nhost: x\r\n\r\n", 30) > 0);
	wait_for(&c, "404");
	hang_up(&c);
}

static bool
both_left(void *unused)
{
	(void)unused;
	return w.left == 2;
}

static void
the_whole(void **unused)
{
	struct client c, d;

	(void)unused;
	new_run(0);
	c = dial("POST /run HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
	drive_for(w.loop, 20);
	say("Hello");
	run_end(w.run, RUN_FAILED, "E", "why");
	wait_for(&c, "\"session_id\":\"S\"}");
	assert_memory_equal(c.got.at, "HTTP/1.1 503 ", 13);
	assert_non_null(strstr(c.got.at, "content-type: application/json\r\n"));
	assert_non_null(strstr(c.got.at, "\"status\":\"failed\""));
	/* Of a run that is over already. */
	d = dial("POST /run HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
	wait_for(&d, "\"session_id\":\"S\"}");
	assert_true(drive(w.loop, both_left, NULL, 5000));
	hang_up(&c);
	hang_up(&d);
}

static void
old_clients_get_it_plain(void **unused)
{
	struct client c;

	(void)unused;
	new_run(0);
	c = dial("GET /run HTTP/1.0\r\n\r\n");
	wait_for(&c, "\"in_progress\"");
	say("x");
	run_end(w.run, RUN_COMPLETED, NULL, NULL);
	wait_for(&c, "\"completed_at\":1");
	assert_null(strstr(c.got.at, "transfer-encoding"));
	assert_non_null(
	    strstr(c.got.at, "\r\n\r\ndata: {\"sequence_number\":0"));
	c.until = "never";
	assert_true(drive(w.loop, has, &c, 5000));
	assert_true(c.over);
	assert_string_equal(c.got.at + c.got.len - 3, "}\n\n");
	hang_up(&c);
}

static void
who_leaves_is_noticed(void **unused)
{
	struct client c;
	struct linger hard = { .l_onoff = 1 };

	(void)unused;
	new_run(0);
	c = dial(GET "\r\n");
	wait_for(&c, "\"in_progress\"");
	setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
	hang_up(&c);
	assert_true(drive(w.loop, is_left, NULL, 5000));
	assert_int_equal(w.left, 1);
	assert_false(run_over(w.run));
	say("nobody hears it");
}

static void
half_closed_is_not_gone(void **unused)
{
	struct client c;

	(void)unused;
	new_run(0);
	c = dial(GET "\r\n");
	shutdown(c.fd, SHUT_WR);
	wait_for(&c, "\"in_progress\"");
	drive_for(w.loop, 50);
	assert_int_equal(w.left, 0);
	run_end(w.run, RUN_COMPLETED, NULL, NULL);
	wait_for(&c, "0\r\n\r\n");
	hang_up(&c);
}

static void
silence_is_filled(void **unused)
{
	struct client c;

	(void)unused;
	w.keep_alive = 1;
	new_run(0);
	c = dial(GET "\r\n");
	wait_for(&c, "\n: keep-alive\n\n");
	say("x");
	run_end(w.run, RUN_COMPLETED, NULL, NULL);
	wait_for(&c, "0\r\n\r\n");
	hang_up(&c);
}

static void
a_slow_reader_holds_the_source_up(void **unused)
{
	struct client c;
	char text[1024];
	size_t said = 0;

	(void)unused;
	memset(text, 'x', sizeof text);
	new_run(0);
	c = dial(GET "\r\n");
	wait_for(&c, "\"in_progress\"");
	while (!w.paused && said < 64 << 20) {
		run_text(w.run, (struct slice){ text, sizeof text });
		said += sizeof text;
		if (said % 65536 == 0)
			drive_for(w.loop, 1);
	}
	/* The kernel's buffers, what is ahead, and what the feed may hold. */
	assert_true(w.paused);
	assert_true(said < 12 << 20);
	c.until = "\"completed_at\":1";
	run_end(w.run, RUN_COMPLETED, NULL, NULL);
	assert_true(drive(w.loop, has, &c, 20000));
	assert_int_equal(count(c.got.at, "\"delta\":true"), said / 1024);
	hang_up(&c);
}

static void
a_stream_is_resumed(void **unused)
{
	struct client c;

	(void)unused;
	new_run(4096);
	say("one");
	say("two");
	c = dial(GET "last-event-id: 3\r\n\r\n");
	wait_for(&c, "id: 4\ndata: {");
	assert_null(strstr(c.got.at, "id: 3\n"));
	say("three");
	wait_for(&c, "id: 5\ndata: {");
	hang_up(&c);
	run_end(w.run, RUN_COMPLETED, NULL, NULL);
	c = dial(GET "last-event-id: 7\r\n\r\n");
	wait_for(&c, "id: 8\ndata: {");
	wait_for(&c, "0\r\n\r\n");
	hang_up(&c);
	/* What is no number is none. */
	c = dial(GET "last-event-id: 7x\r\n\r\n");
	wait_for(&c, "id: 0\n");
	hang_up(&c);
}

static void
what_is_no_longer_kept_is_said(void **unused)
{
	struct client c;

	(void)unused;
	new_run(512);
	for (int i = 0; i < 100; i++)
		say("some words");
	c = dial(GET "last-event-id: 3\r\n\r\n");
	wait_for(&c, "no longer kept");
	assert_memory_equal(c.got.at, "HTTP/1.1 404 ", 13);
	assert_int_equal(w.left, 0);
	hang_up(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stream),
		TEST(the_whole),
		TEST(old_clients_get_it_plain),
		TEST(who_leaves_is_noticed),
		TEST(half_closed_is_not_gone),
		TEST(silence_is_filled),
		TEST(a_slow_reader_holds_the_source_up),
		TEST(a_stream_is_resumed),
		TEST(what_is_no_longer_kept_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
