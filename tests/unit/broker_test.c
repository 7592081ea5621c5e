#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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

/* ---- the table ---- */

static void
what_the_table_lacks_ends_the_trust(void **unused)
{
	static const struct {
		unsigned role;
		uint16_t type, nfd;
		size_t n;
	} cases[] = {
		{ ROLE_FRONT, 0, 0, 0 },
		{ ROLE_FRONT, 99, 0, 0 },
		{ ROLE_FRONT, BROKER_OK, 0, 0 },
		{ ROLE_FRONT, BROKER_EXITED, 0, sizeof(struct broker_exited) },
		{ ROLE_FRONT, BROKER_STORE, 0, 0 },
		{ ROLE_FRONT, BROKER_RECORD, 0, sizeof(struct broker_record) },
		{ ROLE_FRONT, BROKER_LEND, 1, 0 },
		{ ROLE_FRONT, BROKER_COMMIT, 0, sizeof(struct broker_layer) },
		{ ROLE_FETCH, BROKER_BUILD, 0, sizeof(struct broker_build) },
		{ ROLE_FETCH, BROKER_LISTENERS, 0, 0 },
		{ ROLE_ADMIN, BROKER_BUILD, 0, sizeof(struct broker_build) },
		{ ROLE_ADMIN, BROKER_STOP, 0, sizeof(struct broker_id) },
		{ ROLE_FRONT, BROKER_STOP, 0, sizeof(struct broker_id) - 1 },
		{ ROLE_FRONT, BROKER_STOP, 0, sizeof(struct broker_id) + 1 },
		{ ROLE_FRONT, BROKER_STOP, 0, 0 },
		{ ROLE_FRONT, BROKER_STOP, 1, sizeof(struct broker_id) },
		{ ROLE_FRONT, BROKER_LISTENERS, 1, 0 },
		{ ROLE_FRONT, BROKER_LISTENERS, 0, 1 },
		{ ROLE_ADMIN, BROKER_LEND, 0, 0 },
		{ ROLE_ADMIN, BROKER_LEND, 2, 0 },
	};
	static const char zeros[sizeof(struct broker_build)];

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int far;
		struct peer *p = bed_peer(cases[i].role, &far);

		msg.nfd = cases[i].nfd;
		for (int n = 0; n < msg.nfd; n++)
			msg.fd[n] = eventfd(0, EFD_CLOEXEC);
		assert_int_equal(bed_ask(p, far, cases[i].type, zeros,
				     cases[i].n),
		    -1);
		peer_free(p);
		close(far);
	}
	assert_int_equal(fake.starts, 0);
}

static void
listeners_are_given_once(void **unused)
{
	struct broker_hello hello;

	(void)unused;
	assert_int_equal(bed_ask_front(BROKER_LISTENERS, NULL, 0), BROKER_OK);
	assert_int_equal(got.nfd, 5);
	memcpy(&hello, got.body, sizeof hello);
	assert_int_equal(hello.version, BROKER_VERSION);
	assert_int_equal(hello.generation, 7);
	link_msg_drop(&got);
	assert_int_equal(bed_ask_front(BROKER_LISTENERS, NULL, 0), -1);
}

static void
a_request_without_a_number_is_no_request(void **unused)
{
	struct err err;

	(void)unused;
	msg.type = BROKER_IMAGES;
	msg.call = 0;
	msg.len = msg.nfd = 0;
	assert_int_equal(broker_serve(&t.b, t.b.front, &msg, &err), -1);
}

/* ---- sandboxes ---- */

static void
a_sandbox_is_built_used_and_ends(void **unused)
{
	struct broker_id id = { { 1 } };
	struct broker_freeze freeze = { { 1 }, 1 };
	struct broker_page page = { 0 };
	struct broker_live live;
	struct broker_usage usage;
	struct broker_exited e;
	struct err err;

	(void)unused;
	bed_layer_on_disk(5);
	bed_build(1);
	assert_int_equal(fake.box.slot, 1 + 2 * SLOTS_INSTANCE);
	assert_int_equal(fake.box.nlayer, 1);
	assert_false(fake.box.plain);
	assert_true(fake.box.limits.memory == 64 << 20);
	assert_int_equal(fake.box.limits.pids, 512); /* left out: the ceiling */
	assert_int_equal(bed_ask_front(BROKER_LIVE, &page, sizeof page),
	    BROKER_OK);
	memcpy(&live, got.body, sizeof live);
	assert_int_equal(live.n, 1);
	assert_int_equal(live.at[0].id[0], 1);
	assert_int_equal(bed_ask_front(BROKER_FREEZE, &freeze, sizeof freeze),
	    BROKER_OK);
	assert_int_equal(fake.freezes, 1);
	assert_int_equal(bed_ask_front(BROKER_USAGE, &id, sizeof id),
	    BROKER_OK);
	memcpy(&usage, got.body, sizeof usage);
	assert_int_equal(usage.memory, 42);
	assert_int_equal(bed_ask_front(BROKER_ATTACH, &id, sizeof id),
	    BROKER_OK);
	assert_int_equal(got.nfd, 2);
	link_msg_drop(&got);
	assert_int_equal(bed_ask_front(BROKER_STOP, &id, sizeof id), BROKER_OK);
	loop_turn(t.b.loop);
	assert_int_equal(link_recv(t.far, &got, &err), 1);
	assert_int_equal(got.type, BROKER_EXITED);
	assert_int_equal(got.call, 0);
	memcpy(&e, got.body, sizeof e);
	assert_int_equal(e.id[0], 1);
	assert_int_equal(e.end, BROKER_END_STOP);
	assert_int_equal(fake.drops, 1);
	assert_int_equal(t.idles, 1);
	assert_int_equal(bed_ask_front(BROKER_STOP, &id, sizeof id),
	    BROKER_ERR);
	assert_int_equal(bed_why(), ERR_MISSING);
}

/* Whoever is the kernel's victim, all of it goes, and the reason is told. */
static void
a_starved_sandbox_is_ended_whole(void **unused)
{
	struct broker_exited e;
	uint64_t one = 1;
	struct err err;

	(void)unused;
	fake.v1 = true;
	bed_layer_on_disk(5);
	bed_build(1);
	assert_int_equal(write(fake.oom, &one, sizeof one), sizeof one);
	loop_turn(t.b.loop);
	assert_int_equal(fake.stops, 1);
	loop_turn(t.b.loop);
	assert_int_equal(link_recv(t.far, &got, &err), 1);
	memcpy(&e, got.body, sizeof e);
	assert_int_equal(e.end, BROKER_END_MEMORY);
}

static void
no_two_sandboxes_share_id_or_slot(void **unused)
{
	struct broker_build q = bed_good_build(1);
	uint32_t slot[4];

	(void)unused;
	bed_layer_on_disk(5);
	for (uint8_t i = 0; i < 4; i++) {
		bed_build((uint8_t)(i + 1));
		slot[i] = fake.box.slot;
		for (uint8_t j = 0; j < i; j++)
			assert_int_not_equal(slot[i], slot[j]);
	}
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_ERR);
	assert_int_equal(bed_why(), ERR_INVALID);
	q.id[0] = 5;
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_ERR);
	assert_int_equal(bed_why(), ERR_LIMIT);
	assert_int_equal(fake.starts, 4);
}

static void
a_failed_start_leaves_nothing(void **unused)
{
	struct broker_build q = bed_good_build(1);

	(void)unused;
	bed_layer_on_disk(5);
	fake.fail = true;
	for (int i = 0; i < 8; i++) {
		assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q),
		    BROKER_ERR);
		assert_int_equal(bed_why(), ERR_SYS);
	}
	assert_int_equal(boxes_count(t.b.boxes), 0);
	fake.fail = false;
	bed_build(1);
}

/* What is wrong with it, a case at a time. */
static enum err_code
spoil(struct broker_build *q, int i)
{
	switch (i) {
	case 0:
		q->id[0] = 0;
		break;
	case 1:
		memset(q->hostname, 'a', sizeof q->hostname);
		break;
	case 2:
		strcpy(q->hostname, "a/b");
		break;
	case 3:
		q->hostname[10] = 'x'; /* behind the NUL */
		break;
	case 4:
		q->net = BROKER_NETS;
		break;
	case 5:
		q->nlayer = BROKER_LAYERS + 1;
		break;
	case 6:
		q->nlayer = 0; /* and a layer behind the last */
		break;
	case 7:
		strcpy(q->dir, "/etc"); /* and layers */
		break;
	case 8:
		q->nmount = 1; /* empty */
		break;
	case 9:
		q->readonly = 2;
		break;
	case 10:
		q->memory = 1ull << 60;
		return ERR_DENIED;
	case 11:
		q->pids = 100000;
		return ERR_DENIED;
	case 12:
		q->layer[0][0] = 6;
		return ERR_MISSING;
	case 13:
		q->nmount = 1;
		strcpy(q->mount[0].from, "/etc");
		strcpy(q->mount[0].at, "/mnt");
		return ERR_DENIED;
	case 14:
		q->nmount = 1;
		strcpy(q->mount[0].from, t.dir);
		strcpy(q->mount[0].at, "/mnt/../proc");
		break;
	case 15:
		memset(&q->layer, 0, sizeof q->layer);
		q->nlayer = 0;
		strcpy(q->dir, "/etc");
		return ERR_DENIED;
	case 16:
		q->io_weight = 20000;
		break;
	}
	return ERR_INVALID;
}

static void
every_field_is_checked_again(void **unused)
{
	enum { CASES = 17 };

	(void)unused;
	bed_layer_on_disk(5);
	for (int i = 0; i < CASES; i++) {
		struct broker_build q = bed_good_build(1);
		enum err_code want = spoil(&q, i);

		assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q),
		    BROKER_ERR);
		if (bed_why() != want)
			fail_msg("case %d: %s", i, (char *)got.body + 8);
	}
	assert_int_equal(fake.starts, 0);
}

static void
mounts_stay_below_what_is_allowed(void **unused)
{
	struct broker_build q = bed_good_build(1);
	auto_free char *link = xasprintf("%s/out", t.dir);

	(void)unused;
	bed_layer_on_disk(5);
	assert_int_equal(symlink("/etc", link), 0);
	q.nmount = 1;
	strcpy(q.mount[0].at, "/mnt");
	snprintf(q.mount[0].from, sizeof q.mount[0].from, "%s/out", t.dir);
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_ERR);
	memset(q.mount[0].from, 0, sizeof q.mount[0].from);
	snprintf(q.mount[0].from, sizeof q.mount[0].from, "%s/../..", t.dir);
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_ERR);
	memset(q.mount[0].from, 0, sizeof q.mount[0].from);
	snprintf(q.mount[0].from, sizeof q.mount[0].from, "%sx", t.dir);
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_ERR);
	assert_int_equal(fake.starts, 0);
	memset(q.mount[0].from, 0, sizeof q.mount[0].from);
	snprintf(q.mount[0].from, sizeof q.mount[0].from, "%s/front", t.dir);
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_OK);
	link_msg_drop(&got);
	assert_int_equal(fake.box.nmount, 1);
}

static void
a_lent_directory_has_a_name_nobody_guesses(void **unused)
{
	struct broker_build q = bed_good_build(1);
	struct broker_lent lent;
	int far;
	struct peer *admin = bed_peer(ROLE_ADMIN, &far);

	(void)unused;
	memset(&q.layer, 0, sizeof q.layer);
	q.nlayer = 0;
	msg.nfd = 1;
	msg.fd[0] = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(bed_ask(admin, far, BROKER_LEND, NULL, 0), BROKER_OK);
	memcpy(&lent, got.body, sizeof lent);
	q.dir[0] = '#';
	hex_put(q.dir + 1, lent.handle, sizeof lent.handle);
	q.dir[1] ^= 1; /* another digit or none */
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_ERR);
	q.dir[1] ^= 1;
	assert_int_equal(bed_ask_front(BROKER_BUILD, &q, sizeof q), BROKER_OK);
	link_msg_drop(&got);
	assert_true(fake.box.plain);
	msg.nfd = 1;
	msg.fd[0] = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	assert_int_equal(bed_ask(admin, far, BROKER_LEND, NULL, 0), BROKER_ERR);
	assert_int_equal(bed_why(), ERR_INVALID);
	peer_free(admin);
	close(far);
}

static void
pages_are_cut_from_one_list(void **unused)
{
	struct boxes *b = boxes_new();
	struct broker_live page;

	(void)unused;
	for (int i = 0; i < 300; i++) {
		uint8_t id[BROKER_ID] = { (uint8_t)(i % 251), 1,
			(uint8_t)(i / 251) };

		boxes_add(b, id);
	}
	boxes_page(b, 0, &page);
	assert_int_equal(page.total, 300);
	assert_int_equal(page.n, 256);
	boxes_remove(b, boxes_next(b, NULL));
	boxes_page(b, 256, &page);
	assert_int_equal(page.total, 300);
	assert_int_equal(page.n, 44);
	assert_int_equal(page.at[43].id[0], 299 % 251);
	boxes_page(b, 300, &page);
	assert_int_equal(page.n, 0);
	boxes_free(b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, bed_set_up, bed_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_the_table_lacks_ends_the_trust),
		T(listeners_are_given_once),
		T(a_request_without_a_number_is_no_request),
		T(a_sandbox_is_built_used_and_ends),
		T(a_starved_sandbox_is_ended_whole),
		T(no_two_sandboxes_share_id_or_slot),
		T(a_failed_start_leaves_nothing),
		T(every_field_is_checked_again),
		T(mounts_stay_below_what_is_allowed),
		T(a_lent_directory_has_a_name_nobody_guesses),
		T(pages_are_cut_from_one_list),
	};

	return cmocka_run_group_tests_name("broker", tests, NULL, NULL);
}
