#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/str.h"
#include "tests/lib/fakeagent.h"
#include "tests/lib/fakebroker.h"
#include "wire/link.h"
#include "wire/loop.h"

static void
must(int r)
{
	if (r < 0)
		abort();
}

static void
say(struct fakebroker *fb, const struct link_msg *m)
{
	struct err err;

	must(link_send(fb->fd, m, &err));
}

static void
reply(struct fakebroker *fb, uint32_t call, const void *body, size_t len,
    const int *fd, unsigned nfd)
{
	struct link_msg m = { .type = BROKER_OK,
		.call = call,
		.len = len,
		.nfd = (uint16_t)nfd };

	if (len > 0)
		memcpy(m.body, body, len);
	for (unsigned i = 0; i < nfd; i++)
		m.fd[i] = fd[i];
	say(fb, &m);
}

static void
refuse(struct fakebroker *fb, uint32_t call, enum err_code code,
    const char *text)
{
	struct link_msg m = { .type = BROKER_ERR, .call = call };
	struct err err = { 0 };

	err_set(&err, code, "%s", text);
	m.len = sizeof err;
	memcpy(m.body, &err, sizeof err);
	say(fb, &m);
}

/* ---- boxes ---- */

static struct fakebox *
by_id(struct fakebroker *fb, const uint8_t *id)
{
	for (size_t i = 0; i < FAKE_BOXES; i++)
		if (fb->box[i].live &&
		    memcmp(fb->box[i].id, id, BROKER_ID) == 0)
			return &fb->box[i];
	return NULL;
}

struct fakebox *
fakebroker_find(struct fakebroker *fb, const char *hex)
{
	uint8_t id[BROKER_ID];

	return hex_get(id, sizeof id, hex) == 0 ? by_id(fb, id) : NULL;
}

unsigned
fakebroker_count(const struct fakebroker *fb)
{
	unsigned n = 0;

	for (size_t i = 0; i < FAKE_BOXES; i++)
		n += fb->box[i].live;
	return n;
}

struct fakebox *
fakebroker_box(struct fakebroker *fb, unsigned n)
{
	for (size_t i = 0; i < FAKE_BOXES; i++)
		if (fb->box[i].live && n-- == 0)
			return &fb->box[i];
	return NULL;
}

/* A fresh stream to the box's agent; returns the front's end. */
static int
stream(struct fakebroker *fb, struct fakebox *b)
{
	struct fakeagent *old = b->agent;
	int fd[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
	    fd));
	b->agent = fakeagent_new(&(struct fakeagent_conf){
	    .loop = fb->loop,
	    .fd = fd[1],
	    .tool = fb->tools,
	    .silent = fb->silent,
	    .arg = b,
	});
	if (old != NULL) {
		struct str *w = fakeagent_workspace(old);

		str_add(fakeagent_workspace(b->agent), str_text(w), w->len);
		fakeagent_free(old);
	}
	return fd[0];
}

static void
hand_out(struct fakebroker *fb, uint32_t call, struct fakebox *b)
{
	struct broker_built built = { .slot = 1, .step_us = { 10, 20, 30 } };
	int fd[2];

	fd[0] = stream(fb, b);
	fd[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	reply(fb, call, &built, sizeof built, fd, 2);
	close(fd[0]);
	close(fd[1]);
}

static void
build(struct fakebroker *fb, uint32_t call, const struct broker_build *q)
{
	struct fakebox *b = NULL;

	if (fb->fail_builds > 0) {
		fb->fail_builds--;
		refuse(fb, call, ERR_LIMIT, "no room on this host");
		return;
	}
	for (size_t i = 0; i < FAKE_BOXES && b == NULL; i++)
		if (!fb->box[i].live)
			b = &fb->box[i];
	must(b != NULL ? 0 : -1);
	*b = (struct fakebox){ .live = true, .build = *q };
	memcpy(b->id, q->id, sizeof b->id);
	hand_out(fb, call, b);
}

void
fakebroker_end(struct fakebroker *fb, struct fakebox *b, int end, int status)
{
	struct broker_exited e = { .end = (uint32_t)end, .status = status };
	struct link_msg m = { .type = BROKER_EXITED, .len = sizeof e };

	memcpy(e.id, b->id, sizeof e.id);
	memcpy(m.body, &e, sizeof e);
	fakeagent_free(b->agent);
	b->agent = NULL;
	b->live = false;
	say(fb, &m);
}

/* ---- what a front asks ---- */

static void
on_listeners(struct fakebroker *fb, const struct link_msg *m)
{
	struct broker_hello h = { BROKER_VERSION, fb->generation };
	int fd[5];

	for (int i = 0; i < 5; i++)
		fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	reply(fb, m->call, &h, sizeof h, fd, 5);
	for (int i = 0; i < 5; i++)
		close(fd[i]);
}

/*
 * Small pages, so that several are needed; cut from the list as it was at the
 * first, as the real one does.
 */
static void
on_live(struct fakebroker *fb, const struct link_msg *m)
{
	struct broker_live l = { 0 };
	struct broker_page q;

	memcpy(&q, m->body, sizeof q);
	fb->lives++;
	if (q.from == 0) {
		fb->nlisted = fakebroker_count(fb);
		for (unsigned i = 0; i < fb->nlisted; i++)
			memcpy(fb->listed[i], fakebroker_box(fb, i)->id,
			    BROKER_ID);
		if (fb->die_after_list)
			fakebroker_end(fb, fakebroker_box(fb, fb->nlisted - 1),
			    BROKER_END_EXIT, 0);
		fb->die_after_list = false;
	}
	l.total = fb->nlisted;
	for (; l.n < 3 && q.from + l.n < l.total; l.n++)
		memcpy(l.at[l.n].id, fb->listed[q.from + l.n], BROKER_ID);
	reply(fb, m->call, &l, sizeof l, NULL, 0);
}

static void
on_build(struct fakebroker *fb, const struct link_msg *m)
{
	struct broker_build q;

	memcpy(&q, m->body, sizeof q);
	fb->builds++;
	if (!fb->hold) {
		build(fb, m->call, &q);
		return;
	}
	fb->held[fb->nheld] = m->call;
	fb->held_build[fb->nheld] = xmalloc(sizeof q);
	*fb->held_build[fb->nheld++] = q;
}

void
fakebroker_release(struct fakebroker *fb)
{
	fb->hold = false;
	for (unsigned i = 0; i < fb->nheld; i++) {
		build(fb, fb->held[i], fb->held_build[i]);
		free(fb->held_build[i]);
	}
	fb->nheld = 0;
}

static struct fakebox *
asked_for(struct fakebroker *fb, const struct link_msg *m)
{
	struct fakebox *b = by_id(fb, m->body);

	if (b == NULL)
		refuse(fb, m->call, ERR_MISSING, "no such sandbox");
	return b;
}

static void
on_attach(struct fakebroker *fb, const struct link_msg *m)
{
	struct fakebox *b = asked_for(fb, m);

	fb->attaches++;
	if (b != NULL)
		hand_out(fb, m->call, b);
}

static void
on_stop(struct fakebroker *fb, const struct link_msg *m)
{
	struct fakebox *b = asked_for(fb, m);

	fb->stops++;
	if (b == NULL)
		return;
	reply(fb, m->call, NULL, 0, NULL, 0);
	if (!fb->deaf)
		fakebroker_end(fb, b, BROKER_END_STOP, 9);
}

static void
on_freeze(struct fakebroker *fb, const struct link_msg *m)
{
	struct fakebox *b = asked_for(fb, m);
	struct broker_freeze q;

	memcpy(&q, m->body, sizeof q);
	fb->freezes++;
	if (b == NULL)
		return;
	b->frozen = q.on;
	reply(fb, m->call, NULL, 0, NULL, 0);
}

static void
on_usage(struct fakebroker *fb, const struct link_msg *m)
{
	struct broker_usage u = { .cpu_us = 1500,
		.memory = 4096,
		.memory_limit = 1 << 20,
		.pids = 3 };

	if (asked_for(fb, m) != NULL)
		reply(fb, m->call, &u, sizeof u, NULL, 0);
}

static void
on_images(struct fakebroker *fb, const struct link_msg *m)
{
	reply(fb, m->call, NULL, 0, &fb->images, 1);
}

static void
on_other(struct fakebroker *fb, const struct link_msg *m)
{
	refuse(fb, m->call, ERR_DENIED, "not this one");
}

static void
serve(struct fakebroker *fb, const struct link_msg *m)
{
	/* clang-format off */
	static const struct {
		enum broker_type type;
		void (*on)(struct fakebroker *, const struct link_msg *);
	} rows[] = {
		{ BROKER_LISTENERS,	on_listeners },
		{ BROKER_LIVE,		on_live },
		{ BROKER_BUILD,		on_build },
		{ BROKER_ATTACH,	on_attach },
		{ BROKER_STOP,		on_stop },
		{ BROKER_FREEZE,	on_freeze },
		{ BROKER_USAGE,		on_usage },
		{ BROKER_IMAGES,	on_images },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].type == m->type) {
			rows[i].on(fb, m);
			return;
		}
	on_other(fb, m);
}

static void
readable(void *arg, int what)
{
	static struct link_msg m;
	struct fakebroker *fb = arg;
	struct err err = { 0 };

	(void)what;
	if (link_recv(fb->fd, &m, &err) <= 0) {
		if (err.code != ERR_SYS || err.sys != EAGAIN)
			watch_stop(fb->in);
		return;
	}
	serve(fb, &m);
	link_msg_drop(&m);
}

/* ---- making one ---- */

static void
link_up(struct fakebroker *fb, int *front)
{
	struct err err;
	int fd[2];

	must(link_pair(fd, &err));
	fb->fd = fd[0];
	*front = fd[1];
	fb->generation++;
	fb->in = watch_fd(fb->loop, fb->fd, WATCH_READ, readable, fb);
}

struct fakebroker *
fakebroker_new(struct loop *loop, int *front)
{
	struct fakebroker *fb = xcalloc(1, sizeof *fb);

	fb->loop = loop;
	strcpy(fb->path, "/tmp/hutch-images-XXXXXX");
	must(mkdtemp(fb->path) != NULL ? 0 : -1);
	fb->images = open(fb->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fb->images);
	link_up(fb, front);
	return fb;
}

void
fakebroker_relink(struct fakebroker *fb, int *front)
{
	watch_free(fb->in);
	close(fb->fd);
	link_up(fb, front);
}

void
fakebroker_free(struct fakebroker *fb)
{
	struct err err;

	for (size_t i = 0; i < FAKE_BOXES; i++)
		if (fb->box[i].agent != NULL)
			fakeagent_free(fb->box[i].agent);
	for (unsigned i = 0; i < fb->nheld; i++)
		free(fb->held_build[i]);
	watch_free(fb->in);
	close(fb->fd);
	close(fb->images);
	must(file_remove_tree(AT_FDCWD, fb->path, &err));
	free(fb);
}

void
fakebroker_drain(struct fakebroker *fb)
{
	struct link_msg m = { .type = BROKER_DRAIN };

	say(fb, &m);
}

void
fakebroker_image(struct fakebroker *fb, const char *name, char digit)
{
	uint8_t digest[SHA256_BYTES];
	char file[2 * SHA256_BYTES + 8], a[65], b[65];
	struct str text = { 0 };
	struct err err;

	memset(a, digit, 64);
	memset(b, digit + 1, 64);
	a[64] = b[64] = '\0';
	sha256(digest, name, strlen(name));
	hex_put(file, digest, sizeof digest);
	strcat(file, ".json");
	str_printf(&text,
	    "{\"version\":1,\"name\":\"%s\",\"id\":\"sha256:%s\","
	    "\"layers\":[{\"id\":\"%s\",\"diff_id\":\"sha256:%s\"},"
	    "{\"id\":\"%s\"}],\"config\":{\"env\":["
	    "\"PATH=/opt/venv/bin:/usr/bin:/bin\",\"FROM_IMAGE=yes\"],"
	    "\"entrypoint\":[],\"cmd\":[\"sh\"],\"workdir\":\"\","
	    "\"user\":\"\",\"labels\":{},\"stop_signal\":\"\"}}",
	    name, a, a, a, b);
	must(file_replace_at(fb->images, file, text.at, text.len, 0644, &err));
	str_free(&text);
}
