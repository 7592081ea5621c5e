#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "manager/broker_call.h"
#include "tests/lib/drive.h"
#include "tests/lib/fakebroker.h"
#include "wire/link.h"

static struct {
	struct loop *loop;
	struct fakebroker *fb;
	struct broker_call *bc;
	int raw; /* the other end, when there is no fake */
} t;

struct heard {
	bool told, failed;
	unsigned n;
	struct err err;
	struct link_msg reply;
};

static void
hear(void *arg, struct link_msg *reply, const struct err *err)
{
	struct heard *h = arg;

	h->told = true;
	h->n++;
	h->failed = reply == NULL;
	if (reply == NULL)
		h->err = *err;
	else
		h->reply = *reply;
}

static void
begin(void)
{
	int fd;

	t.loop = loop_new();
	t.fb = fakebroker_new(t.loop, &fd);
	t.bc = broker_call_new(t.loop, fd);
}

static void
begin_raw(void)
{
	struct err err;
	int fd[2];

	t.loop = loop_new();
	t.fb = NULL;
	assert_int_equal(link_pair(fd, &err), 0);
	t.raw = fd[0];
	t.bc = broker_call_new(t.loop, fd[1]);
}

static void
end(void)
{
	broker_call_free(t.bc);
	if (t.fb != NULL)
		fakebroker_free(t.fb);
	else
		close(t.raw);
	loop_free(t.loop);
}

static const uint8_t some_id[BROKER_ID] = { 1, 2, 3 };

static void
asks_and_hears(void **unused)
{
	struct heard a = { 0 }, b = { 0 };
	struct broker_hello hello;

	(void)unused;
	begin();
	broker_listeners(t.bc, hear, &a);
	broker_stop(t.bc, some_id, hear, &b);
	assert_true(drive_flag(t.loop, &b.told));
	assert_false(a.failed);
	memcpy(&hello, a.reply.body, sizeof hello);
	assert_int_equal(hello.version, BROKER_VERSION);
	assert_int_equal(hello.generation, 1);
	assert_true(b.failed);
	assert_int_equal(b.err.code, ERR_MISSING);
	end();
}

static bool
is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

static void
closes_what_is_not_taken(void **unused)
{
	struct heard a = { 0 };
	struct broker_build q = { .id = { 9 } };

	(void)unused;
	begin();
	broker_build(t.bc, &q, hear, &a);
	assert_true(drive_flag(t.loop, &a.told));
	assert_false(a.failed);
	drive_for(t.loop, 1);
	assert_true(is_closed(a.reply.fd[0]));
	assert_true(is_closed(a.reply.fd[1]));
	end();
}

static void
forgets_when_told_so(void **unused)
{
	struct heard a = { 0 }, b = { 0 };

	(void)unused;
	begin();
	broker_forget(broker_images(t.bc, hear, &a));
	broker_images(t.bc, hear, &b);
	assert_true(drive_flag(t.loop, &b.told));
	assert_false(a.told);
	end();
}

/* The socket takes some two hundred builds; then the queue has its turn. */
static void
queues_to_a_bound(void **unused)
{
	static struct heard h[1200];
	static struct link_msg m;
	struct broker_build q = { .id = { 9 } };
	struct err err;
	unsigned refused = 0, got = 0;

	(void)unused;
	memset(h, 0, sizeof h);
	begin_raw();
	for (size_t i = 0; i < 1200; i++)
		broker_build(t.bc, &q, hear, &h[i]);
	drive_for(t.loop, 5);
	for (size_t i = 0; i < 1200; i++)
		if (h[i].told) {
			assert_int_equal(h[i].err.code, ERR_BUSY);
			refused++;
		}
	assert_in_range(refused, 1, 1200 - 512);
	for (int turn = 0; turn < 1000 && got < 1200 - refused; turn++) {
		while (link_recv(t.raw, &m, &err) == 1) {
			assert_int_equal(m.type, BROKER_BUILD);
			got++;
		}
		drive_for(t.loop, 1);
	}
	assert_int_equal(got, 1200 - refused);
	end();
}

static void
wrong_type(const struct link_msg *m, struct link_msg *r)
{
	(void)m;
	r->type = BROKER_STOP;
}

static void
wrong_size(const struct link_msg *m, struct link_msg *r)
{
	(void)m;
	r->len = 3;
}

static void
wrong_fds(const struct link_msg *m, struct link_msg *r)
{
	(void)m;
	r->nfd = 1;
	r->fd[0] = 0;
}

static void
unknown_word(const struct link_msg *m, struct link_msg *r)
{
	(void)m;
	r->call = 0;
}

static void
left(void *arg, const struct err *why)
{
	*(struct err *)arg = *why;
}

static void
ends_a_link_that_makes_no_sense(void **unused)
{
	static void (*const tries[])(const struct link_msg *,
	    struct link_msg *) = { wrong_type, wrong_size, wrong_fds,
		unknown_word, NULL };
	static struct link_msg m, r;

	(void)unused;
	for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
		struct heard h = { 0 };
		struct err err, why = { 0 };

		begin_raw();
		broker_call_on_gone(t.bc, left, &why);
		broker_stop(t.bc, some_id, hear, &h);
		assert_int_equal(link_recv(t.raw, &m, &err), 1);
		r = (struct link_msg){ .type = BROKER_OK, .call = m.call };
		if (tries[i] != NULL) {
			tries[i](&m, &r);
			assert_int_equal(link_send(t.raw, &r, &err), 0);
		} else {
			close(t.raw);
			t.raw = open("/dev/null", O_RDONLY);
		}
		assert_true(drive_flag(t.loop, &h.told));
		assert_true(h.failed);
		assert_int_equal(h.n, 1);
		assert_int_equal(why.code, h.err.code);
		h.told = false;
		broker_stop(t.bc, some_id, hear, &h);
		assert_true(drive_flag(t.loop, &h.told));
		assert_int_equal(h.n, 2);
		end();
	}
}

static void
on_exited(void *arg, const struct broker_exited *e)
{
	*(struct broker_exited *)arg = *e;
}

static void
on_drain(void *arg)
{
	*(bool *)arg = true;
}

static void
hears_what_the_broker_says_by_itself(void **unused)
{
	struct broker_exited e = { 0 };
	struct broker_build q = { .id = { 7, 7 } };
	struct heard h = { 0 };
	bool drain = false;

	(void)unused;
	begin();
	broker_call_on_exited(t.bc, on_exited, &e);
	broker_call_on_drain(t.bc, on_drain, &drain);
	broker_build(t.bc, &q, hear, &h);
	assert_true(drive_flag(t.loop, &h.told));
	fakebroker_end(t.fb, fakebroker_box(t.fb, 0), BROKER_END_MEMORY, 9);
	fakebroker_drain(t.fb);
	assert_true(drive_flag(t.loop, &drain));
	assert_int_equal(e.end, BROKER_END_MEMORY);
	assert_memory_equal(e.id, q.id, sizeof e.id);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_and_hears),
		cmocka_unit_test(closes_what_is_not_taken),
		cmocka_unit_test(forgets_when_told_so),
		cmocka_unit_test(queues_to_a_bound),
		cmocka_unit_test(ends_a_link_that_makes_no_sense),
		cmocka_unit_test(hears_what_the_broker_says_by_itself),
	};

	return cmocka_run_group_tests_name("broker_call", tests, NULL, NULL);
}
