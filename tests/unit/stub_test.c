#include <jansson.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "base/str.h"
#include "model/post.h"
#include "model/stub.h"

struct answer {
	unsigned status, waited;
	enum stub_word end;
	struct str body;
};

static void
ask(struct answer *a, const char *body)
{
	struct stub *s = stub_new(body, strlen(body));
	unsigned wait;

	*a = (struct answer){ .status = stub_status(s) };
	do {
		a->end = stub_next(s, &a->body, &wait);
		a->waited += wait;
	} while (a->end == STUB_MORE);
	stub_free(s);
}

static char *
request(const char *messages, const char *more)
{
	return xasprintf("{\"model\":\"m\",\"messages\":[%s]%s}", messages,
	    more);
}

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define MODEL(text) ",{\"role\":\"assistant\",\"content\":\"" text "\"},"
#define TOOLS                                                                  \
	",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"           \
	"\"run_shell_command\"}}]"

/* The answer's text when it is asked for whole. */
static char *
whole(const char *messages, const char *more)
{
	auto_free char *body = request(messages, more);
	struct answer a;
	json_t *j;
	char *text;
	const char *content;

	ask(&a, body);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.end, STUB_END);
	j = json_loadb(a.body.at, a.body.len, 0, NULL);
	assert_non_null(j);
	content = json_string_value(
	    json_object_get(json_object_get(json_array_get(json_object_get(j,
							       "choices"),
						0),
				"message"),
		"content"));
	text = xstrdup(content != NULL ? content : "(null)");
	json_decref(j);
	str_free(&a.body);
	return text;
}

static void
says(const char *messages, const char *want)
{
	auto_free char *got = whole(messages, "");

	assert_string_equal(got, want);
}

static void
plain_talk(void **unused)
{
	(void)unused;
	says(USER("hi"), "You said: hi");
	says(USER("What is the capital of France?"),
	    "The capital of France is Paris.");
	says(USER("My name is Alice."), "Nice to meet you, Alice.");
	says(USER("My name is Alice.") MODEL("ok") USER("What is my name?"),
	    "Your name is Alice.");
	says(USER("What is my name?"), "You have not told me.");
	says(USER("one") MODEL("x") USER("what did I say"), "You said: one");
	says(USER("run ls"), "You said: run ls"); /* there is no such tool */
	says("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
	     "\"in parts\"}]}",
	    "You said: in parts");
}

static void
tools_are_called_and_their_word_is_repeated(void **unused)
{
	auto_free char *body =
	    request(USER("run echo hi"), TOOLS ",\"stream\":true");
	auto_free char *said = NULL;
	struct answer a;

	(void)unused;
	ask(&a, body);
	assert_non_null(strstr(str_text(&a.body), "\"reasoning_content\""));
	assert_non_null(
	    strstr(str_text(&a.body), "\"name\":\"run_shell_command\""));
	assert_non_null(
	    strstr(str_text(&a.body), "\"finish_reason\":\"tool_calls\""));
	str_free(&a.body);
	said =
	    whole(USER("run echo hi") ",{\"role\":\"assistant\",\"content\":"
				      "null},"
				      "{\"role\":\"tool\",\"content\":\"hi\"}",
		TOOLS);
	assert_string_equal(said, "It printed:\nhi");
}

static void
a_script_goes_step_by_step(void **unused)
{
	static const char first[] = USER(
	    "script: say one ;; call f {\\\"a\\\": 1} ;; call g ;; then ;; "
	    "say two, $out, $step");
	auto_free char *body = request(first, ",\"stream\":true");
	auto_free char *second =
	    whole(USER("script: say one ;; then ;; say two, $out, $step")
		      MODEL("one") "{\"role\":\"tool\",\"content\":\"7\"}",
		"");
	struct answer a;

	(void)unused;
	assert_string_equal(second, "two, 7, 1");
	ask(&a, body);
	assert_non_null(strstr(str_text(&a.body), "\"content\":\"one\""));
	assert_non_null(strstr(str_text(&a.body), "\"name\":\"f\""));
	assert_non_null(strstr(str_text(&a.body), "\"name\":\"g\""));
	assert_null(strstr(str_text(&a.body), "two"));
	assert_non_null(strstr(str_text(&a.body), "data: [DONE]\n\n"));
	str_free(&a.body);
}

static void
failures_have_a_status_or_an_end(void **unused)
{
	static const struct {
		const char *text;
		unsigned status;
		enum stub_word end;
	} rows[] = {
		{ USER("script: fail 429 slow down"), 429, STUB_END },
		{ USER("script: wait 5 ;; fail 500"), 500, STUB_END },
		{ USER("script: say some ;; cut"), 200, STUB_CUT },
		{ "7", 200, STUB_END },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		auto_free char *body = request(rows[i].text, "");
		struct answer a;

		ask(&a, body);
		assert_int_equal(a.status, rows[i].status);
		assert_int_equal(a.end, rows[i].end);
		str_free(&a.body);
	}
	for (int i = 0; i < 3; i++) {
		auto_free char *body =
		    request(USER("script: flaky 2 503 ;; say done"), "");
		struct answer a;

		ask(&a, body);
		assert_int_equal(a.status, i < 2 ? 503 : 200);
		str_free(&a.body);
	}
}

static void
what_makes_no_sense_is_a_400(void **unused)
{
	static const char *const rows[] = { "", "nonsense", "[]", "{}",
		"{\"messages\":7}", "{\"messages\":[" };

	(void)unused;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct answer a;

		ask(&a, rows[i]);
		assert_int_equal(a.status, 400);
		str_free(&a.body);
	}
}

static void
counting_takes_its_time(void **unused)
{
	auto_free char *body = request(USER("count to 5"), ",\"stream\":true");
	struct answer a;

	(void)unused;
	ask(&a, body);
	assert_in_range(a.waited, 500, 600);
	str_free(&a.body);
}

/* ---- addresses ---- */

static bool
is_public(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		return post_is_public(&in);
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return post_is_public(&in6);
}

static void
what_is_the_internet(void **unused)
{
	static const char *const yes[] = { "1.1.1.1", "8.8.8.8", "100.63.0.1",
		"100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1",
		"223.255.255.255", "2606:4700::1111", "2a00::1",
		"::ffff:8.8.8.8" };
	static const char *const no[] = { "0.0.0.0", "10.1.2.3", "100.64.0.1",
		"100.127.255.255", "127.0.0.1", "127.9.9.9", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1",
		"192.168.1.1", "198.18.0.1", "198.19.255.255", "224.0.0.1",
		"240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1",
		"fc00::1", "fd12::1", "ff02::1", "2001::1", "2001:db8::1",
		"2002:7f00:1::", "64:ff9b::7f00:1", "::ffff:127.0.0.1",
		"::ffff:10.0.0.1", "::127.0.0.1", "3fff::1" };

	(void)unused;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!is_public(yes[i]))
			fail_msg("%s is public", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (is_public(no[i]))
			fail_msg("%s is not public", no[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_talk),
		cmocka_unit_test(tools_are_called_and_their_word_is_repeated),
		cmocka_unit_test(a_script_goes_step_by_step),
		cmocka_unit_test(failures_have_a_status_or_an_end),
		cmocka_unit_test(what_makes_no_sense_is_a_400),
		cmocka_unit_test(counting_takes_its_time),
		cmocka_unit_test(what_is_the_internet),
	};

	return cmocka_run_group_tests_name("stub", tests, NULL, NULL);
}
