/* workspace: GET of a file, as text or as bytes. */
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "web/app.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/plain.h"
#include "web/workspace.h"

struct reading {
	struct inbox in;
	const char *path;
	bool text;
	bool started;
	struct plain plain;
};

static void
start(struct reading *r)
{
	if (r->started)
		return;
	r->started = true;
	http_reply_start(r->in.q, 200,
	    r->text ? "text/plain; charset=utf-8" : "application/octet-stream",
	    -1);
}

static void
output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct reading *r = arg;
	auto_str struct str text = { 0 };

	(void)stream;
	start(r);
	if (r->text) {
		plain_feed(&r->plain, b, n, &text);
		http_reply_write(r->in.q, str_text(&text), text.len);
	} else
		http_reply_write(r->in.q, b, n);
	inbox_sent(&r->in, n);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct reading *r = arg;
	auto_str struct str text = { 0 };

	r->in.call = NULL;
	app_audit(r->in.q, "read", r->in.identity, d->err);
	if (d->err != NULL && !r->started) {
		inbox_fail(&r->in, d->err);
		return;
	}
	if (d->err != NULL) { /* what went out is not the whole file */
		http_reply_abort(r->in.q);
		return;
	}
	start(r);
	plain_end(&r->plain, &text);
	http_reply_write(r->in.q, str_text(&text), text.len);
	http_reply_end(r->in.q);
}

static const struct guest_sink sink = { .output = output, .done = done };

static int
go(struct inbox *i, struct err *err)
{
	struct reading *r = (struct reading *)i;
	struct guest_arg arg[] = {
		{ "path", ARG_TEXT, r->path, strlen(r->path) }, { 0 }
	};
	struct inbox_call c = { .tool = "fs_read",
		.arg = arg,
		.sink = &sink,
		.patient = true };

	return inbox_call(i, &c, err);
}

static const struct inbox_kind kind = { .size = sizeof(struct reading),
	.go = go };

int
workspace_read(struct http_req *q, struct err *err)
{
	struct app_invalid bad = { "missing", "query", "path",
		"Field required" };
	const char *path = http_req_param(q, "path");
	const char *format = http_req_param(q, "format");
	auto_str struct str input = { 0 };
	struct reading *r;

	if (path == NULL) {
		app_reply_invalid(q, &bad);
		return 0;
	}
	if (format != NULL && strcmp(format, "text") != 0 &&
	    strcmp(format, "bytes") != 0) {
		jtext_quote_text(&input, format);
		bad = (struct app_invalid){ "literal_error", "query", "format",
			"Input should be 'text' or 'bytes'", str_text(&input),
			"{\"expected\":\"'text' or 'bytes'\"}" };
		app_reply_invalid(q, &bad);
		return 0;
	}
	r = inbox_new(q, &kind);
	r->path = path;
	r->text = format == NULL || strcmp(format, "text") == 0;
	return inbox_start(&r->in, err);
}
