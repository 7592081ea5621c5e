/* api: the merged tree of an image as a tar, handed on unread. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "manager/broker_call.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/fetchline.h"
#include "web/http.h"
#include "wire/link.h"
#include "wire/loop.h"

#define PIECE 65536

struct exporting {
	struct http_req *q;
	struct app *app;
	char *name;
	struct broker_ask *ask;
	int tar, words;
	struct watch *can_tar, *can_words;
	struct fetch_lines lines;
	bool started, tar_over, done, over;
};

static void
closed(struct http_req *q)
{
	struct exporting *ex = http_req_data(q);

	if (ex->ask != NULL)
		broker_forget(ex->ask);
	watch_free(ex->can_tar);
	watch_free(ex->can_words);
	if (ex->tar >= 0)
		close(ex->tar);
	if (ex->words >= 0)
		close(ex->words);
	fetch_lines_free(&ex->lines);
	free(ex->name);
	free(ex);
}

static void
stop(struct exporting *ex)
{
	ex->over = true;
	watch_stop(ex->can_tar);
	watch_stop(ex->can_words);
}

static void
start(struct exporting *ex)
{
	if (!ex->started)
		http_reply_start(ex->q, 200, "application/x-tar", -1);
	ex->started = true;
}

/* What has gone out already must not look like the whole. */
static void
fail(struct exporting *ex, const struct err *err)
{
	stop(ex);
	app_audit(ex->q, "image export", ex->name, err);
	if (ex->started)
		http_reply_abort(ex->q);
	else
		api_fail(ex->q, err);
}

/* Whole when all bytes are through and the fetcher says so. */
static void
settle(struct exporting *ex)
{
	if (!ex->tar_over || !ex->done || ex->over)
		return;
	stop(ex);
	app_audit(ex->q, "image export", ex->name, NULL);
	start(ex);
	http_reply_end(ex->q);
}

static void
tar(void *arg, int what)
{
	struct exporting *ex = arg;
	char b[PIECE];
	ssize_t n = read(ex->tar, b, sizeof b);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		ex->tar_over = true;
		watch_stop(ex->can_tar);
		settle(ex);
		return;
	}
	start(ex);
	http_reply_write(ex->q, b, (size_t)n);
	if (http_reply_backlog(ex->q) >= APP_OUT_HIGH)
		watch_stop(ex->can_tar);
}

static void
drained(struct http_req *q)
{
	struct exporting *ex = http_req_data(q);

	if (!ex->over && !ex->tar_over)
		watch_go(ex->can_tar);
}

static void
words(void *arg, int what)
{
	struct exporting *ex = arg;
	struct fetch_line line;
	struct err err;
	char b[8192];
	ssize_t n = read(ex->words, b, sizeof b);
	int r = 0;

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		fetch_lines_feed(&ex->lines, b, (size_t)n);
		while ((r = fetch_lines_next(&ex->lines, &line, &err)) == 1) {
			ex->done = ex->done || line.word == FETCH_DONE;
			if (line.word == FETCH_ERROR) {
				fail(ex, &line.err);
				return;
			}
		}
	} else if (ex->done)
		watch_stop(ex->can_words);
	else
		r = err_set(&err, ERR_PROTO,
		    "the fetcher ended without a word");
	if (r < 0)
		fail(ex, &err);
	else
		settle(ex);
}

static void
opened(void *arg, struct link_msg *m, const struct err *err)
{
	struct exporting *ex = arg;

	ex->ask = NULL;
	if (m == NULL) {
		app_audit(ex->q, "image export", ex->name, err);
		api_fail(ex->q, err);
		return;
	}
	ex->tar = take_fd(&m->fd[0]);
	ex->words = take_fd(&m->fd[1]);
	fcntl(ex->tar, F_SETFL, O_NONBLOCK);
	fcntl(ex->words, F_SETFL, O_NONBLOCK);
	ex->can_tar = watch_fd(ex->app->loop, ex->tar, WATCH_READ, tar, ex);
	ex->can_words =
	    watch_fd(ex->app->loop, ex->words, WATCH_READ, words, ex);
	http_reply_on_drained(ex->q, drained);
}

int
api_image_export(struct http_req *q, struct err *err)
{
	const char *name = http_req_param(q, "image");
	struct exporting *ex;

	if (name == NULL || name[0] == '\0') {
		err_set(err, ERR_INVALID, "the query names no image");
		return api_fail(q, err);
	}
	ex = xcalloc(1, sizeof *ex);
	ex->q = q;
	ex->app = app_of(q);
	ex->name = xstrdup(name);
	ex->tar = ex->words = -1;
	http_req_set_data(q, ex);
	http_req_on_closed(q, closed);
	ex->ask = broker_export(ex->app->broker, name, opened, ex);
	return 0;
}
