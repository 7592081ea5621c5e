/* What an agent is made of, without a sandbox: options, code, its log. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/err.h"
#include "base/str.h"
#include "conf/conf.h"
#include "engine/ask_native.h"
#include "engine/code.h"
#include "engine/invalid.h"
#include "engine/ring.h"
#include "engine/spec.h"
#include "json/jtext.h"

static struct config *conf;
static char folder[] = "/tmp/hutch-code-XXXXXX";
static int dir = -1;

static json_t *
json(const char *text)
{
	struct err err;
	json_t *v = jtext_read(text, strlen(text), NULL, &err);

	if (v == NULL)
		fail_msg("%s: %s", text, err.text);
	return v;
}

/* ---- options ---- */

static void
options_have_defaults_and_bounds(void **unused)
{
	struct err err;
	struct spec *s;

	(void)unused;
	s = spec_read("mine", json("{}"), conf, &err);
	assert_non_null(s);
	assert_string_equal(s->title, ""); /* what the code says */
	assert_string_equal(s->path, "");
	assert_string_equal(s->type, "app");
	assert_int_equal(s->processes, 1);
	assert_int_equal(s->max_runs, conf->agent_runs);
	assert_int_equal(s->run_timeout, conf->run_timeout);
	spec_free(s);
	s = spec_read("mine",
	    json("{\"env\":{\"A\":\"b=c\"},\"command\":[\"node\",\"x.js\"],"
		 "\"processes\":3,\"path\":\"/ask\",\"title\":null}"),
	    conf, &err);
	assert_non_null(s);
	assert_string_equal(s->env[0], "A=b=c");
	assert_null(s->env[1]);
	assert_string_equal(s->command[1], "x.js");
	assert_int_equal(s->processes, 3);
	assert_string_equal(s->title, "");
	assert_string_equal(s->path, "/ask");
	spec_free(s);
}

static void
options_that_are_wrong_are_named(void **unused)
{
	static const struct {
		const char *name, *text, *want;
	} cases[] = {
		{ "No", "{}", "name" },
		{ "", "{}", "name" },
		{ "-a", "{}", "name" },
		{ "0123456789012345678901234567890123", "{}", "name" },
		{ "a", "[]", "object" },
		{ "a", "{\"colour\":1}", "colour" },
		{ "a", "{\"processes\":0}", "processes" },
		{ "a", "{\"processes\":\"2\"}", "processes" },
		{ "a", "{\"processes\":17}", "agent_processes" },
		{ "a", "{\"path\":\"ask\"}", "path" },
		{ "a", "{\"path\":\"/\"}", "path" },
		{ "a", "{\"entry\":\"../x.py\"}", "entry" },
		{ "a", "{\"entry\":\"/x.py\"}", "entry" },
		{ "a", "{\"env\":[]}", "env" },
		{ "a", "{\"env\":{\"A=B\":\"c\"}}", "A=B" },
		{ "a", "{\"env\":{\"A\":1}}", "env" },
		{ "a", "{\"command\":[]}", "command" },
		{ "a", "{\"command\":[1]}", "command" },
		{ "a", "{\"net\":\"all\"}", "none nat" },
		{ "a", "{\"on_disconnect\":\"stay\"}", "cancel continue" },
		{ "a", "{\"options\":1}", "options" },
		{ "a", "{\"title\":\"a\\u0000b\"}", "title" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *o = json(cases[i].text);
		struct err err = { 0 };

		assert_null(spec_read(cases[i].name, o, conf, &err));
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
		json_decref(o);
	}
}

/* ---- code ---- */

static void
put_entry(struct str *out, const char *name, char type, const char *text)
{
	uint8_t h[512] = { 0 };
	unsigned sum = 0;
	size_t n = strlen(text);

	memcpy(h, name, strlen(name));
	snprintf((char *)h + 100, 8, "%07o", 0644);
	snprintf((char *)h + 124, 12, "%011o", (unsigned)n);
	h[156] = (uint8_t)type;
	memcpy(h + 257, "ustar", 6);
	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < sizeof h; i++)
		sum += h[i];
	snprintf((char *)h + 148, 8, "%06o", sum);
	str_add(out, h, sizeof h);
	str_add(out, text, n);
	while (out->len % 512 != 0)
		str_putc(out, '\0');
}

static struct code *
code_of(const struct str *tar)
{
	struct err err;
	struct code *c = code_new(dir, 1 << 20, &err);

	assert_non_null(c);
	assert_int_equal(code_write(c, str_text(tar), tar->len, &err), 0);
	return c;
}

static void
a_file_is_found_at_the_top_alone(void **unused)
{
	auto_str struct str tar = { 0 }, out = { 0 };
	char end[1024] = { 0 };
	struct err err;
	struct code *c;

	(void)unused;
	put_entry(&tar, "sub/requirements.txt", '0', "wrong");
	put_entry(&tar, "link", '2', "");
	put_entry(&tar, "./requirements.txt", '0', "right\n");
	put_entry(&tar, "app.py", '0', "print()");
	str_add(&tar, end, sizeof end);
	c = code_of(&tar);
	assert_int_equal(code_finish(c, &err), 0);
	assert_int_equal(code_find(c, "requirements.txt", 100, &out, &err), 1);
	assert_string_equal(str_text(&out), "right\n");
	assert_int_equal(code_find(c, "nonesuch", 100, &out, &err), 0);
	str_cut(&out, 0);
	assert_int_equal(code_find(c, "app.py", 3, &out, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	code_drop(c);
}

static void
what_is_no_tar_is_refused(void **unused)
{
	auto_str struct str text = { 0 }, tar = { 0 }, out = { 0 };
	struct err err;
	struct code *c;

	(void)unused;
	for (int i = 0; i < 100; i++)
		str_puts(&text, "no tar at all ");
	c = code_of(&text);
	assert_int_equal(code_finish(c, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	code_drop(c);
	put_entry(&tar, "app.py", '0', "print()");
	str_add(&tar, text.at, text.len);
	c = code_of(&tar);
	assert_int_equal(code_finish(c, &err), -1);
	code_drop(c);
	str_cut(&tar, 0);
	put_entry(&tar, "cut", '0', "some text");
	str_cut(&tar, 512); /* its bytes are missing */
	c = code_of(&tar);
	assert_int_equal(code_find(c, "cut", 100, &out, &err), -1);
	assert_int_equal(err.code, ERR_PROTO);
	code_drop(c);
}

static bool
exists(const char *file)
{
	return faccessat(dir, file, F_OK, 0) == 0;
}

static bool
nothing(void *arg, const char *file)
{
	return arg != NULL && strcmp(arg, file) == 0;
}

static void
a_file_lives_as_long_as_it_is_held_or_kept(void **unused)
{
	auto_str struct str tar = { 0 };
	char name[80];
	struct err err;
	struct code *c, *again;

	(void)unused;
	put_entry(&tar, "app.py", '0', "print()");
	c = code_of(&tar);
	strcpy(name, code_file(c));
	code_hold(c);
	code_drop(c);
	assert_true(exists(name));
	code_keep(c, true);
	code_drop(c);
	assert_true(exists(name));
	again = code_open(dir, name, &err);
	assert_int_equal(code_size(again), tar.len);
	assert_int_equal(code_rename(again, "deps-1.tar", &err), 0);
	assert_false(exists(name));
	code_keep(again, false);
	code_drop(again);
	assert_false(exists("deps-1.tar"));
	c = code_of(&tar);
	strcpy(name, code_file(c));
	code_sweep(dir, nothing, name);
	assert_true(exists(name));
	code_sweep(dir, nothing, NULL);
	assert_false(exists(name));
	code_drop(c);
	assert_null(code_open(dir, "code-none.tar", &err));
}

static void
code_has_a_bound(void **unused)
{
	struct err err;
	struct code *c = code_new(dir, 10, &err);

	(void)unused;
	assert_int_equal(code_write(c, "12345", 5, &err), 0);
	assert_int_equal(code_write(c, "678901", 6, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	code_drop(c);
}

/* ---- the log ---- */

static void
heard(void *arg, const char *line, size_t n)
{
	struct str *out = arg;

	if (line == NULL)
		str_puts(out, "END");
	else
		str_add(out, line + 25, n - 25); /* after the time */
}

static void
a_log_keeps_whole_lines_and_the_newest(void **unused)
{
	struct ring *r = ring_new(1000);
	struct ring_writer *w = ring_open(r, "worker-1");
	auto_str struct str out = { 0 }, live = { 0 };
	struct ring_reader *reader = ring_follow(r, heard, &live);

	(void)unused;
	ring_bytes(w, "one\ntw", 6);
	ring_bytes(w, "o\n", 2);
	ring_say(r, "deploy", "a\nb");
	ring_bytes(w, "rest", 4);
	assert_string_equal(str_text(&live),
	    "worker-1 one\nworker-1 two\ndeploy a b\n");
	ring_close(w);
	assert_non_null(strstr(str_text(&live), "worker-1 rest\n"));
	for (int i = 0; i < 100; i++)
		ring_say(r, "x", "line %d", i);
	ring_read(r, &out);
	assert_true(out.len <= 1000);
	assert_null(strstr(out.at, "line 0\n"));
	assert_non_null(strstr(out.at, "line 99\n"));
	assert_int_equal(out.at[0], '2'); /* a whole line, with its time */
	ring_free(r);
	assert_non_null(strstr(str_text(&live), "END"));
	ring_unfollow(reader);
}

static void
a_line_without_an_end_is_cut(void **unused)
{
	struct ring *r = ring_new(100000);
	struct ring_writer *w = ring_open(r, "w");
	auto_str struct str out = { 0 };
	char much[20000];
	size_t lines = 0;

	(void)unused;
	memset(much, 'a', sizeof much);
	ring_bytes(w, much, sizeof much);
	ring_close(w);
	ring_read(r, &out);
	for (size_t i = 0; i < out.len; i++)
		lines += out.at[i] == '\n';
	assert_int_equal(lines, 3);
	ring_free(r);
}

/* ---- the native door's body ---- */

static void
requests_are_checked_as_upstream_does(void **unused)
{
	static const struct {
		const char *text, *want; /* NULL: it is right */
	} cases[] = {
		{ "{\"input\":[]}", NULL },
		{ "{\"input\":[{}],\"stream\":\"yes\",\"n\":\"5\"}", NULL },
		{ "{\"input\":[],\"top_p\":true,\"x\":[1]}", NULL },
		{ "{\"input\":[{\"role\":null,\"content\":[{\"type\":\"data\","
		  "\"data\":{\"a\":1}}]}]}",
		    NULL },
		{ "null", "missing" },
		{ "3", "dict_type" },
		{ "{}", "\"loc\":[\"body\",\"input\"]" },
		{ "{\"input\":{}}", "list_type" },
		{ "{\"input\":[3]}", "\"loc\":[\"body\",\"input\",0]" },
		{ "{\"input\":[{\"role\":\"developer\"}]}", "literal_error" },
		{ "{\"input\":[{\"content\":[{}]}]}", "union_tag_not_found" },
		{ "{\"input\":[{\"content\":[{\"type\":\"data\","
		  "\"data\":\"x\"}]}]}",
		    "dict_type" },
		{ "{\"input\":[{\"content\":[{\"type\":\"text\","
		  "\"text\":5}]}]}",
		    "string_type" },
		{ "{\"input\":[],\"n\":0}", "greater_than_equal" },
		{ "{\"input\":[],\"n\":1.5}", "int_from_float" },
		{ "{\"input\":[],\"seed\":\"x\"}", "int_parsing" },
		{ "{\"input\":[],\"temperature\":[]}", "float_type" },
		{ "{\"input\":[],\"stream\":\"maybe\"}", "bool_parsing" },
		{ "{\"input\":[],\"stop\":[1]}",
		    "\"loc\":[\"body\",\"stop\",0]" },
		{ "{\"input\":[],\"user_id\":1}", "string_type" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct invalid wrong = { 0 };
		json_t *body = json(cases[i].text), *request = NULL;
		auto_str struct str out = { 0 };
		bool stream = false;
		int r = ask_native(body, &request, &stream, &wrong);

		invalid_take(&wrong, &out);
		if ((r < 0) != (cases[i].want != NULL) ||
		    (r < 0 && strstr(out.at, cases[i].want) == NULL))
			fail_msg("%s: %d %s", cases[i].text, r, out.at);
		if (r == 0)
			assert_true(stream);
		json_decref(request);
		json_decref(body);
	}
}

static int
set_up(void **unused)
{
	struct err err;

	(void)unused;
	conf = conf_new();
	if (conf_check(conf, &err) < 0 || mkdtemp(folder) == NULL)
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir >= 0 ? 0 : -1;
}

static int
tear_down(void **unused)
{
	(void)unused;
	conf_free(conf);
	close(dir);
	return rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_have_defaults_and_bounds),
		cmocka_unit_test(options_that_are_wrong_are_named),
		cmocka_unit_test(a_file_is_found_at_the_top_alone),
		cmocka_unit_test(what_is_no_tar_is_refused),
		cmocka_unit_test(a_file_lives_as_long_as_it_is_held_or_kept),
		cmocka_unit_test(code_has_a_bound),
		cmocka_unit_test(a_log_keeps_whole_lines_and_the_newest),
		cmocka_unit_test(a_line_without_an_end_is_cut),
		cmocka_unit_test(requests_are_checked_as_upstream_does),
	};

	return cmocka_run_group_tests_name("agent_code", tests, set_up,
	    tear_down);
}
