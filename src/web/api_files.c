/* api: single files of a sandbox, wherever they are in it; for `hutch cp`. */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/upload.h"

#define WORKSPACE "/workspace" /* where a relative path begins */

struct filing {
	struct inbox in;
	char *path; /* absolute */
	bool started;
	struct upload up;
	int64_t mode; /* of a new file; -1: not said */
	struct str entries;
	size_t n;
};

static struct guest_arg
path_arg(const struct filing *f)
{
	return (struct guest_arg){ .name = "path",
		.type = ARG_TEXT,
		.text = f->path,
		.len = strlen(f->path) };
}

/* The whole file system of the sandbox, not its workspace alone. */
static const struct guest_arg anywhere = { .name = "anywhere",
	.type = ARG_BOOL,
	.num = 1 };

static void
drop(struct inbox *i)
{
	struct filing *f = (struct filing *)i;

	upload_free(&f->up);
	str_free(&f->entries);
	free(f->path);
}

static int
open_path(struct http_req *q, const struct inbox_kind *kind, int64_t mode,
    struct err *err)
{
	const char *path = http_req_param(q, "path");
	struct filing *f;

	if (path == NULL || path[0] == '\0') {
		err_set(err, ERR_INVALID, "the query names no path");
		return api_fail(q, err);
	}
	f = inbox_new(q, kind);
	f->path = path[0] == '/' ? xstrdup(path)
				 : xasprintf("%s/%s", WORKSPACE, path);
	f->mode = mode;
	f->up.q = q;
	return inbox_start(&f->in, err);
}

static bool
asked(struct http_req *q, const char *name)
{
	const char *v = http_req_param(q, name);

	return v != NULL && strcmp(v, "1") == 0;
}

/* ---- GET: the bytes ---- */

static void
start(struct filing *f)
{
	if (!f->started)
		http_reply_start(f->in.q, 200, "application/octet-stream", -1);
	f->started = true;
}

static void
read_output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct filing *f = arg;

	(void)stream;
	start(f);
	http_reply_write(f->in.q, b, n);
	inbox_sent(&f->in, n);
}

static void
read_done(void *arg, const struct guest_done *d)
{
	struct filing *f = arg;

	f->in.call = NULL;
	app_audit(f->in.q, "read", f->in.identity, d->err);
	if (d->err != NULL && !f->started) {
		inbox_fail(&f->in, d->err);
		return;
	}
	if (d->err != NULL) {
		http_reply_abort(f->in.q);
		return;
	}
	start(f);
	http_reply_end(f->in.q);
}

static const struct guest_sink read_sink = { .output = read_output,
	.done = read_done };

static int
read_go(struct inbox *i, struct err *err)
{
	struct filing *f = (struct filing *)i;
	struct guest_arg arg[] = { path_arg(f), anywhere, { 0 } };
	struct inbox_call c = { .tool = "fs_read",
		.arg = arg,
		.sink = &read_sink,
		.patient = true };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind read_kind = { .size = sizeof(struct filing),
	.go = read_go,
	.drop = drop,
	.native = true };

/* ---- GET list=1 ---- */

static void
no_output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct filing *f = arg;

	(void)stream;
	(void)b;
	guest_took(f->in.call, n);
}

static void
list_entry(void *arg, const struct guest_entry *e)
{
	struct filing *f = arg;

	if (f->n++ > 0)
		str_putc(&f->entries, ',');
	inbox_put_entry(&f->entries, e);
}

/* The agent says "not found" of a file too; here it makes a difference. */
static void
exists_done(void *arg, const struct guest_done *d)
{
	struct filing *f = arg;
	struct err err;

	f->in.call = NULL;
	if (d->err == NULL && d->flag)
		err_set(&err, ERR_INVALID, "not a directory");
	else
		err_set(&err, ERR_MISSING, "not found");
	inbox_fail(&f->in, &err);
}

static const struct guest_sink exists_sink = { .output = no_output,
	.done = exists_done };

static void
look_again(struct filing *f)
{
	struct guest_arg arg[] = { path_arg(f), anywhere, { 0 } };
	struct inbox_call c = { .tool = "fs_exists",
		.arg = arg,
		.sink = &exists_sink };
	struct err err;

	if (inbox_call(&f->in, &c, &err) < 0)
		inbox_fail(&f->in, &err);
}

static void
list_done(void *arg, const struct guest_done *d)
{
	struct filing *f = arg;
	struct str out = { 0 };

	f->in.call = NULL;
	if (d->err != NULL && d->err->code == ERR_MISSING) {
		look_again(f);
		return;
	}
	if (d->err != NULL) {
		inbox_fail(&f->in, d->err);
		return;
	}
	str_printf(&out, "{\"entries\":[%s]}", str_text(&f->entries));
	app_reply_json(f->in.q, 200, &out);
}

static const struct guest_sink list_sink = { .output = no_output,
	.entry = list_entry,
	.done = list_done };

static int
list_go(struct inbox *i, struct err *err)
{
	struct filing *f = (struct filing *)i;
	struct guest_arg arg[] = { path_arg(f),
		{ .name = "depth", .type = ARG_INT, .num = 1 }, anywhere,
		{ 0 } };
	struct inbox_call c = { .tool = "fs_list",
		.arg = arg,
		.sink = &list_sink };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind list_kind = { .size = sizeof(struct filing),
	.go = list_go,
	.drop = drop,
	.native = true };

int
api_file_get(struct http_req *q, struct err *err)
{
	return open_path(q, asked(q, "list") ? &list_kind : &read_kind, -1,
	    err);
}

/* ---- PUT ---- */

static void
put_entry(void *arg, const struct guest_entry *e)
{
	(void)arg;
	(void)e;
}

static void
put_room(void *arg)
{
	struct filing *f = arg;

	upload_room(&f->up);
}

static void
put_done(void *arg, const struct guest_done *d)
{
	struct filing *f = arg;

	f->in.call = NULL;
	upload_over(&f->up);
	app_audit(f->in.q, "write", f->in.identity, d->err);
	if (d->err != NULL)
		inbox_fail(&f->in, d->err);
	else
		api_done(f->in.q);
}

static const struct guest_sink put_sink = { .output = no_output,
	.entry = put_entry,
	.room = put_room,
	.done = put_done };

static void
put_body(struct http_req *q, const uint8_t *b, size_t n)
{
	struct filing *f = http_req_data(q);

	if (f->in.call == NULL)
		return;
	if (b != NULL)
		upload_bytes(&f->up, b, n);
	else
		upload_end(&f->up);
}

static int
put_go(struct inbox *i, struct err *err)
{
	struct filing *f = (struct filing *)i;
	struct guest_arg arg[] = { path_arg(f), anywhere,
		{ .name = f->mode >= 0 ? "mode" : NULL,
		    .type = ARG_INT,
		    .num = f->mode },
		{ 0 } };
	struct inbox_call c = { .tool = "fs_write",
		.arg = arg,
		.sink = &put_sink,
		.patient = true };

	if (inbox_call(i, &c, err) < 0)
		return -1;
	upload_into(&f->up, i->call);
	http_req_on_body(i->q, put_body);
	return 0;
}

static const struct inbox_kind put_kind = { .size = sizeof(struct filing),
	.go = put_go,
	.drop = drop,
	.native = true };

static const struct guest_sink mkdir_sink = { .output = no_output,
	.done = put_done };

static int
mkdir_go(struct inbox *i, struct err *err)
{
	struct filing *f = (struct filing *)i;
	struct guest_arg arg[] = { path_arg(f), anywhere, { 0 } };
	struct inbox_call c = { .tool = "fs_mkdir",
		.arg = arg,
		.sink = &mkdir_sink };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind mkdir_kind = { .size = sizeof(struct filing),
	.go = mkdir_go,
	.drop = drop,
	.finish = true,
	.native = true };

int
api_file_put(struct http_req *q, struct err *err)
{
	const char *text = http_req_param(q, "mode");
	int64_t mode = -1;
	char *end;

	if (text != NULL) {
		mode = strtol(text, &end, 8);
		if (end == text || *end != '\0' || mode < 0 || mode > 0777) {
			err_set(err, ERR_INVALID,
			    "mode must be octal, at most 777");
			return api_fail(q, err);
		}
	}
	return open_path(q, asked(q, "dir") ? &mkdir_kind : &put_kind, mode,
	    err);
}
