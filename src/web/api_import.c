/*
 * api: an image that is sent to us, handed on unread.
 *
 * The body goes into a pipe whose other end a fetcher of its own holds; what
 * the fetcher says comes back as lines of JSON while the body is still coming
 * in.  The record of the new image is the last of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "json/jtext.h"
#include "manager/broker_call.h"
#include "web/api.h"
#include "web/api_int.h"
#include "web/app.h"
#include "web/fetchline.h"
#include "web/http.h"
#include "web/imagedir.h"
#include "wire/link.h"
#include "wire/loop.h"

struct importing {
	struct http_req *q;
	struct app *app;
	char *name;
	struct broker_ask *ask;
	int tar, words; /* pipes: to the fetcher, from it; -1: closed */
	struct watch *can_write, *can_read;
	struct str wait; /* body that the pipe had no room for */
	struct fetch_lines lines;
	bool body_over, over;
};

static void
stop_sending(struct importing *im)
{
	watch_free(im->can_write);
	im->can_write = NULL;
	if (im->tar >= 0)
		close(im->tar);
	im->tar = -1;
	str_free(&im->wait);
}

static void
closed(struct http_req *q)
{
	struct importing *im = http_req_data(q);

	if (im->ask != NULL)
		broker_forget(im->ask);
	/* A fetcher whose client has left sees the tar break off. */
	stop_sending(im);
	watch_free(im->can_read);
	if (im->words >= 0)
		close(im->words);
	fetch_lines_free(&im->lines);
	free(im->name);
	free(im);
}

/* ---- what is answered ---- */

static void
say(struct importing *im, struct str *line)
{
	str_putc(line, '\n');
	http_reply_write(im->q, line->at, line->len);
}

static void
end(struct importing *im, struct str *line)
{
	im->over = true;
	stop_sending(im);
	if (im->can_read != NULL)
		watch_stop(im->can_read);
	say(im, line);
	http_reply_end(im->q);
}

static void
fail(struct importing *im, const struct err *err)
{
	auto_str struct str line = { 0 };

	app_audit(im->q, "image import", im->name, err);
	api_put_error(&line, err);
	end(im, &line);
}

static void
recorded(void *arg, struct link_msg *m, const struct err *err)
{
	struct importing *im = arg;
	auto_str struct str line = { 0 };
	json_t *list = NULL, *record = NULL;
	struct err why;

	im->ask = NULL;
	if (m != NULL)
		list = imagedir_list(take_fd(&m->fd[0]), &why);
	else
		why = *err;
	if (list == NULL) {
		fail(im, &why);
		return;
	}
	record = imagedir_find(list, im->name);
	app_audit(im->q, "image import", im->name, NULL);
	str_puts(&line, "{\"done\":");
	if (record != NULL)
		jtext_write(&line, record);
	else
		str_puts(&line, "{}");
	str_putc(&line, '}');
	end(im, &line);
	json_decref(record);
	json_decref(list);
}

/* ---- what the fetcher says ---- */

static void
on_line(struct importing *im, const struct fetch_line *l)
{
	auto_str struct str line = { 0 };

	switch (l->word) {
	case FETCH_PROGRESS:
		str_puts(&line, "{\"progress\":");
		jtext_quote_text(&line, l->text);
		str_putc(&line, '}');
		say(im, &line);
		break;
	case FETCH_ERROR:
		fail(im, &l->err);
		break;
	case FETCH_DONE:
		im->over = true;
		im->ask = broker_images(im->app->broker, recorded, im);
		break;
	}
}

static void
words(void *arg, int what)
{
	struct importing *im = arg;
	struct fetch_line line;
	char b[8192];
	struct err err;
	ssize_t n = read(im->words, b, sizeof b);
	int r = 0;

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		fetch_lines_feed(&im->lines, b, (size_t)n);
		while (!im->over &&
		    (r = fetch_lines_next(&im->lines, &line, &err)) == 1)
			on_line(im, &line);
	} else
		r = err_set(&err, ERR_PROTO,
		    "the fetcher ended without a word");
	if (im->over)
		watch_stop(im->can_read);
	else if (r < 0)
		fail(im, &err);
}

/* ---- what it is sent ---- */

/* How many of the bytes the pipe took; a reader that has left takes all. */
static size_t
push(struct importing *im, const uint8_t *b, size_t n)
{
	size_t done = 0;

	while (done < n && im->tar >= 0) {
		ssize_t w = write(im->tar, b + done, n - done);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && errno == EAGAIN)
			return done;
		if (w < 0) { /* its reason comes as a line */
			stop_sending(im);
			return n;
		}
		done += (size_t)w;
	}
	return n;
}

static void
writable(void *arg, int what)
{
	struct importing *im = arg;
	size_t done = push(im, (const uint8_t *)im->wait.at, im->wait.len);

	(void)what;
	str_drop(&im->wait, done);
	if (im->wait.len > 0)
		return;
	if (im->can_write != NULL)
		watch_stop(im->can_write);
	http_req_resume(im->q);
	if (im->body_over)
		stop_sending(im);
}

static void
body(struct http_req *q, const uint8_t *b, size_t n)
{
	struct importing *im = http_req_data(q);
	size_t done;

	if (im->tar < 0)
		return;
	if (b == NULL) {
		im->body_over = true;
		if (im->wait.len == 0)
			stop_sending(im);
		return;
	}
	done = im->wait.len == 0 ? push(im, b, n) : 0;
	if (done == n || im->tar < 0)
		return;
	str_add(&im->wait, b + done, n - done);
	http_req_pause(q);
	watch_go(im->can_write);
}

/* ---- the request ---- */

static void
opened(void *arg, struct link_msg *m, const struct err *err)
{
	struct importing *im = arg;

	im->ask = NULL;
	if (m == NULL) {
		app_audit(im->q, "image import", im->name, err);
		api_fail(im->q, err);
		return;
	}
	im->tar = take_fd(&m->fd[0]);
	im->words = take_fd(&m->fd[1]);
	fcntl(im->tar, F_SETFL, O_NONBLOCK);
	fcntl(im->words, F_SETFL, O_NONBLOCK);
	im->can_write =
	    watch_fd(im->app->loop, im->tar, WATCH_WRITE, writable, im);
	watch_stop(im->can_write);
	im->can_read =
	    watch_fd(im->app->loop, im->words, WATCH_READ, words, im);
	/* In this order: a client may wait for 100 before 200. */
	http_req_on_body(im->q, body);
	http_reply_start(im->q, 200, "application/x-ndjson", -1);
}

int
api_image_import(struct http_req *q, struct err *err)
{
	const char *name = http_req_param(q, "name");
	struct importing *im;

	if (name == NULL || name[0] == '\0') {
		err_set(err, ERR_INVALID, "the query gives no name");
		return api_fail(q, err);
	}
	im = xcalloc(1, sizeof *im);
	im->q = q;
	im->app = app_of(q);
	im->name = xstrdup(name);
	im->tar = im->words = -1;
	http_req_set_data(q, im);
	http_req_on_closed(q, closed);
	im->ask = broker_import(im->app->broker, name, opened, im);
	return 0;
}
