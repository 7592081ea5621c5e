/*
 * Messages to the broker, from each of its peers, over an isolator of paper.
 *
 * A message in the input: who (2 bits), whether its size is the right one, how
 * many descriptors and of what; the type; the length of what follows.  A peer
 * that breaks the rules is replaced by a fresh one, as in life.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "tests/unit/bed.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "conf/conf.h"
#include "daemon/job.h"
#include "wire/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define MESSAGES 24

struct input {
	const uint8_t *at;
	size_t n;
};

static struct peer *admin;
static int admin_far;
static int fetch_far[MESSAGES];
static int fetchers;

static size_t
take(struct input *in, void *to, size_t n)
{
	n = n < in->n ? n : in->n;
	memcpy(to, in->at, n);
	in->at += n;
	in->n -= n;
	return n;
}

static size_t
right_size(uint16_t type)
{
	static const size_t sizes[] = {
		[BROKER_LIVE] = sizeof(struct broker_page),
		[BROKER_BUILD] = sizeof(struct broker_build),
		[BROKER_ATTACH] = sizeof(struct broker_id),
		[BROKER_JOIN] = sizeof(struct broker_id),
		[BROKER_STOP] = sizeof(struct broker_id),
		[BROKER_FREEZE] = sizeof(struct broker_freeze),
		[BROKER_USAGE] = sizeof(struct broker_id),
		[BROKER_IMPORT] = sizeof(struct broker_name),
		[BROKER_EXPORT] = sizeof(struct broker_name),
		[BROKER_IMAGE_RM] = sizeof(struct broker_name),
		[BROKER_COMMIT] = sizeof(struct broker_layer),
		[BROKER_RECORD] = sizeof(struct broker_record),
		[BROKER_LEND] = 0,
	};

	return type <= BROKER_LEND ? sizes[type] : 0;
}

static int
some_fd(unsigned kind)
{
	return kind & 1
	    ? openat(t.b.state.staging, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
	    : eventfd(0, EFD_CLOEXEC);
}

static void
answers(int far)
{
	struct err err;

	fcntl(far, F_SETFL, O_NONBLOCK);
	while (link_recv(far, &got, &err) == 1)
		link_msg_drop(&got);
}

/* What a process that broke the rules gets: an end, and a successor. */
static void
replace(struct peer *p)
{
	if (p == t.b.front) {
		peer_free(p);
		close(t.far);
		t.b.front = bed_peer(ROLE_FRONT, &t.far);
	} else if (p == admin) {
		peer_free(p);
		close(admin_far);
		admin = bed_peer(ROLE_ADMIN, &admin_far);
	} else {
		job_kill(p->job);
	}
}

/* The ends that a new fetcher would have. */
static void
keep_far(void)
{
	if (fake.confines == fetchers)
		return;
	fetch_far[fetchers++] = fake.fd[0];
	close(fake.fd[1]);
	close(fake.fd[2]);
}

static void
one_message(struct input *in)
{
	uint8_t head[4] = { 0 };
	struct peer *p = t.b.front;
	struct job *j = TAILQ_FIRST(&t.b.jobs);
	struct err err;
	size_t n, sent;

	take(in, head, sizeof head);
	if ((head[0] & 3) == 1)
		p = admin;
	else if ((head[0] & 3) >= 2 && j != NULL)
		p = j->peer;
	msg.type = head[1];
	msg.call = (uint32_t)(head[0] >> 7 ? 0 : 1);
	msg.nfd = head[0] >> 4 & 3;
	for (int i = 0; i < msg.nfd; i++)
		msg.fd[i] = some_fd(head[0] >> 3 & 1u);
	n = head[2] | (size_t)(head[3] & 0x1f) << 8;
	memset(msg.body, 0, sizeof msg.body);
	sent = take(in, msg.body, n);
	msg.len = head[0] & 4 ? right_size(msg.type) : sent;
	if (broker_serve(&t.b, p, &msg, &err) < 0)
		replace(p);
	link_msg_drop(&msg);
	keep_far();
	answers(t.far);
	answers(admin_far);
	for (int i = 0; i < fetchers; i++)
		answers(fetch_far[i]);
}

static void
end_all(void)
{
	for (struct live *l = boxes_next(t.b.boxes, NULL); l != NULL;
	     l = boxes_next(t.b.boxes, l))
		t.b.does->backend->stop(&l->instance, &(struct err){ 0 });
	jobs_kill(&t.b);
	while (boxes_count(t.b.boxes) > 0 || t.b.njobs > 0)
		loop_turn(t.b.loop);
	while (fetchers > 0)
		close(fetch_far[--fetchers]);
}

/* As if nothing had happened. */
static void
forget_all(bool imported)
{
	static const char *const folders[] = { "layers", "images", "staging",
		"trash" };
	int dirs[] = { t.b.state.layers, t.b.state.images, t.b.state.staging,
		t.b.state.trash };
	const struct images_dirs in = { dirs[0], dirs[1], dirs[3], geteuid() };
	auto_fd int top = open(t.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	fake.confines = 0;
	replace(t.b.front);
	replace(admin);
	lent_free(t.b.lent);
	t.b.lent = lent_new();
	if (!imported)
		return;
	images_free(t.b.images);
	for (int i = 0; i < 4; i++) {
		int fresh;

		file_remove_tree(top, folders[i], &err);
		fresh = file_mkdir_at(top, folders[i], 0700, &err);
		dup3(fresh, dirs[i], O_CLOEXEC);
		close(fresh);
	}
	t.b.images = images_open(&in, &err);
	bed_layer_on_disk(5);
}

static void
tear_down(void)
{
	peer_free(admin);
	close(admin_far);
	bed_tear_down(NULL);
}

static void
set_up(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	bed_set_up(NULL);
	trash_free(t.b.trash);
	t.b.trash = NULL; /* no process to empty it */
	bed_layer_on_disk(5);
	admin = bed_peer(ROLE_ADMIN, &admin_far);
	atexit(tear_down);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct input in = { bytes, n };
	bool imported;

	set_up();
	for (int i = 0; i < MESSAGES && in.n > 0; i++)
		one_message(&in);
	imported = fake.confines > 0;
	end_all();
	forget_all(imported);
	return 0;
}
