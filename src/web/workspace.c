#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/workspace.h"

/* What one list may gather before it is refused: entries come without credit. */
#define LIST_BYTES (64u << 20)

struct op {
	struct inbox in;
	struct str out; /* entries, as JSON */
	size_t n;
	const char *path;
	int64_t depth;
	json_t *body; /* of move and mkdir */
	const char *source, *destination;
};

/* ---- what is asked ---- */

/* The query's path; NULL: replied. */
static const char *
need_path(struct http_req *q)
{
	static const struct app_invalid missing = { "missing", "query", "path",
		"Field required" };
	const char *path = http_req_param(q, "path");

	if (path == NULL)
		app_reply_invalid(q, &missing);
	return path;
}

static struct guest_arg
text_arg(const char *name, const char *text)
{
	return (struct guest_arg){ .name = name,
		.type = ARG_TEXT,
		.text = text,
		.len = strlen(text) };
}

/* ---- how they end ---- */

static void
entry(void *arg, const struct guest_entry *e)
{
	struct op *o = arg;

	if (o->out.len > LIST_BYTES)
		return; /* told at the end */
	if (o->n++ > 0)
		str_putc(&o->out, ',');
	inbox_put_entry(&o->out, e);
}

static void
no_output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct op *o = arg;

	(void)stream;
	(void)b;
	guest_took(o->in.call, n);
}

/* 1: failed and replied */
static int
over(struct op *o, const struct guest_done *d)
{
	o->in.call = NULL;
	if (d->err == NULL)
		return 0;
	inbox_fail(&o->in, d->err);
	return 1;
}

static void
drop(struct inbox *i)
{
	struct op *o = (struct op *)i;

	str_free(&o->out);
	json_decref(o->body);
}

static void
reply_entry(struct op *o)
{
	struct err err;

	if (o->n == 1) {
		app_reply_json(o->in.q, 200, &o->out);
		return;
	}
	err_set(&err, ERR_PROTO, "the agent told nothing of the file");
	inbox_fail(&o->in, &err);
}

/* ---- list ---- */

static void
list_done(void *arg, const struct guest_done *d)
{
	struct op *o = arg;
	struct str out = { 0 };
	struct err err;

	if (over(o, d))
		return;
	if (o->out.len > LIST_BYTES) {
		err_set(&err, ERR_LIMIT,
		    "too many entries: list a smaller directory or depth");
		inbox_fail(&o->in, &err);
		return;
	}
	str_putc(&out, '[');
	if (o->out.len > 0)
		str_add(&out, o->out.at, o->out.len);
	str_putc(&out, ']');
	app_reply_json(o->in.q, 200, &out);
}

static const struct guest_sink list_sink = { .output = no_output,
	.entry = entry,
	.done = list_done };

static int
list_go(struct inbox *i, struct err *err)
{
	struct op *o = (struct op *)i;
	struct guest_arg arg[] = { text_arg("path", o->path),
		{ .name = "depth", .type = ARG_INT, .num = o->depth }, { 0 } };
	struct inbox_call c = { .tool = "fs_list",
		.arg = arg,
		.sink = &list_sink };

	if (o->depth == 0)
		arg[1].name = NULL;
	return inbox_call(i, &c, err);
}

static const struct inbox_kind list_kind = { .size = sizeof(struct op),
	.go = list_go,
	.drop = drop };

static void
reply_bad_depth(struct http_req *q, const char *text, bool number)
{
	struct app_invalid bad = { "int_parsing", "query", "depth",
		"Input should be a valid integer, unable to parse string as "
		"an integer" };
	auto_str struct str input = { 0 };

	jtext_quote_text(&input, text);
	bad.input = str_text(&input);
	if (number) {
		bad.type = "greater_than_equal";
		bad.msg = "Input should be greater than or equal to 1";
		bad.ctx = "{\"ge\":1}";
	}
	app_reply_invalid(q, &bad);
}

/* Absent is 1; empty, which is how one client sends null, is all (0). */
static int
read_depth(struct http_req *q, int64_t *depth)
{
	const char *text = http_req_param(q, "depth");
	char *end;
	long long v;

	*depth = text == NULL ? 1 : 0;
	if (text == NULL || text[0] == '\0')
		return 0;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (*end != '\0' || end == text || v < 1) {
		reply_bad_depth(q, text, *end == '\0' && end != text);
		return -1;
	}
	*depth = v < 1000 ? v : 0;
	return 0;
}

int
workspace_list(struct http_req *q, struct err *err)
{
	struct op *o;
	int64_t depth;
	const char *path = need_path(q);

	if (path == NULL || read_depth(q, &depth) < 0)
		return 0;
	o = inbox_new(q, &list_kind);
	o->path = path;
	o->depth = depth;
	return inbox_start(&o->in, err);
}

/* ---- exists ---- */

static void
exists_done(void *arg, const struct guest_done *d)
{
	struct op *o = arg;
	struct str out = { 0 };

	if (over(o, d))
		return;
	str_printf(&out, "{\"exists\":%s}", d->flag ? "true" : "false");
	app_reply_json(o->in.q, 200, &out);
}

static const struct guest_sink exists_sink = { .output = no_output,
	.done = exists_done };

static int
exists_go(struct inbox *i, struct err *err)
{
	struct op *o = (struct op *)i;
	struct guest_arg arg[] = { text_arg("path", o->path), { 0 } };
	struct inbox_call c = { .tool = "fs_exists",
		.arg = arg,
		.sink = &exists_sink };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind exists_kind = { .size = sizeof(struct op),
	.go = exists_go,
	.drop = drop };

/* ---- remove ---- */

static void
remove_done(void *arg, const struct guest_done *d)
{
	struct op *o = arg;

	app_audit(o->in.q, "remove", o->in.identity, d->err);
	if (d->err != NULL && d->err->code == ERR_MISSING)
		o->in.call = NULL; /* it is not there: as was wanted */
	else if (over(o, d))
		return;
	http_reply(o->in.q, 204, NULL, NULL, 0);
}

static const struct guest_sink remove_sink = { .output = no_output,
	.done = remove_done };

static int
remove_go(struct inbox *i, struct err *err)
{
	struct op *o = (struct op *)i;
	struct guest_arg arg[] = { text_arg("path", o->path), { 0 } };
	struct inbox_call c = { .tool = "fs_remove",
		.arg = arg,
		.sink = &remove_sink };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind remove_kind = { .size = sizeof(struct op),
	.go = remove_go,
	.drop = drop,
	.finish = true };

static int
by_path(struct http_req *q, const struct inbox_kind *kind, struct err *err)
{
	const char *path = need_path(q);
	struct op *o;

	if (path == NULL)
		return 0;
	o = inbox_new(q, kind);
	o->path = path;
	return inbox_start(&o->in, err);
}

int
workspace_exists(struct http_req *q, struct err *err)
{
	return by_path(q, &exists_kind, err);
}

int
workspace_remove(struct http_req *q, struct err *err)
{
	return by_path(q, &remove_kind, err);
}

/* ---- move, mkdir: a JSON body ---- */

static void
move_done(void *arg, const struct guest_done *d)
{
	struct op *o = arg;

	app_audit(o->in.q, "move", o->in.identity, d->err);
	if (!over(o, d))
		reply_entry(o);
}

static const struct guest_sink move_sink = { .output = no_output,
	.entry = entry,
	.done = move_done };

static int
move_go(struct inbox *i, struct err *err)
{
	struct op *o = (struct op *)i;
	struct guest_arg arg[] = { text_arg("source", o->source),
		text_arg("destination", o->destination), { 0 } };
	struct inbox_call c = { .tool = "fs_move",
		.arg = arg,
		.sink = &move_sink };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind move_kind = { .size = sizeof(struct op),
	.go = move_go,
	.drop = drop,
	.finish = true };

static void
mkdir_done(void *arg, const struct guest_done *d)
{
	struct op *o = arg;
	struct str out = { 0 };

	app_audit(o->in.q, "mkdir", o->in.identity, d->err);
	if (over(o, d))
		return;
	str_printf(&out, "{\"created\":%s}", d->flag ? "true" : "false");
	app_reply_json(o->in.q, 200, &out);
}

static const struct guest_sink mkdir_sink = { .output = no_output,
	.done = mkdir_done };

static int
mkdir_go(struct inbox *i, struct err *err)
{
	struct op *o = (struct op *)i;
	struct guest_arg arg[] = { text_arg("path", o->path), { 0 } };
	struct inbox_call c = { .tool = "fs_mkdir",
		.arg = arg,
		.sink = &mkdir_sink };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind mkdir_kind = { .size = sizeof(struct op),
	.go = mkdir_go,
	.drop = drop,
	.finish = true };

/* A text of the body; absent, null and "" are NULL. */
static int
body_text(const struct op *o, const char *name, const char **out,
    struct err *err)
{
	const json_t *v = json_object_get(o->body, name);

	*out = jtext_cstring(v);
	if (*out == NULL && v != NULL && !json_is_null(v))
		return err_set(err, ERR_INVALID,
		    "%s must be text without NUL characters", name);
	if (*out != NULL && (*out)[0] == '\0')
		*out = NULL;
	return 0;
}

static struct op *
open_with_body(struct http_req *q, const struct inbox_kind *kind,
    struct err *err)
{
	struct op *o = inbox_new(q, kind);
	const uint8_t *body;
	size_t n;

	body = http_req_body(q, &n);
	o->body = jtext_read(body, n, NULL, err);
	if (o->body == NULL)
		return NULL;
	if (!json_is_object(o->body)) {
		err_set(err, ERR_INVALID, "the body must be an object");
		return NULL;
	}
	return o;
}

int
workspace_move(struct http_req *q, struct err *err)
{
	struct op *o = open_with_body(q, &move_kind, err);

	if (o == NULL || body_text(o, "source", &o->source, err) < 0 ||
	    body_text(o, "destination", &o->destination, err) < 0)
		return -1;
	if (o->source == NULL || o->destination == NULL)
		return err_set(err, ERR_INVALID,
		    "source and destination are required");
	return inbox_start(&o->in, err);
}

int
workspace_mkdir(struct http_req *q, struct err *err)
{
	struct op *o = open_with_body(q, &mkdir_kind, err);

	if (o == NULL || body_text(o, "path", &o->path, err) < 0)
		return -1;
	if (o->path == NULL)
		return err_set(err, ERR_INVALID, "path is required");
	return inbox_start(&o->in, err);
}
