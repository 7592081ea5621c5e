/*
 * workspace: POST files:batch, a form of many files (spec 2.6).
 *
 * Files are written one after the other as they come in.  The i-th part
 * "paths" names the i-th part "files"; without any "paths" a file's own name
 * does.  A path has to come before its file, as both clients send it, for
 * nothing is kept back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "web/app.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/multipart.h"
#include "web/workspace.h"

#define PATH_BYTES 4096
#define PATHS_BYTES (8u << 20) /* all of them */

struct file {
	char *path;
	struct str data; /* come in, not yet taken by the agent */
	bool whole;      /* no more will come */
	bool ended;      /* and the agent knows */
	TAILQ_ENTRY(file) next;
};

enum part { PART_OTHER, PART_PATH, PART_FILE };

struct batch {
	struct inbox in;
	struct multipart form;
	bool has_form;
	enum part part;
	struct str path;               /* of the part that is being read */
	struct str paths;              /* NUL-ended each */
	size_t npath, nfile, path_at;  /* where in paths the next one begins */
	TAILQ_HEAD(files, file) files; /* the first one is being written */
	struct str entries;
	uint64_t got;
	bool body_over, failed, paused, too_large;
};

static int next_file(struct batch *, struct err *);

static void
file_free(struct batch *b, struct file *f)
{
	TAILQ_REMOVE(&b->files, f, next);
	str_free(&f->data);
	free(f->path);
	free(f);
}

/* ---- back pressure ---- */

/* More of the body is welcome when all that came is on its way. */
static void
breathe(struct batch *b)
{
	const struct file *f = TAILQ_FIRST(&b->files);
	bool welcome = f == NULL ||
	    (TAILQ_NEXT(f, next) == NULL && f->data.len == 0 && !f->whole);

	if (welcome != b->paused || b->body_over)
		return;
	b->paused = !welcome;
	if (b->paused)
		http_req_pause(b->in.q);
	else
		http_req_resume(b->in.q);
}

static void
push(struct batch *b)
{
	struct file *f = TAILQ_FIRST(&b->files);
	size_t room;

	if (f == NULL || b->in.call == NULL)
		return;
	room = guest_room(b->in.call);
	if (room > f->data.len)
		room = f->data.len;
	if (room > 0) {
		guest_input(b->in.call, f->data.at, room);
		str_drop(&f->data, room);
	}
	if (f->data.len == 0 && f->whole && !f->ended) {
		f->ended = true;
		guest_input_end(b->in.call);
	}
	breathe(b);
}

/* ---- ends ---- */

static void
fail(struct batch *b, const struct err *err)
{
	if (b->failed)
		return;
	b->failed = true;
	if (b->in.call != NULL) {
		guest_cancel(b->in.call);
		guest_detach(b->in.call);
		b->in.call = NULL;
	}
	app_audit(b->in.q, "write", b->in.identity, err);
	if (b->too_large)
		http_reply_detail(b->in.q, 413, err->text);
	else
		inbox_fail(&b->in, err);
}

static int
check_pairs(const struct batch *b, struct err *err)
{
	if (b->npath > 0 && b->npath != b->nfile)
		return err_set(err, ERR_INVALID,
		    "`paths` length must match `files` length");
	return 0;
}

static void
finish(struct batch *b)
{
	struct str out = { 0 };
	struct err err;

	if (b->failed || !b->body_over || !TAILQ_EMPTY(&b->files))
		return;
	if (check_pairs(b, &err) < 0) {
		fail(b, &err);
		return;
	}
	app_audit(b->in.q, "write", b->in.identity, NULL);
	str_putc(&out, '[');
	if (b->entries.len > 0)
		str_add(&out, b->entries.at, b->entries.len);
	str_putc(&out, ']');
	app_reply_json(b->in.q, 200, &out);
}

/* ---- the file that is being written ---- */

static void
output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct batch *b = arg;

	(void)stream;
	(void)bytes;
	guest_took(b->in.call, n);
}

static void
entry(void *arg, const struct guest_entry *e)
{
	struct batch *b = arg;

	if (b->entries.len > 0)
		str_putc(&b->entries, ',');
	inbox_put_entry(&b->entries, e);
}

static void
room(void *arg)
{
	push(arg);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct batch *b = arg;
	struct file *f = TAILQ_FIRST(&b->files);
	struct err err;

	b->in.call = NULL;
	if (d->err != NULL) {
		err = *d->err;
		if (err.code == ERR_BUSY)
			err_set(&err, ERR_BUSY,
			    "target exists and is a directory: %.160s",
			    f->path);
		fail(b, &err);
		return;
	}
	file_free(b, f);
	if (next_file(b, &err) < 0) {
		fail(b, &err);
		return;
	}
	breathe(b);
	finish(b);
}

static const struct guest_sink sink = { .output = output,
	.entry = entry,
	.room = room,
	.done = done };

static int
next_file(struct batch *b, struct err *err)
{
	const struct file *f = TAILQ_FIRST(&b->files);
	struct guest_arg arg[2] = { { "path", ARG_TEXT }, { 0 } };
	struct inbox_call c = { .tool = "fs_write",
		.arg = arg,
		.sink = &sink,
		.patient = true };

	if (f == NULL || b->in.call != NULL)
		return 0;
	arg[0].text = f->path;
	arg[0].len = strlen(f->path);
	if (inbox_call(&b->in, &c, err) < 0)
		return -1;
	push(b);
	return 0;
}

/* ---- the form ---- */

/* The target of the next file; NULL: none was given. */
static const char *
target(struct batch *b, const char *filename, struct err *err)
{
	const char *path = filename;

	if (b->npath > 0) {
		if (b->nfile >= b->npath) {
			err_set(err, ERR_INVALID,
			    "`paths` length must match `files` length");
			return NULL;
		}
		path = b->paths.at + b->path_at;
		b->path_at += strlen(path) + 1;
	}
	if (path == NULL || path[0] == '\0') {
		err_set(err, ERR_INVALID, "missing target path for a part");
		return NULL;
	}
	return path;
}

static int
begin(void *arg, const struct multipart_part *p, struct err *err)
{
	struct batch *b = arg;
	const char *path;
	struct file *f;

	b->part = PART_OTHER;
	if (strcmp(p->name, "paths") == 0) {
		if (b->npath == 0 && b->nfile > 0)
			return err_set(err, ERR_INVALID,
			    "`paths` must come before their `files`");
		b->part = PART_PATH;
		str_cut(&b->path, 0);
	}
	if (strcmp(p->name, "files") != 0)
		return 0;
	path = target(b, p->filename, err);
	if (path == NULL)
		return -1;
	b->part = PART_FILE;
	b->nfile++;
	f = xcalloc(1, sizeof *f);
	f->path = xstrdup(path);
	TAILQ_INSERT_TAIL(&b->files, f, next);
	return next_file(b, err);
}

static int
data(void *arg, const uint8_t *bytes, size_t n, struct err *err)
{
	struct batch *b = arg;

	if (b->part == PART_FILE) {
		str_add(&TAILQ_LAST(&b->files, files)->data, bytes, n);
		push(b);
	}
	if (b->part != PART_PATH)
		return 0;
	if (b->path.len + n > PATH_BYTES ||
	    b->paths.len + b->path.len + n > PATHS_BYTES)
		return err_set(err, ERR_LIMIT, "a path is too long");
	if (memchr(bytes, '\0', n) != NULL)
		return err_set(err, ERR_INVALID, "a path holds a NUL byte");
	str_add(&b->path, bytes, n);
	return 0;
}

static int
end(void *arg, struct err *err)
{
	struct batch *b = arg;

	(void)err;
	if (b->part == PART_PATH) {
		str_add(&b->paths, str_text(&b->path), b->path.len + 1);
		b->npath++;
	}
	if (b->part == PART_FILE) {
		TAILQ_LAST(&b->files, files)->whole = true;
		push(b);
	}
	b->part = PART_OTHER;
	return 0;
}

static const struct multipart_calls form_calls = { begin, data, end };

static void
body(struct http_req *q, const uint8_t *bytes, size_t n)
{
	struct batch *b = http_req_data(q);
	uint64_t most = b->in.app->config->upload_max;
	struct err err;
	int r;

	if (b->failed)
		return;
	b->got += n;
	if (most > 0 && b->got > most) {
		err_set(&err, ERR_LIMIT, "at most %llu bytes may be sent",
		    (unsigned long long)most);
		b->too_large = true;
		fail(b, &err);
		return;
	}
	if (bytes != NULL)
		r = multipart_feed(&b->form, bytes, n, &err);
	else {
		b->body_over = true;
		r = multipart_finish(&b->form, &err);
	}
	if (r < 0)
		fail(b, &err);
	else
		finish(b);
}

/* ---- the request ---- */

static int
go(struct inbox *i, struct err *err)
{
	struct batch *b = (struct batch *)i;
	const char *type = http_req_header(i->q, "content-type");

	if (type == NULL && http_req_length(i->q) == 0) {
		b->body_over = true; /* how a client sends no files at all */
		finish(b);
		return 0;
	}
	if (multipart_init(&b->form, type != NULL ? type : "", &form_calls, b,
		err) < 0)
		return -1;
	b->has_form = true;
	http_req_on_body(i->q, body);
	return 0;
}

static void
drop(struct inbox *i)
{
	struct batch *b = (struct batch *)i;
	struct file *f;

	while ((f = TAILQ_FIRST(&b->files)) != NULL)
		file_free(b, f);
	if (b->has_form)
		multipart_free(&b->form);
	str_free(&b->path);
	str_free(&b->paths);
	str_free(&b->entries);
}

static const struct inbox_kind kind = { .size = sizeof(struct batch),
	.go = go,
	.drop = drop };

int
workspace_batch(struct http_req *q, struct err *err)
{
	struct batch *b = inbox_new(q, &kind);

	TAILQ_INIT(&b->files);
	return inbox_start(&b->in, err);
}
