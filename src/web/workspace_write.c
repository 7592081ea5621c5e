/* workspace: PUT of a file. */
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "guest/guest.h"
#include "web/app.h"
#include "web/http.h"
#include "web/inbox.h"
#include "web/upload.h"
#include "web/workspace.h"

struct writing {
	struct inbox in;
	const char *path;
	struct upload up;
	struct str entry; /* JSON */
	uint64_t got;
};

static void
output(void *arg, int stream, const uint8_t *b, size_t n)
{
	struct writing *w = arg;

	(void)stream;
	(void)b;
	guest_took(w->in.call, n);
}

static void
entry(void *arg, const struct guest_entry *e)
{
	struct writing *w = arg;

	str_cut(&w->entry, 0);
	inbox_put_entry(&w->entry, e);
}

static void
room(void *arg)
{
	struct writing *w = arg;

	upload_room(&w->up);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct writing *w = arg;
	struct err err;

	w->in.call = NULL;
	upload_over(&w->up);
	app_audit(w->in.q, "write", w->in.identity, d->err);
	if (d->err != NULL)
		inbox_fail(&w->in, d->err);
	else if (w->entry.len > 0)
		app_reply_json(w->in.q, 200, &w->entry);
	else {
		err_set(&err, ERR_PROTO, "the agent told nothing of the file");
		inbox_fail(&w->in, &err);
	}
}

static const struct guest_sink sink = { .output = output,
	.entry = entry,
	.room = room,
	.done = done };

static void
too_large(struct writing *w)
{
	struct err err;

	if (w->in.call != NULL) {
		guest_cancel(w->in.call);
		guest_detach(w->in.call);
		w->in.call = NULL;
	}
	upload_over(&w->up);
	err_set(&err, ERR_LIMIT, "a file of at most %llu bytes may be sent",
	    (unsigned long long)w->in.app->config->upload_max);
	app_audit(w->in.q, "write", w->in.identity, &err);
	http_reply_detail(w->in.q, 413, err.text);
}

static void
body(struct http_req *q, const uint8_t *b, size_t n)
{
	struct writing *w = http_req_data(q);
	uint64_t most = w->in.app->config->upload_max;

	if (w->in.call == NULL)
		return; /* already replied */
	if (b == NULL) {
		upload_end(&w->up);
		return;
	}
	w->got += n;
	if (most > 0 && w->got > most)
		too_large(w);
	else
		upload_bytes(&w->up, b, n);
}

static int
go(struct inbox *i, struct err *err)
{
	struct writing *w = (struct writing *)i;
	struct guest_arg arg[] = {
		{ "path", ARG_TEXT, w->path, strlen(w->path) }, { 0 }
	};
	struct inbox_call c = { .tool = "fs_write",
		.arg = arg,
		.sink = &sink,
		.patient = true };

	if (inbox_call(i, &c, err) < 0)
		return -1;
	upload_into(&w->up, i->call);
	http_req_on_body(i->q, body);
	return 0;
}

static void
drop(struct inbox *i)
{
	struct writing *w = (struct writing *)i;

	str_free(&w->entry);
	upload_free(&w->up);
}

static const struct inbox_kind kind = { .size = sizeof(struct writing),
	.go = go,
	.drop = drop };

int
workspace_write(struct http_req *q, struct err *err)
{
	static const struct app_invalid missing = { "missing", "query", "path",
		"Field required" };
	const char *path = http_req_param(q, "path");
	uint64_t most = app_of(q)->config->upload_max;
	int64_t length = http_req_length(q);
	struct writing *w;

	if (path == NULL) {
		app_reply_invalid(q, &missing);
		return 0;
	}
	w = inbox_new(q, &kind);
	w->path = path;
	w->up.q = q;
	if (most > 0 && length > 0 && (uint64_t)length > most) {
		too_large(w);
		return 0;
	}
	return inbox_start(&w->in, err);
}
