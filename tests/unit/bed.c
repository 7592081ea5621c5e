#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "tests/unit/bed.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "wire/loop.h"

/* ---- an isolator of paper ---- */

struct bed_fake fake;

void
instance_init(struct instance *i)
{
	*i = (struct instance){ .pid = -1,
		.pidfd = -1,
		.control = -1,
		.stream = -1,
		.cgroup.v2 = -1 };
}

static int
fake_instance(struct instance *i, bool stream)
{
	i->pid = 1;
	i->pidfd = eventfd(0, EFD_CLOEXEC);
	i->stream = stream ? eventfd(0, EFD_CLOEXEC) : -1;
	fake.pidfd = i->pidfd;
	return 0;
}

static int
fake_start(struct host *h, const struct box *box, struct instance *i,
    struct err *err)
{
	(void)h;
	fake.starts++;
	fake.box = *box;
	if (fake.fail)
		return err_set(err, ERR_SYS, "no luck");
	return fake_instance(i, true);
}

static int
fake_attach(struct instance *i, struct err *err)
{
	(void)i;
	(void)err;
	fake.attaches++;
	return eventfd(0, EFD_CLOEXEC);
}

static int
fake_stop(struct instance *i, struct err *err)
{
	uint64_t one = 1;

	(void)err;
	fake.stops++;
	assert_int_equal(write(i->pidfd, &one, sizeof one), sizeof one);
	return 0;
}

static int
fake_freeze(struct instance *i, bool on, struct err *err)
{
	(void)i;
	(void)err;
	fake.freezes += on ? 1 : 100;
	return 0;
}

static int
fake_usage(const struct instance *i, struct usage *u, struct err *err)
{
	(void)i;
	(void)err;
	u->memory = 42;
	return 0;
}

static const struct backend fake_backend = {
	.name = "paper",
	.start = fake_start,
	.attach = fake_attach,
	.stop = fake_stop,
	.freeze = fake_freeze,
	.usage = fake_usage,
};

static void
fake_drop(struct instance *i)
{
	fake.drops++;
	close(i->pidfd);
	if (i->stream >= 0)
		close(i->stream);
}

static int
fake_confine(struct host *h, const struct confined *c, struct instance *i,
    struct err *err)
{
	(void)h;
	(void)err;
	fake.confines++;
	for (size_t n = 0; n < c->nfd && n < 3; n++)
		fake.fd[n] = dup(c->fd[n]);
	return fake_instance(i, false);
}

static int
fake_window(int dir, bool readonly, struct err *err)
{
	(void)readonly;
	(void)err;
	return openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
fake_merge(struct host *h, const int *layer, size_t n, struct err *err)
{
	(void)h;
	assert_int_equal(n, 1);
	return fake_window(layer[0], true, err);
}

static int
fake_oom_fd(struct host *h, const struct instance *i, struct err *err)
{
	(void)h;
	(void)i;
	if (!fake.v1)
		return err_set(err, ERR_MISSING, "the kernel does");
	return fake.oom = eventfd(0, EFD_CLOEXEC);
}

static const struct mechanism paper = {
	.backend = &fake_backend,
	.confine = fake_confine,
	.drop = fake_drop,
	.window = fake_window,
	.oom_fd = fake_oom_fd,
	.merge = fake_merge,
};

/* ---- a broker over it ---- */

struct bed t;

static void
idle(struct broker *b)
{
	(void)b;
	t.idles++;
}

static int
nothing(void *arg, struct peer *p, struct link_msg *m, struct err *err)
{
	(void)arg;
	(void)p;
	(void)m;
	(void)err;
	return 0;
}

static void
nobody(void *arg, struct peer *p)
{
	(void)arg;
	(void)p;
}

struct peer *
bed_peer(unsigned role, int *far)
{
	struct err err;
	int fd[2];

	assert_int_equal(link_pair(fd, &err), 0);
	*far = fd[1];
	return peer_new(NULL, fd[0], role, "test", nothing, nobody, NULL);
}

static int
folder(const char *name)
{
	struct err err;
	auto_fd int top = open(t.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = file_mkdir_at(top, name, 0700, &err);

	assert_true(fd >= 0);
	return fd;
}

int
bed_set_up(void **unused)
{
	struct broker *b = &t.b;
	struct images_dirs dirs;
	struct err err;

	(void)unused;
	log_level(LOG_ERROR);
	memset(&fake, 0, sizeof fake);
	memset(&t, 0, sizeof t);
	strcpy(t.dir, "/tmp/hutch-broker-XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	b->loop = loop_new();
	b->config = conf_new();
	b->config->id_base = geteuid();
	assert_int_equal(conf_set(b->config, "", "mount_allow", t.dir, &err),
	    0);
	b->does = &paper;
	b->state.layers = folder("layers");
	b->state.images = folder("images");
	b->state.staging = folder("staging");
	b->state.trash = folder("trash");
	b->state.front = folder("front");
	b->slots = slots_new(2, 4);
	b->boxes = boxes_new();
	b->lent = lent_new();
	b->trash = trash_new(b->loop, b->state.trash);
	dirs = (struct images_dirs){ b->state.layers, b->state.images,
		b->state.trash, geteuid() };
	b->images = images_open(&dirs, &err);
	b->tcp = eventfd(0, EFD_CLOEXEC);
	b->native = eventfd(0, EFD_CLOEXEC);
	b->agents = eventfd(0, EFD_CLOEXEC);
	b->generation = 7;
	b->idle = idle;
	TAILQ_INIT(&b->jobs);
	b->front = bed_peer(ROLE_FRONT, &t.far);
	return 0;
}

int
bed_tear_down(void **unused)
{
	struct broker *b = &t.b;
	int fds[] = { b->state.layers, b->state.images, b->state.staging,
		b->state.trash, b->state.front, b->tcp, b->native, b->agents,
		t.far };
	struct err err;

	(void)unused;
	for (struct live *l = boxes_next(b->boxes, NULL); l != NULL;
	     l = boxes_next(b->boxes, l))
		fake_drop(&l->instance);
	boxes_free(b->boxes);
	peer_free(b->front);
	lent_free(b->lent);
	images_free(b->images);
	trash_free(b->trash);
	slots_free(b->slots);
	conf_free(b->config);
	loop_free(b->loop);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		close(fds[i]);
	assert_int_equal(file_remove_tree(AT_FDCWD, t.dir, &err), 0);
	return 0;
}

struct link_msg msg, got;

/* Send it through the table; the reply is in got. */
int
bed_ask(struct peer *p, int far, uint16_t type, const void *body, size_t n)
{
	struct err err = { 0 };
	int r;

	msg.type = type;
	msg.call = 9;
	msg.len = n;
	if (n > 0)
		memcpy(msg.body, body, n);
	r = broker_serve(&t.b, p, &msg, &err);
	link_msg_drop(&msg);
	if (r < 0)
		return -1;
	r = link_recv(far, &got, &err);
	assert_int_equal(r, 1);
	assert_int_equal(got.call, 9);
	return got.type;
}

int
bed_ask_front(uint16_t type, const void *body, size_t n)
{
	return bed_ask(t.b.front, t.far, type, body, n);
}

enum err_code
bed_why(void)
{
	struct err e;

	assert_int_equal(got.type, BROKER_ERR);
	assert_int_equal(got.len, sizeof e);
	memcpy(&e, got.body, sizeof e);
	return e.code;
}

void
bed_layer_on_disk(uint8_t first)
{
	uint8_t digest[BROKER_DIGEST] = { first };
	char hex[2 * BROKER_DIGEST + 1];

	hex_put(hex, digest, sizeof digest);
	assert_int_equal(mkdirat(t.b.state.layers, hex, 0755), 0);
}

struct broker_build
bed_good_build(uint8_t id)
{
	struct broker_build q = { .id = { id },
		.hostname = "box",
		.nlayer = 1,
		.memory = 64 << 20,
		.layer = { { 5 } } };

	return q;
}

void
bed_build(uint8_t id)
{
	struct broker_build q = bed_good_build(id);

	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_OK);
	assert_int_equal(got.nfd, 2);
	link_msg_drop(&got);
}
