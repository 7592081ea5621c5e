#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/exec.h"
#include "cli/term.h"
#include "wire/frame.h"

#define PROTOCOL "hutch-exec"
#define OUT_HIGH (256u << 10) /* unsent bytes at which we stop reading input */

struct session {
	const struct exec *exec;
	struct tunnel *tunnel;
	struct frame_reader in;
	struct str out; /* frames on their way to the daemon */
	int signals;
	int interrupts;
	bool reading; /* our standard input has more */
	bool over;
	int status;
};

/* ---- to the daemon ---- */

static void
put(struct session *s, char what, const void *bytes, size_t n)
{
	uint8_t head[FRAME_HEAD];

	frame_head(head, n + 1);
	str_add(&s->out, head, sizeof head);
	str_putc(&s->out, what);
	str_add(&s->out, bytes, n);
}

/* Takes it. */
static int
put_json(struct session *s, char what, json_t *json, struct err *err)
{
	auto_free char *text = NULL;

	if (json != NULL)
		text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	if (text == NULL)
		return err_set(err, ERR_INVALID,
		    "a command must be valid UTF-8");
	if (strlen(text) >= FRAME_MAX)
		return err_set(err, ERR_LIMIT,
		    "the command is longer than %d bytes: hand it over as a "
		    "file or on its standard input",
		    FRAME_MAX);
	put(s, what, text, strlen(text));
	return 0;
}

static json_t *
env_object(char *const *env, const char *term)
{
	json_t *o = json_object();

	if (term != NULL)
		json_object_set_new(o, "TERM", json_string(term));
	for (; env != NULL && *env != NULL; env++) {
		const char *eq = strchr(*env, '=');
		auto_free char *name = xstrndup(*env, (size_t)(eq - *env));

		json_object_set_new(o, name, json_string(eq + 1));
	}
	return o;
}

static int
say_start(struct session *s, struct err *err)
{
	const struct exec *e = s->exec;
	unsigned rows = 24, cols = 80;
	json_t *argv = json_array();

	for (size_t i = 0; e->argv[i] != NULL; i++)
		json_array_append_new(argv, json_string(e->argv[i]));
	if (e->tty && !term_size(STDOUT_FILENO, &rows, &cols))
		term_size(STDIN_FILENO, &rows, &cols);
	return put_json(s, 'S',
	    json_pack("{s:o, s:o, s:b, s:s*, s:i, s:i, s:b}", "argv", argv,
		"env", env_object(e->env, e->tty ? e->term : NULL), "tty",
		e->tty, "cwd", e->cwd, "rows", (int)rows, "cols", (int)cols,
		"remove", e->remove),
	    err);
}

static int
say_size(struct session *s, struct err *err)
{
	unsigned rows, cols;

	if (!s->exec->tty || !term_size(STDOUT_FILENO, &rows, &cols))
		return 0;
	return put_json(s, 'R',
	    json_pack("{s:i, s:i}", "rows", (int)rows, "cols", (int)cols), err);
}

static int
flush(struct session *s, struct err *err)
{
	while (s->out.len > 0) {
		ssize_t n = api_send(s->tunnel, s->out.at, s->out.len, err);

		if (n < 0)
			return err->code == ERR_BUSY ? 0 : -1;
		str_drop(&s->out, (size_t)n);
	}
	return 0;
}

static void
read_input(struct session *s)
{
	char buf[16384];
	ssize_t n = read(STDIN_FILENO, buf, sizeof buf);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		s->reading = false;
	put(s, 'I', buf, n > 0 ? (size_t)n : 0);
}

static int
on_signal(struct session *s, struct err *err)
{
	struct signalfd_siginfo si;

	if (read(s->signals, &si, sizeof si) != sizeof si)
		return 0;
	if (si.ssi_signo == SIGWINCH)
		return say_size(s, err);
	if (++s->interrupts > 1 || si.ssi_signo == SIGHUP)
		return err_set(err, ERR_BUSY, "interrupted");
	put(s, 'K', NULL, 0);
	return 0;
}

/* ---- from the daemon ---- */

static int
show(struct session *s, int fd, const uint8_t *at, size_t n, struct err *err)
{
	if (file_write_all(fd, at, n, err) == 0)
		return 0;
	if (err->sys != EPIPE)
		return -1;
	/* Whoever read it has had enough: end as the signal would end us. */
	s->status = 128 + SIGPIPE;
	s->over = true;
	return 0;
}

static int
on_end(struct session *s, const uint8_t *at, size_t n, struct err *err)
{
	json_t *end = json_loadb((const char *)at, n, 0, NULL);
	const json_t *status = json_object_get(end, "exit");
	const char *why = json_string_value(json_object_get(end, "detail"));
	json_int_t v = json_integer_value(status);
	int r = 0;

	if (json_is_integer(status)) {
		s->status = (int)(v >= 0 ? v & 0xff : 128 + (-v & 0x7f));
		s->over = true;
	} else
		r = err_set(err, ERR_PROTO, "%s",
		    why != NULL ? why : "the command ended without a status");
	json_decref(end);
	return r;
}

static int
on_frame(struct session *s, const uint8_t *at, size_t n, struct err *err)
{
	switch (*at) {
	case 'O':
		return show(s, STDOUT_FILENO, at + 1, n - 1, err);
	case 'E':
		return show(s, STDERR_FILENO, at + 1, n - 1, err);
	case 'X':
		return on_end(s, at + 1, n - 1, err);
	default:
		return err_set(err, ERR_PROTO, "frame %d from the daemon", *at);
	}
}

static int
receive(struct session *s, struct err *err)
{
	const uint8_t *at;
	char buf[16384];
	size_t len;
	int r;

	/* To the last byte: TLS may hold some that poll knows nothing of. */
	while (!s->over) {
		ssize_t n = api_recv(s->tunnel, buf, sizeof buf, err);

		if (n < 0 && err->code == ERR_BUSY)
			return 0;
		if (n <= 0)
			return err_set(err, ERR_PROTO,
			    "the daemon left before the command ended");
		frame_feed(&s->in, buf, (size_t)n);
		while (
		    !s->over && (r = frame_next(&s->in, &at, &len, err)) != 0)
			if (r < 0 || on_frame(s, at, len, err) < 0)
				return -1;
	}
	return 0;
}

/* ---- the session ---- */

static int
turn(struct session *s, struct err *err)
{
	bool in = s->reading && s->out.len < OUT_HIGH;
	struct pollfd p[] = {
		{ api_tunnel_fd(s->tunnel),
		    (short)(POLLIN | (s->out.len > 0 ? POLLOUT : 0)), 0 },
		{ s->signals, POLLIN, 0 },
		{ in ? STDIN_FILENO : -1, POLLIN, 0 },
	};

	if (poll(p, 3, -1) < 0)
		return errno == EINTR ? 0 : err_sys(err, "poll");
	if (p[1].revents != 0 && on_signal(s, err) < 0)
		return -1;
	if (p[2].revents != 0)
		read_input(s);
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR) && receive(s, err) < 0)
		return -1;
	return s->over ? 0 : flush(s, err);
}

static int
talk(struct session *s, struct err *err)
{
	if (say_start(s, err) < 0)
		return -1;
	if (!s->exec->input)
		put(s, 'I', NULL, 0);
	/* What came with the head of the answer is not seen by poll. */
	if (flush(s, err) < 0 || receive(s, err) < 0)
		return -1;
	while (!s->over)
		if (turn(s, err) < 0)
			return -1;
	return 0;
}

int
exec_run(struct api *api, const struct exec *e, int *status, struct err *err)
{
	struct session s = { .exec = e, .signals = -1, .reading = e->input };
	auto_free char *id = api_quote(e->id);
	auto_free char *path = xasprintf("sandboxes/%s/exec", id);
	sigset_t set, was;
	int r = -1;

	s.tunnel = api_tunnel(api, path, PROTOCOL, err);
	if (s.tunnel == NULL)
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &was);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.signals < 0)
		err_sys(err, "signalfd");
	else {
		if (e->tty && e->input)
			term_raw(STDIN_FILENO);
		r = talk(&s, err);
		term_restore();
		close(s.signals);
	}
	sigprocmask(SIG_SETMASK, &was, NULL);
	frame_reader_free(&s.in);
	str_free(&s.out);
	api_tunnel_free(s.tunnel);
	if (r == 0)
		*status = s.status;
	return r;
}
