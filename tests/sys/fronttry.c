/*
 * fronttry: hutch-front's part in a test, to ask the broker by hand.  Each
 * connection to the native socket is a command, a line; the answer is "ok ..."
 * or "error CODE TEXT", and for build, attach, import and export the bytes of
 * what was got, until either side ends.
 *
 *	hello | live | exits | images | leave | crash | bad TYPE | windows
 *	build ID [dir=D] [layers=HEX,...] [memory=N] [pids=N] [mount=FROM:AT] [net=nat]
 *	attach ID | stop ID | freeze ID 0|1 | usage ID | rm NAME
 *	import NAME | export NAME
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "wire/broker.h"
#include "wire/link.h"

#define LINK 3
#define ANSWER_MS 20000
#define RELAYS 64

struct relay { /* bytes one way; shutdown of .to when .from has ended */
	int from, to;
	char buf[32768];
	size_t at, len;
};

static struct relay *relays[RELAYS];
static struct link_msg m;
static struct str ends; /* of sandboxes, as told */
static uint32_t calls, generation;
static int native, own;

static void
die(const char *what)
{
	fprintf(stderr, "fronttry: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the broker ---- */

static void
told(void)
{
	struct broker_exited e;
	char hex[2 * BROKER_ID + 1];

	if (m.type == BROKER_DRAIN)
		exit(0);
	if (m.type == BROKER_RELOAD) {
		link_msg_drop(&m);
		return;
	}
	if (m.type != BROKER_EXITED || m.len != sizeof e)
		die("odd message");
	memcpy(&e, m.body, sizeof e);
	hex_put(hex, e.id, sizeof e.id);
	str_printf(&ends, " %s:%u:%d", hex, e.end, e.status);
}

static void
next_message(int ms)
{
	struct pollfd p = { .fd = LINK, .events = POLLIN };
	struct err err;

	if (poll(&p, 1, ms) != 1)
		die("the broker is silent");
	if (link_recv(LINK, &m, &err) != 1)
		die("the broker has left");
}

/* 0, the answer in m; -1: err is its error. */
static int
ask(uint16_t type, const void *body, size_t n, struct err *err)
{
	uint32_t call = ++calls;

	m.type = type;
	m.call = call;
	m.len = n;
	m.nfd = 0;
	if (n > 0)
		memcpy(m.body, body, n);
	if (link_send(LINK, &m, err) < 0)
		die("link");
	for (;;) {
		next_message(ANSWER_MS);
		if (m.call == call)
			break;
		told();
	}
	if (m.type == BROKER_OK)
		return 0;
	memcpy(err, m.body, sizeof *err);
	return -1;
}

/* ---- relays ---- */

static void
relay(int from, int to)
{
	for (int i = 0; i < RELAYS; i++)
		if (relays[i] == NULL) {
			relays[i] = xcalloc(1, sizeof *relays[i]);
			relays[i]->from = from;
			relays[i]->to = to;
			fcntl(from, F_SETFL, O_NONBLOCK);
			fcntl(to, F_SETFL, O_NONBLOCK);
			return;
		}
	die("too many relays");
}

static void
relay_end(int i)
{
	struct relay *r = relays[i];

	if (shutdown(r->to, SHUT_WR) < 0 && errno == ENOTSOCK)
		close(r->to);
	relays[i] = NULL;
	free(r);
}

static void
relay_turn(int i)
{
	struct relay *r = relays[i];
	ssize_t n;

	if (r->len == 0) {
		n = read(r->from, r->buf, sizeof r->buf);
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			relay_end(i);
			return;
		}
		r->at = 0;
		r->len = n > 0 ? (size_t)n : 0;
	}
	n = r->len > 0 ? write(r->to, r->buf + r->at, r->len) : 0;
	if (n < 0 && errno != EAGAIN) {
		relay_end(i);
		return;
	}
	if (n > 0) {
		r->at += (size_t)n;
		r->len -= (size_t)n;
	}
}

/* ---- commands ---- */

struct words {
	char *at[16];
	int n;
};

static int
get_id(const struct words *w, uint8_t id[BROKER_ID], struct err *err)
{
	if (w->n < 2 || hex_get(id, BROKER_ID, w->at[1]) < 0)
		return err_set(err, ERR_INVALID, "takes an id");
	return 0;
}

static void
add_layers(struct broker_build *q, char *list)
{
	char *hex;

	while ((hex = strsep(&list, ",")) != NULL)
		if (hex_get(q->layer[q->nlayer++], BROKER_DIGEST, hex) < 0)
			die("layers=");
}

static void
add_mount(struct broker_build *q, char *text)
{
	struct broker_mount *to = &q->mount[q->nmount++];
	char *at = strchr(text, ':');

	if (at == NULL)
		die("mount=");
	*at++ = '\0';
	snprintf(to->from, sizeof to->from, "%s", text);
	snprintf(to->at, sizeof to->at, "%s", at);
}

static void
build_word(struct broker_build *q, char *word)
{
	char *value = strchr(word, '=');

	if (value == NULL)
		die("build");
	*value++ = '\0';
	if (strcmp(word, "dir") == 0)
		snprintf(q->dir, sizeof q->dir, "%s", value);
	else if (strcmp(word, "layers") == 0)
		add_layers(q, value);
	else if (strcmp(word, "mount") == 0)
		add_mount(q, value);
	else if (strcmp(word, "memory") == 0)
		q->memory = strtoull(value, NULL, 10);
	else if (strcmp(word, "net") == 0)
		q->net = strcmp(value, "nat") == 0 ? BROKER_NET_NAT
						   : BROKER_NET_NONE;
	else if (strcmp(word, "pids") == 0)
		q->pids = (uint32_t)strtoul(value, NULL, 10);
	else
		die(word);
}

/* The stream of the answer, both ways. */
static void
show_stream(int conn, struct str *out)
{
	struct broker_built b;
	int back = dup(conn);

	memcpy(&b, m.body, sizeof b);
	str_printf(out, "slot=%u clone_us=%u", b.slot, b.step_us[3]);
	close(m.fd[1]); /* the pidfd */
	relay(m.fd[0], back);
	relay(conn, m.fd[0]);
}

static int
do_build(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_build q = { .hostname = "try" };

	if (get_id(w, q.id, err) < 0)
		return -1;
	for (int i = 2; i < w->n; i++)
		build_word(&q, w->at[i]);
	if (ask(BROKER_BUILD, &q, sizeof q, err) < 0)
		return -1;
	show_stream(conn, out);
	return 1;
}

static int
do_attach(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_id q;

	if (get_id(w, q.id, err) < 0 ||
	    ask(BROKER_ATTACH, &q, sizeof q, err) < 0)
		return -1;
	show_stream(conn, out);
	return 1;
}

static int
do_stop(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_id q;

	(void)conn;
	(void)out;
	if (get_id(w, q.id, err) < 0)
		return -1;
	return ask(BROKER_STOP, &q, sizeof q, err);
}

static int
do_freeze(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_freeze q;

	(void)conn;
	(void)out;
	if (get_id(w, q.id, err) < 0)
		return -1;
	q.on = w->n > 2 && w->at[2][0] == '1';
	return ask(BROKER_FREEZE, &q, sizeof q, err);
}

static int
do_usage(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_usage u;
	struct broker_id q;

	(void)conn;
	if (get_id(w, q.id, err) < 0 ||
	    ask(BROKER_USAGE, &q, sizeof q, err) < 0)
		return -1;
	memcpy(&u, m.body, sizeof u);
	str_printf(out, "cpu_us=%llu memory=%llu pids=%llu oom=%llu",
	    (unsigned long long)u.cpu_us, (unsigned long long)u.memory,
	    (unsigned long long)u.pids, (unsigned long long)u.oom_kills);
	return 0;
}

static int
do_live(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_page q = { 0 };
	struct broker_live live;

	(void)w;
	(void)conn;
	do {
		if (ask(BROKER_LIVE, &q, sizeof q, err) < 0)
			return -1;
		memcpy(&live, m.body, sizeof live);
		for (uint32_t i = 0; i < live.n; i++) {
			char hex[2 * BROKER_ID + 1];

			hex_put(hex, live.at[i].id, BROKER_ID);
			str_printf(out, "%s ", hex);
		}
		q.from += live.n;
	} while (live.n > 0 && q.from < live.total);
	return 0;
}

static int
do_hello(const struct words *w, int conn, struct str *out, struct err *err)
{
	(void)w;
	(void)conn;
	(void)err;
	str_printf(out, "generation=%u pid=%d uid=%d", generation,
	    (int)getpid(), (int)getuid());
	return 0;
}

static int
do_exits(const struct words *w, int conn, struct str *out, struct err *err)
{
	(void)w;
	(void)conn;
	(void)err;
	str_puts(out, str_text(&ends));
	return 0;
}

static int
do_images(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct dirent *e;
	DIR *d;

	(void)w;
	(void)conn;
	if (ask(BROKER_IMAGES, NULL, 0, err) < 0)
		return -1;
	d = fdopendir(m.fd[0]);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			str_printf(out, "%s ", e->d_name);
	closedir(d);
	return 0;
}

/* Where a directory leads that the broker handed out: nowhere but down. */
static int
ends_there(int dir)
{
	struct stat here, up;

	return fstat(dir, &here) == 0 && fstatat(dir, "..", &up, 0) == 0 &&
	    here.st_ino == up.st_ino && here.st_dev == up.st_dev &&
	    faccessat(dir, "../../../../../../etc/passwd", F_OK, 0) < 0;
}

static int
may_write(int dir)
{
	int fd = openat(dir, "try", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0 && unlinkat(dir, "try", 0) == 0;
}

static int
do_windows(const struct words *w, int conn, struct str *out, struct err *err)
{
	(void)w;
	(void)conn;
	if (ask(BROKER_IMAGES, NULL, 0, err) < 0)
		return -1;
	str_printf(out,
	    "own=%d own_write=%d images=%d images_write=%d state=%d",
	    ends_there(own), may_write(own), ends_there(m.fd[0]),
	    may_write(m.fd[0]), access("/state", W_OK) == 0);
	close(m.fd[0]);
	return 0;
}

static int
name_of(const struct words *w, struct broker_name *q, struct err *err)
{
	memset(q, 0, sizeof *q);
	if (w->n < 2)
		return err_set(err, ERR_INVALID, "takes a name");
	snprintf(q->name, sizeof q->name, "%s", w->at[1]);
	return 0;
}

static int
do_rm(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_name q;

	(void)conn;
	(void)out;
	if (name_of(w, &q, err) < 0)
		return -1;
	return ask(BROKER_IMAGE_RM, &q, sizeof q, err);
}

static int
do_import(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_name q;
	int back = dup(conn);

	(void)out;
	if (name_of(w, &q, err) < 0 ||
	    ask(BROKER_IMPORT, &q, sizeof q, err) < 0) {
		close(back);
		return -1;
	}
	relay(conn, m.fd[0]);
	relay(m.fd[1], back);
	return 1;
}

static int
do_export(const struct words *w, int conn, struct str *out, struct err *err)
{
	struct broker_name q;

	(void)out;
	if (name_of(w, &q, err) < 0 ||
	    ask(BROKER_EXPORT, &q, sizeof q, err) < 0)
		return -1;
	relay(m.fd[0], conn);
	relay(m.fd[1], dup(STDERR_FILENO));
	return 1;
}

static int
do_bad(const struct words *w, int conn, struct str *out, struct err *err)
{
	(void)conn;
	(void)out;
	return ask((uint16_t)(w->n > 1 ? atoi(w->at[1]) : 0), NULL, 0, err);
}

static int
do_leave(const struct words *w, int conn, struct str *out, struct err *err)
{
	(void)conn;
	(void)out;
	(void)err;
	if (w->at[0][0] == 'c')
		abort();
	exit(0);
}

/* clang-format off */
static const struct {
	const char *name;
	int (*run)(const struct words *, int conn, struct str *, struct err *);
} commands[] = {
	{ "hello", do_hello }, { "live", do_live }, { "exits", do_exits },
	{ "build", do_build }, { "attach", do_attach }, { "stop", do_stop },
	{ "freeze", do_freeze }, { "usage", do_usage }, { "images", do_images },
	{ "rm", do_rm }, { "import", do_import }, { "export", do_export },
	{ "windows", do_windows }, { "bad", do_bad }, { "leave", do_leave }, { "crash", do_leave },
};
/* clang-format on */

static int
run(const struct words *w, int conn, struct str *out, struct err *err)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (w->n > 0 && strcmp(commands[i].name, w->at[0]) == 0)
			return commands[i].run(w, conn, out, err);
	return err_set(err, ERR_INVALID, "no such command");
}

/* A byte at a time: what follows the line is not ours. */
static int
read_line(int fd, char *line, size_t room)
{
	size_t n = 0;

	while (n + 1 < room && read(fd, line + n, 1) == 1) {
		if (line[n] == '\n') {
			line[n] = '\0';
			return 0;
		}
		n++;
	}
	return -1;
}

static void
serve(void)
{
	int conn = accept4(native, NULL, NULL, SOCK_CLOEXEC);
	const struct timeval patience = { .tv_sec = 5 };
	auto_str struct str out = { 0 };
	struct words w = { .n = 0 };
	char line[4096], *at = line;
	struct err err = { 0 }, ignored;
	int r;

	if (conn < 0)
		return;
	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (read_line(conn, line, sizeof line) < 0) {
		close(conn);
		return;
	}
	while (w.n < 16 && (w.at[w.n] = strsep(&at, " ")) != NULL)
		w.n++;
	str_puts(&out, "ok ");
	r = run(&w, conn, &out, &err);
	if (r < 0) {
		str_cut(&out, 0);
		str_printf(&out, "error %s %s", err_name(err.code), err.text);
	}
	str_putc(&out, '\n');
	file_write_all(conn, out.at, out.len, &ignored);
	if (r <= 0)
		close(conn);
}

static void
turn(void)
{
	struct pollfd p[2 + RELAYS] = { { LINK, POLLIN, 0 },
		{ native, POLLIN, 0 } };
	int which[RELAYS], n = 0;

	for (int i = 0; i < RELAYS; i++) {
		struct relay *r = relays[i];

		if (r == NULL)
			continue;
		p[2 + n].fd = r->len > 0 ? r->to : r->from;
		p[2 + n].events = r->len > 0 ? POLLOUT : POLLIN;
		which[n++] = i;
	}
	if (poll(p, (nfds_t)(2 + n), -1) < 0)
		die("poll");
	if (p[0].revents != 0) {
		next_message(0);
		told();
	}
	for (int i = 0; i < n; i++)
		if (p[2 + i].revents != 0)
			relay_turn(which[i]);
	if (p[1].revents != 0)
		serve();
}

int
main(void)
{
	struct broker_hello hello;
	struct err err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	if (ask(BROKER_LISTENERS, NULL, 0, &err) < 0)
		die(err.text);
	memcpy(&hello, m.body, sizeof hello);
	generation = hello.generation;
	native = m.fd[1];
	own = m.fd[3];
	for (;;)
		turn();
}
