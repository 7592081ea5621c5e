/* api: a command in a sandbox, over an upgraded connection (cli/exec.h). */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/environ.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/lease.h"
#include "web/trail.h"
#include "web/upload.h"
#include "wire/frame.h"

#define PROTOCOL "hutch-exec"
#define PIECE 65536
#define ARGS_MAX 65535

struct execing {
	struct inbox in;
	struct frame_reader frames;
	struct upload up; /* its standard input */
	json_t *start;    /* what the first frame said */
	const char **argv;
	struct environ_list env;
	char *name; /* argv[0], for the log */
	bool remove, over;
};

/* ---- to the client ---- */

static void
put(struct execing *x, char what, const void *bytes, size_t n)
{
	uint8_t head[FRAME_HEAD + 1];

	frame_head(head, n + 1);
	head[FRAME_HEAD] = (uint8_t)what;
	http_reply_write(x->in.q, head, sizeof head);
	http_reply_write(x->in.q, bytes, n);
}

static void
finish(struct execing *x, struct str *last)
{
	if (x->over)
		return;
	x->over = true;
	put(x, 'X', str_text(last), last->len);
	if (x->remove)
		manager_release(x->in.app->manager, api_scope(x->in.q),
		    x->in.identity);
	http_reply_end(x->in.q);
}

static void
fail(struct execing *x, const struct err *err)
{
	auto_str struct str last = { 0 };

	api_put_error(&last, err);
	finish(x, &last);
}

static void
output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct execing *x = arg;

	for (size_t at = 0; at < n; at += PIECE)
		put(x, stream == 2 ? 'E' : 'O', b + at,
		    n - at < PIECE ? n - at : PIECE);
	inbox_sent(&x->in, n);
}

static void
room(void *arg)
{
	struct execing *x = arg;

	upload_room(&x->up);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct execing *x = arg;
	auto_str struct str last = { 0 };

	x->in.call = NULL;
	upload_over(&x->up);
	app_audit(x->in.q, "exec", x->in.identity, d->err);
	if (d->has_exit)
		trail_say(x->in.app->trails, sandbox_key(x->in.sb),
		    "exec %.100s: %s %d", x->name,
		    d->exit < 0 ? "signal" : "exit",
		    d->exit < 0 ? -d->exit : d->exit);
	if (d->err != NULL && !d->has_exit) {
		fail(x, d->err);
		return;
	}
	if (d->err != NULL) { /* as a shell says what it can't start */
		put(x, 'E', d->err->text, strlen(d->err->text));
		put(x, 'E', "\n", 1);
	}
	str_printf(&last, "{\"exit\":%d}", d->exit);
	finish(x, &last);
}

static const struct guest_sink sink = { .output = output,
	.room = room,
	.done = done };

/* ---- the first frame ---- */

static int
read_argv(struct execing *x, struct err *err)
{
	const json_t *list = json_object_get(x->start, "argv"), *v;
	size_t n = json_array_size(list);

	if (n == 0 || n > ARGS_MAX)
		return err_set(err, ERR_INVALID,
		    "argv must be a list of 1 to %d texts", ARGS_MAX);
	x->argv = xcalloc(n + 1, sizeof *x->argv);
	for (size_t i = 0; i < n; i++) {
		v = json_array_get(list, i);
		x->argv[i] = jtext_cstring(v);
		if (x->argv[i] == NULL)
			return err_set(err, ERR_INVALID,
			    "argv: item %zu is no text", i);
	}
	x->name = xstrdup(x->argv[0]);
	return 0;
}

static struct guest_arg
number(const char *name, const json_t *v)
{
	json_int_t n = json_integer_value(v);

	return (struct guest_arg){ .name = name,
		.type = ARG_INT,
		.num = n < 0    ? 0
		    : n > 65535 ? 65535
				: n };
}

static int
begin(struct execing *x, struct err *err)
{
	static const char *const none[] = { NULL };
	const json_t *s = x->start;
	const char *cwd = jtext_cstring(json_object_get(s, "cwd"));
	const char *const *env = (const char *const *)x->env.at;
	struct guest_arg arg[] = {
		{ "argv", ARG_LIST, .list = x->argv },
		{ "env", ARG_LIST, .list = env != NULL ? env : none },
		{ "input", ARG_BOOL, .num = 1 },
		{ "tty", ARG_BOOL,
		    .num = json_is_true(json_object_get(s, "tty")) },
		number("rows", json_object_get(s, "rows")),
		number("cols", json_object_get(s, "cols")),
		{ .name = cwd != NULL ? "cwd" : NULL,
		    .type = ARG_TEXT,
		    .text = cwd,
		    .len = cwd != NULL ? strlen(cwd) : 0 },
		{ 0 },
	};
	struct inbox_call c = { .tool = "exec",
		.arg = arg,
		.sink = &sink,
		.patient = true };

	if (inbox_call(&x->in, &c, err) < 0)
		return -1;
	upload_into(&x->up, x->in.call);
	return 0;
}

static int
on_start(struct execing *x, const uint8_t *b, size_t n, struct err *err)
{
	if (x->start != NULL)
		return err_set(err, ERR_PROTO, "it has been started");
	x->start = jtext_read(b, n, NULL, err);
	if (x->start == NULL)
		return -1;
	if (!json_is_object(x->start))
		return err_set(err, ERR_INVALID, "the start is no object");
	x->remove = json_is_true(json_object_get(x->start, "remove"));
	if (x->remove)
		lease_end(x->in.app->leases, sandbox_record(x->in.sb)->id);
	if (environ_read(&x->env, json_object_get(x->start, "env"), err) < 0 ||
	    read_argv(x, err) < 0)
		return -1;
	return begin(x, err);
}

/* ---- the others ---- */

static int
on_input(struct execing *x, const uint8_t *b, size_t n, struct err *err)
{
	(void)err;
	if (x->in.call == NULL)
		return 0;
	if (n > 0)
		upload_bytes(&x->up, b, n);
	else
		upload_end(&x->up);
	return 0;
}

static int
on_resize(struct execing *x, const uint8_t *b, size_t n, struct err *err)
{
	json_t *v = jtext_read(b, n, NULL, err);
	struct guest_arg rows, cols;

	if (v == NULL)
		return -1;
	rows = number("rows", json_object_get(v, "rows"));
	cols = number("cols", json_object_get(v, "cols"));
	json_decref(v);
	if (x->in.call != NULL)
		guest_resize(x->in.call, (unsigned)rows.num,
		    (unsigned)cols.num);
	return 0;
}

static int
on_kill(struct execing *x, const uint8_t *b, size_t n, struct err *err)
{
	(void)b;
	(void)n;
	(void)err;
	if (x->in.call != NULL)
		guest_cancel(x->in.call);
	return 0;
}

static const struct {
	char what;
	int (*on)(struct execing *, const uint8_t *, size_t, struct err *);
} rows[] = {
	{ 'S', on_start },
	{ 'I', on_input },
	{ 'R', on_resize },
	{ 'K', on_kill },
};

static int
on_frame(struct execing *x, const uint8_t *b, size_t n, struct err *err)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (b[0] == (uint8_t)rows[i].what)
			return rows[i].on(x, b + 1, n - 1, err);
	return err_set(err, ERR_PROTO, "there is no frame %d", b[0]);
}

static void
bytes(struct http_req *q, const uint8_t *b, size_t n)
{
	struct execing *x = http_req_data(q);
	const uint8_t *at;
	struct err err;
	size_t len;
	int r;

	if (x->over)
		return;
	if (b == NULL) {
		if (x->in.call != NULL)
			upload_end(&x->up);
		return;
	}
	frame_feed(&x->frames, b, n);
	while (!x->over && (r = frame_next(&x->frames, &at, &len, &err)) != 0)
		if (r < 0 || on_frame(x, at, len, &err) < 0) {
			fail(x, &err);
			return;
		}
}

/* ---- the request ---- */

static int
go(struct inbox *i, struct err *err)
{
	(void)err;
	http_reply_upgrade(i->q, PROTOCOL);
	http_req_on_body(i->q, bytes);
	return 0;
}

static void
drop(struct inbox *i)
{
	struct execing *x = (struct execing *)i;

	if (x->remove && !x->over)
		manager_release(i->app->manager, api_scope(i->q), i->identity);
	frame_reader_free(&x->frames);
	upload_free(&x->up);
	environ_free(&x->env);
	free(x->argv);
	free(x->name);
	json_decref(x->start);
}

static const struct inbox_kind kind = { .size = sizeof(struct execing),
	.go = go,
	.drop = drop,
	.native = true };

int
api_exec(struct http_req *q, struct err *err)
{
	const char *wanted = http_req_upgrade(q);
	struct execing *x;

	if (wanted == NULL || strcmp(wanted, PROTOCOL) != 0) {
		http_reply_header(q, "upgrade", PROTOCOL);
		http_reply_detail(q, 426, "Upgrade Required");
		return 0;
	}
	x = inbox_new(q, &kind);
	x->up.q = q;
	return inbox_start(&x->in, err);
}
