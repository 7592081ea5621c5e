/*
 * hutch-model: the process with the models' keys.
 *
 * Started by the broker, confined, in the host's network and without any
 * privilege there.  Descriptor 3 is a link on which the broker says two things
 * and is asked nothing: the lines of the configuration that concern it, and
 * the ends of streams to fronts.  It speaks to the endpoints of those lines
 * and, for push notifications, to public addresses.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "model/post.h"
#include "model/serve.h"
#include "model/endpoint.h"
#include "wire/broker.h"
#include "wire/link.h"
#include "wire/loop.h"

#define FD_LINK 3
#define LINES_MOST (4 << 20)

struct client {
	struct serve *serve;
	TAILQ_ENTRY(client) next;
};

struct model {
	struct loop *loop;
	struct poster *poster;
	struct endpoints table;
	struct watch *link, *term;
	TAILQ_HEAD(, client) clients;
};

static void
die(const struct err *err, const char *what)
{
	log_err(LOG_ERROR, err, what, NULL);
	exit(1);
}

static void
client_free(struct model *m, struct client *c)
{
	TAILQ_REMOVE(&m->clients, c, next);
	serve_free(c->serve);
	free(c);
}

static void
gone(void *arg, struct serve *s)
{
	struct model *m = arg;
	struct client *c, *found = NULL;

	TAILQ_FOREACH(c, &m->clients, next)
		if (c->serve == s)
			found = c;
	if (found != NULL)
		client_free(m, found);
	TAILQ_FOREACH(c, &m->clients, next)
		serve_kick(c->serve);
}

static int
read_lines(struct model *m, int fd, struct err *err)
{
	struct str text = { 0 };
	int r, level;

	r = lseek(fd, 0, SEEK_SET) < 0
	    ? err_sys(err, "rewind")
	    : file_read_all(fd, &text, LINES_MOST, err);
	if (r == 0)
		r = endpoints_read(&m->table, str_text(&text), err);
	if (text.at != NULL)
		explicit_bzero(text.at, text.room);
	str_free(&text);
	level = m->table.log != NULL ? log_level_parse(m->table.log) : -1;
	if (level >= 0)
		log_level((enum log_level)level);
	return r;
}

static void
add_client(struct model *m, int fd)
{
	const struct serve_conf conf = { .loop = m->loop,
		.poster = m->poster,
		.table = &m->table,
		.gone = gone,
		.arg = m };
	struct client *c = xcalloc(1, sizeof *c);

	TAILQ_INSERT_TAIL(&m->clients, c, next);
	c->serve = serve_new(&conf, fd);
}

static int
on_message(struct model *m, struct link_msg *msg, struct err *err)
{
	if (msg->nfd != 1 || msg->len != 0)
		return err_set(err, ERR_PROTO, "the broker said %u", msg->type);
	if (msg->type == BROKER_RELOAD)
		return read_lines(m, msg->fd[0], err);
	if (msg->type != BROKER_STREAM)
		return err_set(err, ERR_PROTO, "the broker said %u", msg->type);
	add_client(m, take_fd(&msg->fd[0]));
	return 0;
}

static void
readable(void *arg, int what)
{
	static struct link_msg msg;
	struct model *m = arg;
	struct err err;
	int r;

	(void)what;
	r = link_recv(FD_LINK, &msg, &err);
	if (r == 0) {
		loop_stop(m->loop);
		return;
	}
	if (r < 0 && err.code == ERR_SYS &&
	    (err.sys == EAGAIN || err.sys == EINTR))
		return;
	if (r > 0) {
		r = on_message(m, &msg, &err);
		link_msg_drop(&msg);
	}
	if (r < 0)
		die(&err, "the broker's word was not understood");
}

static void
on_term(void *arg, int what)
{
	struct model *m = arg;

	(void)what;
	loop_stop(m->loop);
}

static void
put_away(struct model *m)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&m->clients)) != NULL)
		client_free(m, c);
	poster_free(m->poster);
	endpoints_free(&m->table);
	watch_free(m->link);
	watch_free(m->term);
	loop_free(m->loop);
}

int
main(void)
{
	struct model m = { 0 };

	log_start("hutch-model", LOG_INFO);
	prctl(PR_SET_DUMPABLE, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a terminal's goes to the broker */
	m.loop = loop_new();
	TAILQ_INIT(&m.clients);
	m.poster = poster_new(m.loop);
	m.link = watch_fd(m.loop, FD_LINK, WATCH_READ, readable, &m);
	m.term = watch_signal(m.loop, SIGTERM, on_term, &m);
	loop_run(m.loop);
	put_away(&m);
	return 0;
}
