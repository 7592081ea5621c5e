#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/box.h"
#include "guest/guest.h"
#include "manager/manager.h"
#include "wire/loop.h"

#define PIECE (64 * 1024)
#define MARK "hutch_agent" /* in a sandbox's meta: whose it is */

struct box {
	struct box_conf conf;
	char *agent;
	struct box_tar tar[BOX_TARS];
	size_t ntar, at; /* the one that is being unpacked */
	off_t sent;      /* of it */
	bool all;        /* all of it */
	struct err read_why;
	bool read_failed;
	struct wait *wait;
	struct sandbox *sb; /* held */
	char id[64];
	struct guest_call *call;
	struct err why; /* to be told */
};

static void unpack(struct box *);

/* ---- the end ---- */

static void
tell(void *arg)
{
	struct box *b = arg;

	b->conf.ops->ended(b->conf.arg, NULL, &b->why);
}

static void
fail(struct box *b, const struct err *why)
{
	b->why = *why;
	loop_post(b->conf.loop, tell, b);
}

static void
drop_call(struct box *b)
{
	if (b->call == NULL)
		return;
	guest_cancel(b->call);
	guest_detach(b->call);
	b->call = NULL;
}

void
box_free(struct box *b)
{
	if (b == NULL)
		return;
	loop_unpost(b->conf.loop, b);
	if (b->wait != NULL)
		manager_forget(b->wait);
	drop_call(b);
	if (b->sb != NULL) {
		sandbox_drop(b->sb);
		manager_release(b->conf.manager, -1, b->id);
	}
	free(b->agent);
	free(b);
}

/* ---- filling it ---- */

/* The next bytes of the tar; 0: that was all, -1: err. */
static ssize_t
next_piece(struct box *b, uint8_t *piece, size_t room, struct err *err)
{
	const struct box_tar *t = &b->tar[b->at];
	ssize_t n;

	if (t->fd < 0) {
		n = (ssize_t)(t->n - (size_t)b->sent);
		if ((size_t)n > room)
			n = (ssize_t)room;
		memcpy(piece, (const uint8_t *)t->bytes + b->sent, (size_t)n);
	} else {
		do
			n = pread(t->fd, piece, room, b->sent);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return err_sys(err, "read");
	}
	b->sent += n;
	return n;
}

static void
tar_room(void *arg)
{
	static uint8_t piece[PIECE];
	struct box *b = arg;
	size_t room;

	while (!b->all && !b->read_failed && b->call != NULL &&
	    (room = guest_room(b->call)) > 0) {
		ssize_t n = next_piece(b, piece, room < PIECE ? room : PIECE,
		    &b->read_why);

		if (n > 0) {
			guest_input(b->call, piece, (size_t)n);
		} else if (n == 0) {
			b->all = true;
			guest_input_end(b->call);
		} else {
			b->read_failed = true;
			guest_cancel(b->call);
		}
	}
}

static void
tar_output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct box *b = arg;

	(void)stream;
	(void)bytes;
	guest_took(b->call, n);
}

static void
tar_done(void *arg, const struct guest_done *done)
{
	struct box *b = arg;
	struct err why;

	b->call = NULL;
	if (done->err != NULL) {
		why = b->read_failed ? b->read_why : *done->err;
		err_wrap(&why, "files into %s", b->tar[b->at].path);
		fail(b, &why);
		return;
	}
	b->at++;
	unpack(b);
}

static const struct guest_sink tar_sink = { .output = tar_output,
	.room = tar_room,
	.done = tar_done };

static int
call(struct box *b, const char *tool, const struct guest_arg *arg,
    const struct guest_sink *sink, uint32_t work_ms, struct err *err)
{
	struct guest *g = b->sb != NULL ? sandbox_guest(b->sb) : NULL;
	const struct guest_request q = { .tool = tool,
		.arg = arg,
		.work_ms = work_ms,
		.sink = sink,
		.sink_arg = b };

	if (g == NULL)
		return err_set(err, ERR_BUSY, "its sandbox has ended");
	if (b->call != NULL)
		return err_set(err, ERR_BUSY, "its sandbox is at work");
	b->call = guest_call(g, &q, err);
	return b->call != NULL ? 0 : -1;
}

static void
unpack(struct box *b)
{
	const struct box_tar *t = &b->tar[b->at];
	struct guest_arg arg[] = {
		{ .name = "path", .type = ARG_TEXT },
		{ .name = "anywhere", .type = ARG_BOOL, .num = 1 },
		{ .name = NULL },
	};
	struct err why;

	if (b->at == b->ntar) {
		b->conf.ops->ready(b->conf.arg);
		return;
	}
	arg[0].text = t->path;
	arg[0].len = strlen(t->path);
	b->sent = 0;
	b->all = b->read_failed = false;
	if (call(b, "fs_untar", arg, &tar_sink, 0, &why) < 0)
		fail(b, &why);
}

static void
made(void *arg, struct sandbox *sb, const struct err *err)
{
	struct box *b = arg;

	b->wait = NULL;
	if (sb == NULL) {
		b->why = *err;
		tell(b);
		return;
	}
	sandbox_hold(sb);
	b->sb = sb;
	snprintf(b->id, sizeof b->id, "%s", sandbox_record(sb)->id);
	unpack(b);
}

struct box *
box_new(const struct box_conf *conf)
{
	struct box *b = xcalloc(1, sizeof *b);
	struct create want = { .tenant = conf->tenant,
		.type = conf->type,
		.image = conf->image,
		.net = conf->net };
	struct err why;

	b->conf = *conf;
	b->agent = xstrdup(conf->agent);
	for (; b->ntar < conf->ntar && b->ntar < BOX_TARS; b->ntar++)
		b->tar[b->ntar] = conf->tar[b->ntar];
	want.meta = json_pack("{s:s}", MARK, b->agent);
	b->wait = manager_create(conf->manager, &want, made, b, &why);
	json_decref(want.meta);
	if (b->wait == NULL)
		fail(b, &why);
	return b;
}

const char *
box_id(const struct box *b)
{
	return b->id;
}

/* ---- the program ---- */

static void
output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct box *b = arg;

	b->conf.ops->output(b->conf.arg, stream, bytes, n);
}

static void
room(void *arg)
{
	struct box *b = arg;

	if (b->conf.ops->room != NULL)
		b->conf.ops->room(b->conf.arg);
}

static void
done(void *arg, const struct guest_done *d)
{
	struct box *b = arg;

	b->call = NULL;
	b->conf.ops->ended(b->conf.arg, d, NULL);
}

static const struct guest_sink sink = { .output = output,
	.room = room,
	.done = done };

int
box_run(struct box *b, const struct box_program *p, struct err *err)
{
	static const char *const none[] = { NULL };
	const char *cwd = p->cwd != NULL ? p->cwd : "/workspace";
	const struct guest_arg arg[] = {
		{ "argv", ARG_LIST, .list = p->argv },
		{ "env", ARG_LIST, .list = p->env != NULL ? p->env : none },
		{ "input", ARG_BOOL, .num = p->input },
		{ "cwd", ARG_TEXT, .text = cwd, .len = strlen(cwd) },
		{ 0 },
	};

	return call(b, "exec", arg, &sink, p->work_ms, err);
}

int
box_pack(struct box *b, const char *path, struct err *err)
{
	const struct guest_arg arg[] = {
		{ "path", ARG_TEXT, .text = path, .len = strlen(path) },
		{ "anywhere", ARG_BOOL, .num = 1 },
		{ 0 },
	};

	return call(b, "fs_tar", arg, &sink, 0, err);
}

void
box_took(struct box *b, size_t n)
{
	if (b->call != NULL)
		guest_took(b->call, n);
}

size_t
box_room(const struct box *b)
{
	return b->call != NULL ? guest_room(b->call) : 0;
}

void
box_input(struct box *b, const void *bytes, size_t n)
{
	if (b->call != NULL)
		guest_input(b->call, bytes, n);
}

void
box_kill(struct box *b)
{
	if (b->call != NULL)
		guest_cancel(b->call);
}

/* ---- after a restart ---- */

void
box_sweep(struct manager *m)
{
	struct sandbox *sb = NULL, *next;

	for (sb = manager_next(m, -1, NULL); sb != NULL; sb = next) {
		const struct record *r = sandbox_record(sb);

		next = manager_next(m, -1, sb);
		if (json_object_get(r->meta, MARK) == NULL ||
		    r->state == REC_RELEASED)
			continue;
		log_say(LOG_INFO, "a former worker's sandbox goes", "sandbox",
		    r->id, NULL);
		manager_release(m, -1, r->id);
	}
}
