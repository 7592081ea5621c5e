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
#include "daemon/job.h"
#include "wire/loop.h"

struct import {
	struct job *job;
	int far, tar, lines;
	int staging, layers;
};

static struct import
import(const char *name)
{
	struct broker_name q = { { 0 } };
	struct import i;

	strcpy(q.name, name);
	assert_int_equal(bed_ask_front(BROKER_IMPORT, &q, sizeof q), BROKER_OK);
	assert_int_equal(got.nfd, 2);
	i.tar = got.fd[0];
	i.lines = got.fd[1];
	i.job = TAILQ_LAST(&t.b.jobs, jobs);
	i.far = fake.fd[0];
	fcntl(i.far, F_SETFL, O_NONBLOCK);
	close(fake.fd[1]);
	close(fake.fd[2]);
	i.staging = i.layers = -1;
	return i;
}

static void
store(struct import *i)
{
	struct broker_job job;

	assert_int_equal(bed_ask(i->job->peer, i->far, BROKER_STORE, NULL, 0),
	    BROKER_OK);
	assert_int_equal(got.nfd, 2);
	memcpy(&job, got.body, sizeof job);
	assert_string_equal(job.name, i->job->name);
	i->staging = got.fd[0];
	i->layers = got.fd[1];
}

static void
import_end(struct import *i)
{
	job_kill(i->job);
	loop_turn(t.b.loop);
	close(i->far);
	close(i->tar);
	close(i->lines);
	close(i->staging);
	close(i->layers);
}

static int
ask_fetch(struct import *i, uint16_t type, const void *body, size_t n)
{
	return bed_ask(i->job->peer, i->far, type, body, n);
}

static int
put_record(struct import *i, const char *name, uint8_t layer)
{
	struct broker_record q = { .nlayer = 1, .layer = { { layer } } };
	struct err err;

	strcpy(q.name, name);
	assert_int_equal(file_replace_at(i->staging, "record.json", "{}", 2,
			     0600, &err),
	    0);
	return ask_fetch(i, BROKER_RECORD, &q, sizeof q);
}

static void
stage_layer(struct import *i, uint8_t first)
{
	uint8_t digest[BROKER_DIGEST] = { first };
	char name[80] = "layer-";

	hex_put(name + 6, digest, sizeof digest);
	assert_int_equal(mkdirat(i->staging, name, 0755), 0);
}

static int
layers_count(void)
{
	int n = 0;

	for (int i = 0; i < 256; i++) {
		uint8_t digest[BROKER_DIGEST] = { (uint8_t)i };
		struct err err;
		auto_fd int fd = images_layer(t.b.images, digest, &err);

		n += fd >= 0;
	}
	return n;
}

static void
need_root(void)
{
	if (geteuid() != 0)
		skip(); /* owners are given away */
}

static void
an_import_becomes_an_image(void **unused)
{
	struct broker_layer layer = { { 7 } };
	struct broker_name name = { "repo/img:1" };
	struct import i;

	(void)unused;
	need_root();
	i = import("repo/img:1");
	store(&i);
	assert_int_equal(ask_fetch(&i, BROKER_STORE, NULL, 0), -1);
	assert_int_equal(ask_fetch(&i, BROKER_COMMIT, &layer, sizeof layer),
	    BROKER_ERR); /* not there yet */
	stage_layer(&i, 7);
	assert_int_equal(ask_fetch(&i, BROKER_COMMIT, &layer, sizeof layer),
	    BROKER_OK);
	stage_layer(&i, 7); /* somebody else was first */
	assert_int_equal(ask_fetch(&i, BROKER_COMMIT, &layer, sizeof layer),
	    BROKER_OK);
	assert_int_equal(put_record(&i, "repo/img:1", 7), BROKER_OK);
	import_end(&i);
	assert_non_null(images_find(t.b.images, "repo/img:1"));
	assert_int_equal(layers_count(), 1);
	assert_int_equal(bed_ask_front(BROKER_IMAGES, NULL, 0), BROKER_OK);
	assert_int_equal(got.nfd, 1);
	link_msg_drop(&got);
	assert_int_equal(bed_ask_front(BROKER_IMAGE_RM, &name, sizeof name),
	    BROKER_OK);
	assert_int_equal(layers_count(), 0);
	assert_int_equal(bed_ask_front(BROKER_IMAGE_RM, &name, sizeof name),
	    BROKER_ERR);
	assert_int_equal(bed_why(), ERR_MISSING);
}

static void
an_import_that_dies_leaves_nothing(void **unused)
{
	struct broker_layer layer = { { 7 } };
	struct import i;

	(void)unused;
	need_root();
	i = import("a");
	store(&i);
	stage_layer(&i, 7);
	assert_int_equal(ask_fetch(&i, BROKER_COMMIT, &layer, sizeof layer),
	    BROKER_OK);
	assert_int_equal(layers_count(), 1);
	import_end(&i);
	assert_int_equal(layers_count(), 0);
	assert_null(images_find(t.b.images, "a"));
	assert_true(TAILQ_EMPTY(&t.b.jobs));
}

static void
a_record_is_of_its_import_and_stands_on_layers(void **unused)
{
	struct import i;

	(void)unused;
	need_root();
	i = import("a");
	store(&i);
	assert_int_equal(put_record(&i, "b", 7), BROKER_ERR);
	assert_int_equal(bed_why(), ERR_DENIED);
	import_end(&i);
	i = import("a");
	store(&i);
	assert_int_equal(put_record(&i, "a", 7), BROKER_ERR);
	assert_int_equal(bed_why(), ERR_MISSING);
	import_end(&i);
	i = import("a");
	store(&i);
	bed_layer_on_disk(7);
	assert_int_equal(symlinkat("/etc/passwd", i.staging, "record.json"), 0);
	{
		struct broker_record q = { .name = "a",
			.nlayer = 1,
			.layer = { { 7 } } };

		assert_int_equal(ask_fetch(&i, BROKER_RECORD, &q, sizeof q),
		    BROKER_ERR);
	}
	import_end(&i);
}

static void
a_layer_must_be_a_directory(void **unused)
{
	uint8_t digest[BROKER_DIGEST] = { 7 };
	struct broker_layer layer = { { 7 } };
	char name[80] = "layer-";
	struct import i;

	(void)unused;
	need_root();
	i = import("a");
	store(&i);
	hex_put(name + 6, digest, sizeof digest);
	assert_int_equal(symlinkat("/etc", i.staging, name), 0);
	assert_int_equal(ask_fetch(&i, BROKER_COMMIT, &layer, sizeof layer),
	    BROKER_ERR);
	assert_int_equal(bed_why(), ERR_DENIED);
	assert_int_equal(layers_count(), 0);
	import_end(&i);
}

static void
two_imports_of_one_name_go_one_after_the_other(void **unused)
{
	struct import a, b, c;
	struct err err;

	(void)unused;
	need_root();
	a = import("same");
	b = import("same");
	c = import("other");
	store(&a);
	msg.type = BROKER_STORE;
	msg.call = 3;
	msg.len = msg.nfd = 0;
	assert_int_equal(broker_serve(&t.b, b.job->peer, &msg, &err), 0);
	assert_int_equal(link_recv(b.far, &got, &err), -1); /* not yet */
	store(&c);
	import_end(&c);
	import_end(&a);
	assert_int_equal(link_recv(b.far, &got, &err), 1);
	assert_int_equal(got.type, BROKER_OK);
	assert_int_equal(got.call, 3);
	b.staging = got.fd[0];
	b.layers = got.fd[1];
	import_end(&b);
}

static void
layers_in_use_outlive_their_image(void **unused)
{
	struct broker_name name = { "a" };
	struct broker_id id = { { 1 } };
	struct import i;

	(void)unused;
	need_root();
	bed_layer_on_disk(5);
	i = import("a");
	store(&i);
	assert_int_equal(put_record(&i, "a", 5), BROKER_OK);
	import_end(&i);
	bed_build(1);
	assert_int_equal(bed_ask_front(BROKER_IMAGE_RM, &name, sizeof name),
	    BROKER_OK);
	assert_int_equal(layers_count(), 1);
	assert_int_equal(bed_ask_front(BROKER_STOP, &id, sizeof id), BROKER_OK);
	loop_turn(t.b.loop);
	broker_collect(&t.b);
	assert_int_equal(layers_count(), 0);
}

static void
jobs_are_bounded_and_named_well(void **unused)
{
	struct broker_name bad[] = { { "" }, { "a b" }, { "../x" }, { "-x" },
		{ "a\n" } };
	struct broker_name q = { "n" };
	struct import i[JOBS_MOST];

	(void)unused;
	need_root();
	for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
		assert_int_equal(bed_ask_front(BROKER_IMPORT, &bad[n],
				     sizeof bad[n]),
		    BROKER_ERR);
		assert_int_equal(bed_why(), ERR_INVALID);
	}
	memset(bad[0].name, 'a', sizeof bad[0].name);
	assert_int_equal(bed_ask_front(BROKER_IMPORT, &bad[0], sizeof bad[0]),
	    BROKER_ERR);
	for (int n = 0; n < JOBS_MOST; n++)
		i[n] = import("n");
	assert_int_equal(bed_ask_front(BROKER_IMPORT, &q, sizeof q),
	    BROKER_ERR);
	assert_int_equal(bed_why(), ERR_BUSY);
	for (int n = 0; n < JOBS_MOST; n++)
		import_end(&i[n]);
	assert_int_equal(bed_ask_front(BROKER_EXPORT, &q, sizeof q),
	    BROKER_ERR);
	assert_int_equal(bed_why(), ERR_MISSING);
}

static void
what_is_half_there_is_thrown_away(void **unused)
{
	const struct images_dirs dirs = { t.b.state.layers, t.b.state.images,
		t.b.state.trash, 0 };
	static const char hex[] = "00000000000000000000000000000000"
				  "00000000000000000000000000000000.json";
	struct images *again;
	struct import i;
	struct err err;

	(void)unused;
	need_root();
	bed_layer_on_disk(5);
	i = import("a");
	store(&i);
	assert_int_equal(put_record(&i, "a", 5), BROKER_OK);
	import_end(&i);
	assert_int_equal(file_replace_at(t.b.state.images, hex, "{}", 2, 0644,
			     &err),
	    0);
	again = images_open(&dirs, &err);
	assert_non_null(again);
	assert_non_null(images_find(again, "a"));
	assert_int_equal(faccessat(t.b.state.images, hex, F_OK, 0), -1);
	images_free(again);
}

#define T(f) cmocka_unit_test_setup_teardown(f, bed_set_up, bed_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_import_becomes_an_image),
		T(an_import_that_dies_leaves_nothing),
		T(a_record_is_of_its_import_and_stands_on_layers),
		T(a_layer_must_be_a_directory),
		T(two_imports_of_one_name_go_one_after_the_other),
		T(layers_in_use_outlive_their_image),
		T(jobs_are_bounded_and_named_well),
		T(what_is_half_there_is_thrown_away),
	};

	return cmocka_run_group_tests_name("imports", tests, NULL, NULL);
}
