/* Spans: whose child they are, and what the collector is sent. */
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "engine/model_client.h"
#include "engine/trace.h"
#include "tests/lib/drive.h"
#include "wire/frame.h"
#include "wire/model.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static struct {
	struct loop *loop;
	struct model_client *models;
	struct tracer *tracer;
	int fd;
} w;

static int
begin(void **unused)
{
	int fd[2];

	(void)unused;
	w.loop = loop_new();
	w.models = model_client_new(w.loop, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) < 0)
		return -1;
	model_client_attach(w.models, fd[0]);
	w.fd = fd[1];
	w.tracer = tracer_new(w.loop, w.models, "a \"test\"");
	return 0;
}

static int
end(void **unused)
{
	(void)unused;
	tracer_free(w.tracer);
	model_client_free(w.models);
	close(w.fd);
	loop_free(w.loop);
	return 0;
}

static void
a_caller_is_followed_if_it_makes_sense(void **unused)
{
	static const struct {
		const char *parent;
		bool same, none;
	} rows[] = {
		{ "00-" TRACE "-" PARENT "-01", true, false },
		{ "00-" TRACE "-" PARENT "-03", true, false },
		{ "00-" TRACE "-" PARENT "-00", false, true },
		{ "cc-" TRACE "-" PARENT "-01-more", true, false },
		{ NULL, false, false },
		{ "", false, false },
		{ "00-" TRACE "-" PARENT "-01-more", false, false },
		{ "ff-" TRACE "-" PARENT "-01", false, false },
		{ "00-" TRACE "-" PARENT, false, false },
		{ "00-4BF92F3577b34da6a3ce929d0e0e4736-" PARENT "-01", false,
		    false },
		{ "00-00000000000000000000000000000000-" PARENT "-01", false,
		    false },
		{ "00-" TRACE "-0000000000000000-01", false, false },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct span *s =
		    span_begin(w.tracer, rows[i].parent, SPAN_SERVER, "x");
		const char *mine = span_traceparent(s);

		if ((s == NULL) != rows[i].none ||
		    (s != NULL &&
			(strstr(mine, TRACE) != NULL) != rows[i].same))
			fail_msg("row %zu: %s", i, mine);
		if (s != NULL) {
			assert_int_equal(strlen(mine), TRACEPARENT - 1);
			assert_null(strstr(mine, PARENT));
		}
		span_end(s);
	}
	/* Nothing is traced: the same calls do nothing. */
	assert_null(span_begin(NULL, NULL, SPAN_CLIENT, "x"));
	span_text(NULL, "a", "b");
	span_fail(NULL, "a", "b");
	span_end(NULL);
}

static bool
came(void *arg)
{
	struct str *all = arg;
	char bytes[4096];
	ssize_t n = recv(w.fd, bytes, sizeof bytes, 0);

	if (n > 0)
		str_add(all, bytes, (size_t)n);
	return all->len > 2 * (FRAME_HEAD + sizeof(struct model_frame)) +
	    sizeof(struct model_ask);
}

static void
the_collector_is_sent_json(void **unused)
{
	struct span *s = span_begin(w.tracer, "00-" TRACE "-" PARENT "-01",
	    SPAN_CLIENT, "chat \"m\"");
	auto_str struct str all = { 0 };
	const json_t *spans, *one;
	const char *body;
	json_t *j;

	(void)unused;
	span_text(s, "k", "v\n");
	span_text(s, "none", NULL);
	span_number(s, "n", -5);
	span_fail(s, "MODEL_TIMEOUT", "too \"late\"");
	span_end(s);
	assert_true(drive(w.loop, came, &all, 5000));
	body = memmem(all.at, all.len, "{\"resourceSpans", 15);
	assert_non_null(body);
	j = json_loadb(body, (size_t)(all.at + all.len - body), 0, NULL);
	assert_non_null(j);
	one = json_array_get(json_object_get(j, "resourceSpans"), 0);
	spans =
	    json_object_get(json_array_get(json_object_get(one, "scopeSpans"),
				0),
		"spans");
	assert_int_equal(json_array_size(spans), 1);
	one = json_array_get(spans, 0);
	assert_string_equal(json_string_value(json_object_get(one, "name")),
	    "chat \"m\"");
	assert_string_equal(json_string_value(json_object_get(one, "traceId")),
	    TRACE);
	assert_string_equal(json_string_value(
				json_object_get(one, "parentSpanId")),
	    PARENT);
	assert_int_equal(json_array_size(json_object_get(one, "attributes")),
	    3);
	assert_int_equal(json_integer_value(
			     json_object_get(json_object_get(one, "status"),
				 "code")),
	    2);
	json_decref(j);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_caller_is_followed_if_it_makes_sense),
		TEST(the_collector_is_sent_json),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
