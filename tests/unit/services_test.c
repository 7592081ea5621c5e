/* The asks of workers, hutch-worker(7) "Services", and who may see what. */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "engine/services.h"
#include "json/jtext.h"
#include "wire/loop.h"

static struct {
	struct loop *loop;
	struct config *conf;
	struct services *s;
	struct service_ask who;
	struct str got;
	unsigned answers;
} w;

static void
answer(void *arg, uint64_t ask, json_t *value, const char *code,
    const char *message)
{
	(void)arg;
	assert_int_equal(ask, 7);
	w.answers++;
	str_cut(&w.got, 0);
	if (value != NULL) {
		assert_null(code);
		jtext_write(&w.got, value);
		json_decref(value);
	} else {
		assert_non_null(message);
		str_printf(&w.got, "!%s", code);
	}
}

static void
put(const char *option, const char *value)
{
	struct err err;

	if (conf_set(w.conf, "", option, value, &err) < 0)
		fail_msg("%s", err.text);
}

static int
setup(void **unused)
{
	struct err err;

	(void)unused;
	memset(&w, 0, sizeof w);
	w.loop = loop_new();
	w.conf = conf_new();
	w.s = services_new(&(struct services_conf){ .loop = w.loop,
			       .config = w.conf,
			       .path = ":memory:" },
	    &err);
	if (w.s == NULL)
		fail_msg("%s", err.text);
	w.who = (struct service_ask){ .tenant = -1,
		.agent = "a",
		.user = "u",
		.session = "s",
		.owner = "r1",
		.answer = answer };
	return 0;
}

static int
teardown(void **unused)
{
	(void)unused;
	services_free(w.s);
	conf_free(w.conf);
	loop_free(w.loop);
	str_free(&w.got);
	return 0;
}

static const char *
ask(const char *members)
{
	auto_free char *text = xasprintf("{%s}", members);
	json_t *line = json_loads(text, 0, NULL);
	unsigned before = w.answers;

	if (line == NULL)
		fail_msg("%s", text);
	services_ask(w.s, 7, &w.who, line);
	json_decref(line);
	assert_int_equal(w.answers, before + 1);
	return str_text(&w.got);
}

#define LOAD "\"what\":\"state.load\""
#define SAVE "\"what\":\"state.save\","

static int
version(void)
{
	json_t *v = json_loads(w.got.at, 0, NULL);
	int n = (int)json_integer_value(json_object_get(v, "version"));

	json_decref(v);
	return n;
}

static void
state(void **unused)
{
	auto_free char *line = NULL;
	int v;

	(void)unused;
	assert_string_equal(ask(LOAD), "null");
	ask(SAVE "\"value\":{\"n\":1,\"l\":[null,0.1]}");
	v = version();
	assert_true(v > 0);
	line =
	    xasprintf("{\"value\":{\"n\":1,\"l\":[null,0.1]},\"version\":%d}",
		v);
	assert_string_equal(ask(LOAD), line);
	assert_string_equal(ask(SAVE "\"value\":2,\"if_version\":999"),
	    "!conflict");
	assert_string_equal(ask(SAVE "\"value\":2,\"if_version\":0"),
	    "!conflict");
	ask(SAVE "\"value\":null,\"name\":\"other\",\"ttl\":60");
	assert_true(version() > v);
	assert_string_equal(ask("\"what\":\"state.delete\""),
	    "{\"deleted\":true}");
	assert_string_equal(ask(LOAD), "null");
	/* A null that was saved is not nothing. */
	ask(LOAD ",\"name\":\"other\"");
	assert_memory_equal(w.got.at, "{\"value\":null,", 14);
}

static void
nobody_sees_anothers(void **unused)
{
	(void)unused;
	ask(SAVE "\"value\":1");
	w.who.agent = "b";
	assert_string_equal(ask(LOAD), "null");
	w.who.agent = "a";
	w.who.user = "x";
	assert_string_equal(ask(LOAD), "null");
	/* An agent may mean another user of its own. */
	ask(LOAD ",\"user\":\"u\"");
	assert_memory_equal(w.got.at, "{\"value\":1", 10);
	/* Without a run it has to. */
	w.who.user = w.who.session = w.who.owner = NULL;
	assert_string_equal(ask(LOAD), "!invalid");
	ask(LOAD ",\"user\":\"u\",\"session\":\"s\"");
	assert_memory_equal(w.got.at, "{\"value\":1", 10);
	ask(SAVE "\"value\":5,\"session\":\"alone\"");
	ask(LOAD ",\"user\":\"alone\",\"session\":\"alone\"");
	assert_memory_equal(w.got.at, "{\"value\":5", 10);
	/* Nothing in a line makes it another tenant's or agent's. */
	w.who.agent = "b";
	assert_string_equal(ask(LOAD ",\"user\":\"u\",\"session\":\"s\","
				     "\"agent\":\"a\",\"tenant\":\"-\""),
	    "null");
}

static void
locks(void **unused)
{
	(void)unused;
	assert_string_equal(ask(LOAD ",\"lock\":60"), "null");
	ask(SAVE "\"value\":1");
	assert_true(version() > 0);
	w.who.owner = "r2";
	assert_string_equal(ask(SAVE "\"value\":2"), "!locked");
	assert_string_equal(ask(LOAD ",\"lock\":60"), "!locked");
	ask(LOAD);
	assert_memory_equal(w.got.at, "{\"value\":1", 10);
	/* The other run is over. */
	services_unlock(w.s, -1, "r1");
	ask(SAVE "\"value\":2");
	assert_true(version() > 0);
	w.who.owner = NULL;
	assert_string_equal(ask(LOAD ",\"lock\":60"), "!invalid");
}

static void
history(void **unused)
{
	(void)unused;
	assert_string_equal(ask("\"what\":\"history.list\""), "[]");
	assert_string_equal(ask("\"what\":\"history.append\",\"messages\":"
				"[{\"role\":\"user\"},{\"n\":2}]"),
	    "{\"appended\":2}");
	ask("\"what\":\"history.append\",\"messages\":[{\"n\":3}]");
	assert_string_equal(ask("\"what\":\"history.list\""),
	    "[{\"role\":\"user\"},{\"n\":2},{\"n\":3}]");
	assert_string_equal(ask("\"what\":\"history.list\",\"limit\":1"),
	    "[{\"n\":3}]");
	assert_string_equal(ask("\"what\":\"history.append\",\"messages\":"
				"[{\"n\":4},5]"),
	    "!invalid");
	assert_string_equal(ask("\"what\":\"history.append\""), "!invalid");
	assert_string_equal(ask("\"what\":\"history.clear\""),
	    "{\"cleared\":3}");
	put("history_max", "2");
	ask("\"what\":\"history.append\",\"messages\":[{},{\"n\":1},{\"n\":2}"
	    "]");
	assert_string_equal(ask("\"what\":\"history.list\""),
	    "[{\"n\":1},{\"n\":2}]");
}

static void
memory(void **unused)
{
	auto_free char *id = NULL, *line = NULL;
	json_t *v;

	(void)unused;
	ask("\"what\":\"memory.add\",\"text\":\"likes green tea\","
	    "\"metadata\":{\"from\":1}");
	v = json_loads(w.got.at, 0, NULL);
	id = xstrdup(json_string_value(json_object_get(v, "id")));
	json_decref(v);
	assert_memory_equal(id, "mem_", 4);
	/* Of the user, whatever the session. */
	w.who.session = "another";
	ask("\"what\":\"memory.search\",\"query\":\"tea\",\"limit\":3");
	assert_non_null(strstr(w.got.at, "\"text\":\"likes green tea\""));
	assert_non_null(strstr(w.got.at, "\"metadata\":{\"from\":1}"));
	/* A score would count the words of all tenants. */
	assert_null(strstr(w.got.at, "\"score\":"));
	assert_string_equal(ask("\"what\":\"memory.search\",\"query\":"
				"\"beer\""),
	    "[]");
	assert_string_equal(ask("\"what\":\"memory.search\""), "!invalid");
	ask("\"what\":\"memory.list\"");
	assert_non_null(strstr(w.got.at, id));
	w.who.user = "x";
	assert_string_equal(ask("\"what\":\"memory.list\""), "[]");
	w.who.user = "u";
	line = xasprintf("\"what\":\"memory.delete\",\"id\":\"%s\"", id);
	assert_string_equal(ask(line), "{\"deleted\":true}");
	assert_string_equal(ask(line), "{\"deleted\":false}");
	assert_string_equal(ask("\"what\":\"memory.add\",\"text\":\"\""),
	    "!invalid");
}

static void
bounds(void **unused)
{
	auto_str struct str line = { 0 };

	(void)unused;
	put("state_max", "1KiB");
	str_puts(&line, SAVE "\"value\":\"");
	for (int i = 0; i < 1100; i++)
		str_putc(&line, 'x');
	str_putc(&line, '"');
	assert_string_equal(ask(line.at), "!limit");
	put("services_max", "64KiB");
	for (int i = 0; i < 1000; i++) {
		auto_free char *one =
		    xasprintf(SAVE "\"value\":%d,\"name\":\"n%d\"", i, i);

		if (strcmp(ask(one), "!limit") == 0) {
			assert_true(i > 250 && i < 400);
			/* What is freed may be used again. */
			ask("\"what\":\"state.delete\",\"name\":\"n0\"");
			ask(one);
			assert_memory_equal(w.got.at, "{\"version\"", 10);
			return;
		}
	}
	fail_msg("no bound");
}

static void
wrong_asks(void **unused)
{
	static const char *const bad[] = {
		"\"what\":\"state.load\",\"name\":5",
		"\"what\":\"state.load\",\"name\":\"\"",
		"\"what\":\"state.load\",\"user\":{}",
		"\"what\":\"state.load\",\"lock\":\"long\"",
		"\"what\":\"state.save\"",
		"\"what\":\"state.save\",\"value\":1,\"ttl\":0",
		"\"what\":\"state.save\",\"value\":1,\"if_version\":-1",
		"\"what\":\"history.list\",\"limit\":0",
		"\"what\":\"memory.add\",\"text\":\"a\",\"metadata\":[]",
		"\"what\":\"memory.delete\"",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (strcmp(ask(bad[i]), "!invalid") != 0)
			fail_msg("%s: %s", bad[i], w.got.at);
	assert_string_equal(ask("\"what\":\"nothing\""), "!unknown");
	assert_string_equal(ask("\"x\":1"), "!unknown");
	/* Without a manager. */
	assert_string_equal(ask("\"what\":\"sandbox.connect\""), "!missing");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(state),
		TEST(nobody_sees_anothers),
		TEST(locks),
		TEST(history),
		TEST(memory),
		TEST(bounds),
		TEST(wrong_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
