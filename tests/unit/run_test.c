/* Whatever a source says, what is told of it is in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/feed.h"
#include "engine/reply.h"
#include "engine/run.h"
#include "tests/unit/engine_fixture.h"

/* ---- a reply that writes events short, for tests ---- */

struct told {
	struct reply reply;
	struct str text;
};

static void
tell(struct reply *reply, const struct event *ev, struct feed *feed)
{
	static const char *const kinds[] = { "created", "started", "message",
		"delta", "value", "part", "done", "end" };
	struct told *t = (struct told *)reply;
	struct str *s = &t->text;

	(void)feed;
	str_printf(s, "%llu %s", (unsigned long long)ev->seq, kinds[ev->kind]);
	if (ev->message != NULL)
		str_printf(s, " %u:%s", ev->message->number, ev->message->type);
	if (ev->part != NULL)
		str_printf(s, " %u:%s", ev->part->index,
		    part_kinds[ev->part->type].name);
	if (ev->text.at != NULL && ev->text.len > 0)
		str_printf(s, " +%.*s", (int)ev->text.len, ev->text.at);
	if (ev->kind == EV_PART_END)
		str_printf(s, " =%s%s", str_text(&ev->part->field[0]),
		    ev->part->completed ? "" : " cut");
	if (ev->kind == EV_MESSAGE_END)
		str_printf(s, " %s", run_status_name(ev->message->status));
	if (ev->kind == EV_END)
		str_printf(s, " %s %zu %s %s", run_status_name(ev->status),
		    ev->noutput, ev->usage != NULL ? ev->usage : "-",
		    ev->code != NULL ? ev->code : "-");
	str_putc(s, '\n');
}

static void
drop(struct reply *reply)
{
	str_free(&((struct told *)reply)->text);
}

static const struct reply_kind reply_told = { .name = "told",
	.size = sizeof(struct told),
	.event = tell,
	.drop = drop };

static const char *
story(const struct bench *b)
{
	return str_text(&((const struct told *)run_reply(b->run))->text);
}

#define BEGUN "0 created\n1 started\n"

static void
says(const char *const *lines, const char *want)
{
	struct bench b;

	bench_open(&b, &reply_told);
	for (; *lines != NULL; lines++)
		bench_say(&b, *lines);
	assert_string_equal(story(&b), want);
	bench_close(&b);
}

#define LINES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
a_message_has_so_many_parts(void **unused)
{
	struct bench b;
	char line[120];

	(void)unused;
	bench_open(&b, &reply_told);
	for (int i = 0; i <= 4096; i++) {
		assert_false(run_over(b.run));
		snprintf(line, sizeof line,
		    "\"object\":\"content\",\"msg_id\":\"x\",\"index\":%d,"
		    "\"text\":\"a\"",
		    i);
		bench_say(&b, line);
	}
	assert_int_equal(run_status(b.run), RUN_FAILED);
	bench_close(&b);
}

static void
messages_are_announced(void **unused)
{
	(void)unused;
	says(LINES("\"object\":\"content\",\"msg_id\":\"x\",\"delta\":true,"
		   "\"text\":\"a\"",
		 "\"object\":\"content\",\"msg_id\":\"y\",\"delta\":true,"
		 "\"text\":\"b\"",
		 "\"object\":\"content\",\"msg_id\":\"x\",\"delta\":true,"
		 "\"text\":\"c\"",
		 "\"op\":\"end\""),
	    BEGUN "2 message 0:message\n3 delta 0:message 0:text +a\n"
		  "4 message 1:message\n5 delta 1:message 0:text +b\n"
		  "6 delta 0:message 0:text +c\n"
		  "7 part 0:message 0:text =ac\n8 done 0:message completed\n"
		  "9 part 1:message 0:text =b\n10 done 1:message completed\n"
		  "11 end completed 2 - -\n");
	/* Nothing is no message. */
	says(LINES("\"text\":\"\"", "\"op\":\"end\""),
	    BEGUN "2 end completed 0 - -\n");
}

static void
text_goes_to_the_open_message(void **unused)
{
	(void)unused;
	says(LINES("\"object\":\"message\",\"id\":\"r\",\"type\":\"reasoning\"",
		 "\"object\":\"content\",\"msg_id\":\"r\",\"delta\":true,"
		 "\"text\":\"hm\"",
		 "\"object\":\"message\",\"id\":\"m\"", "\"text\":\"a\"",
		 "\"object\":\"message\",\"id\":\"r\",\"status\":\"completed\"",
		 "\"text\":\"b\"",
		 "\"object\":\"message\",\"id\":\"m\",\"status\":\"completed\"",
		 "\"text\":\"c\""),
	    BEGUN "2 message 0:reasoning\n3 delta 0:reasoning 0:text +hm\n"
		  "4 message 1:message\n5 delta 1:message 0:text +a\n"
		  "6 part 0:reasoning 0:text =hm\n"
		  "7 done 0:reasoning completed\n"
		  "8 delta 1:message 0:text +b\n"
		  "9 part 1:message 0:text =ab\n10 done 1:message completed\n"
		  "11 message 2:message\n12 delta 2:message 0:text +c\n");
}

static void
values_that_go_on_are_told_as_deltas_too(void **unused)
{
	(void)unused;
	says(LINES("\"object\":\"content\",\"msg_id\":\"m\",\"text\":\"ab\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"text\":\"abc\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"delta\":true,"
		 "\"text\":\"d\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"text\":\"abcdef\","
		 "\"status\":\"completed\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"text\":\"x\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"text\":\"other\","
		 "\"status\":\"completed\""),
	    BEGUN "2 message 0:message\n3 value 0:message 0:text +ab\n"
		  "4 value 0:message 0:text +c\n5 delta 0:message 0:text +d\n"
		  "6 part 0:message 0:text +ef =abcdef\n"
		  "7 value 0:message 1:text +x\n"
		  "8 part 0:message 1:text =other\n");
}

static void
places_are_ours(void **unused)
{
	(void)unused;
	/* Its own numbers have gaps; parts of two types may share one. */
	says(LINES("\"object\":\"content\",\"msg_id\":\"m\",\"index\":5,"
		   "\"delta\":true,\"text\":\"a\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"index\":2,"
		 "\"delta\":true,\"text\":\"b\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"index\":2,"
		 "\"type\":\"refusal\",\"delta\":true,\"refusal\":\"c\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"index\":5,"
		 "\"delta\":true,\"text\":\"d\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"index\":5,"
		 "\"status\":\"completed\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"index\":5,"
		 "\"delta\":true,\"text\":\"ignored\"",
		 "\"object\":\"content\",\"msg_id\":\"m\",\"index\":9,"
		 "\"status\":\"completed\""),
	    BEGUN "2 message 0:message\n3 delta 0:message 0:text +a\n"
		  "4 delta 0:message 1:text +b\n"
		  "5 delta 0:message 2:refusal +c\n"
		  "6 delta 0:message 0:text +d\n"
		  "7 part 0:message 0:text =ad\n");
}

static void
ends_said_twice(void **unused)
{
	(void)unused;
	says(LINES("\"object\":\"message\",\"id\":\"m\",\"status\":"
		   "\"completed\"",
		 "\"object\":\"message\",\"id\":\"m\",\"status\":\"completed\"",
		 "\"op\":\"end\",\"status\":\"incomplete\"",
		 "\"text\":\"after\"", "\"op\":\"end\"",
		 "\"op\":\"usage\",\"usage\":{}"),
	    BEGUN "2 message 0:message\n3 done 0:message completed\n"
		  "4 end incomplete 1 - -\n");
}

static void
usage_is_added_up(void **unused)
{
	(void)unused;
	says(LINES("\"object\":\"message\",\"status\":\"completed\",\"usage\":"
		   "{\"input_tokens\":5,\"d\":{\"x\":1},\"m\":\"a\"}",
		 "\"object\":\"message\",\"status\":\"completed\"",
		 "\"object\":\"message\",\"status\":\"completed\",\"usage\":"
		 "{\"input_tokens\":2,\"output_tokens\":1.5,\"d\":{\"x\":2},"
		 "\"m\":\"b\"}",
		 "\"op\":\"end\""),
	    BEGUN "2 message 0:message\n3 done 0:message completed\n"
		  "4 message 1:message\n5 done 1:message completed\n"
		  "6 message 2:message\n7 done 2:message completed\n"
		  "8 end completed 3 {\"input_tokens\":7,\"d\":{\"x\":3},"
		  "\"m\":\"b\",\"output_tokens\":1.5} -\n");
	says(LINES("\"object\":\"message\",\"status\":\"completed\",\"usage\":"
		   "{\"input_tokens\":5}",
		 "\"op\":\"usage\",\"usage\":{\"input_tokens\":6}",
		 "\"op\":\"end\""),
	    BEGUN "2 message 0:message\n3 done 0:message completed\n"
		  "4 end completed 1 {\"input_tokens\":6} -\n");
}

static void
lines_of_the_wrong_kind_change_nothing(void **unused)
{
	static const char *const bad[] = {
		"\"op\":\"what\"",
		"\"object\":\"response\"",
		"\"x\":1",
		"\"text\":5",
		"\"object\":\"message\",\"type\":\"a\\\"b\"",
		"\"object\":\"message\",\"type\":\"\"",
		"\"object\":\"message\",\"role\":\"developer_of_agents\"",
		"\"object\":\"message\",\"status\":\"done\"",
		"\"object\":\"message\",\"usage\":[]",
		"\"object\":\"message\",\"id\":7",
		"\"object\":\"content\",\"type\":\"hologram\",\"text\":\"a\"",
		"\"object\":\"content\",\"type\":\"data\",\"data\":\"a\"",
		"\"object\":\"content\",\"type\":\"image\",\"image_url\":{}",
		"\"object\":\"content\",\"index\":-1,\"text\":\"a\"",
		"\"object\":\"content\",\"index\":\"0\",\"text\":\"a\"",
		"\"object\":\"content\",\"delta\":\"yes\",\"text\":\"a\"",
		"\"op\":\"usage\",\"usage\":5",
		"\"op\":\"end\",\"status\":\"in_progress\"",
		"\"op\":\"end\",\"status\":\"failed\",\"error\":\"boom\"",
	};
	struct bench b;

	(void)unused;
	bench_open(&b, &reply_told);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!bench_refuses(&b, bad[i]))
			fail_msg("taken: %s", bad[i]);
	assert_string_equal(story(&b), BEGUN);
	bench_close(&b);
}

static void
too_much_ends_it(void **unused)
{
	struct bench b = { 0 };
	auto_free char *text = xcalloc(1000, 1);

	(void)unused;
	memset(text, 'x', 1000);
	b.run = run_new(&(struct run_conf){ .reply = &reply_told,
	    .most = 10000,
	    .agent = "a" });
	run_start(b.run, &bench_source, &b);
	for (int i = 0; i < 20; i++)
		run_text(b.run, (struct slice){ text, 1000 });
	assert_int_equal(run_status(b.run), RUN_FAILED);
	assert_string_equal(run_code(b.run), "RESPONSE_ERROR");
	assert_int_equal(b.cancels, 1);
	run_drop(b.run);

	/* Empty messages count as well, and how many are open. */
	b = (struct bench){ 0 };
	b.run = run_new(&(struct run_conf){ .reply = &reply_told });
	run_start(b.run, &bench_source, &b);
	for (int i = 0; i < 300 && !run_over(b.run); i++) {
		char id[16];
		int n = snprintf(id, sizeof id, "%d", i);

		run_message(b.run,
		    &(struct run_message){ .label = { id, (size_t)n },
			.status = RUN_IN_PROGRESS });
	}
	assert_int_equal(run_status(b.run), RUN_FAILED);
	run_drop(b.run);
}

static void
more(void *unused)
{
	(void)unused;
}

static void
a_slow_reader_pauses_the_source(void **unused)
{
	struct bench b = { 0 };
	const struct feed_reader_ops ops = { more, NULL };
	struct feed_reader *reader;
	const char *at;

	(void)unused;
	b.run = run_new(&(struct run_conf){ .reply = &reply_native,
	    .stream = true,
	    .high = 4096 });
	run_start(b.run, &bench_source, &b);
	for (int i = 0; i < 50; i++)
		run_text(b.run, (struct slice){ "0123456789", 10 });
	assert_true(b.paused);
	assert_int_equal(b.pauses, 1);
	reader = feed_read(run_feed(b.run), -1, &ops);
	while (feed_next(reader, &at, 1024) > 0)
		;
	assert_false(b.paused);
	assert_int_equal(b.pauses, 2);
	/* Not after its end. */
	run_end(b.run, RUN_COMPLETED, NULL, NULL);
	feed_leave(reader);
	assert_int_equal(b.pauses, 2);
	run_drop(b.run);
}

static void
names_are_made(void **unused)
{
	struct run *a = run_new(&(struct run_conf){ 0 });
	struct run *b = run_new(&(struct run_conf){ .id = "",
	    .session_id = "",
	    .user_id = "u",
	    .model = "m" });
	const struct run_facts *f = run_facts(a), *g = run_facts(b);

	(void)unused;
	assert_int_equal(strlen(f->id), 9 + 36);
	assert_memory_equal(f->id, "response_", 9);
	assert_int_equal(strlen(f->session_id), 36);
	assert_string_equal(f->user_id, f->session_id);
	assert_string_not_equal(f->id, g->id);
	assert_string_equal(g->user_id, "u");
	assert_string_equal(g->model, "m");
	assert_string_equal(f->model, "");
	assert_true(f->created_at > 1700000000);
	/* Stopped before it began: still a whole stream. */
	run_stop(a, RUN_CANCELED, NULL, NULL);
	assert_int_equal(run_status(a), RUN_CANCELED);
	run_drop(a);
	run_drop(b);
	run_drop(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_has_so_many_parts),
		cmocka_unit_test(messages_are_announced),
		cmocka_unit_test(text_goes_to_the_open_message),
		cmocka_unit_test(values_that_go_on_are_told_as_deltas_too),
		cmocka_unit_test(places_are_ours),
		cmocka_unit_test(ends_said_twice),
		cmocka_unit_test(usage_is_added_up),
		cmocka_unit_test(lines_of_the_wrong_kind_change_nothing),
		cmocka_unit_test(too_much_ends_it),
		cmocka_unit_test(a_slow_reader_pauses_the_source),
		cmocka_unit_test(names_are_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
