/* A session's own sandboxes, as a worker asks for them. */
#include <stdlib.h>
#include "tests/unit/unit.h"
#include "base/own.h"
#include "engine/services.h"
#include "json/jtext.h"
#include "tests/unit/manager_fixture.h"

static struct services *s;
static struct service_ask who;
static struct str got;
static bool answered;

static void
answer(void *arg, uint64_t ask, json_t *value, const char *code,
    const char *message)
{
	(void)arg;
	assert_int_equal(ask, 3);
	assert_false(answered);
	answered = true;
	str_cut(&got, 0);
	if (value != NULL)
		jtext_write(&got, value);
	else
		str_printf(&got, "!%s %s", code, message);
	json_decref(value);
}

static void
start(const char *members)
{
	auto_free char *text = xasprintf("{%s}", members);
	json_t *line = json_loads(text, 0, NULL);

	assert_non_null(line);
	answered = false;
	services_ask(s, 3, &who, line);
	json_decref(line);
}

static const char *
ask(const char *members)
{
	start(members);
	assert_true(drive_flag(t.loop, &answered));
	return str_text(&got);
}

static int
setup(void **unused)
{
	struct err err;

	(void)unused;
	begin();
	start_manager();
	s = services_new(&(struct services_conf){ .loop = t.loop,
			     .manager = t.m,
			     .config = t.config,
			     .path = ":memory:" },
	    &err);
	assert_non_null(s);
	who = (struct service_ask){ .agent = "a",
		.user = "u",
		.session = "s",
		.owner = "r",
		.answer = answer,
		.arg = &who };
	return 0;
}

static int
teardown(void **unused)
{
	(void)unused;
	services_free(s);
	str_free(&got);
	end();
	return 0;
}

static char *
id_of(const char *list)
{
	json_t *v = json_loads(list, 0, NULL);
	char *id;

	if (json_array_size(v) != 1)
		fail_msg("%s", list);
	id = xstrdup(
	    json_string_value(json_object_get(json_array_get(v, 0), "id")));
	assert_string_equal(json_string_value(
				json_object_get(json_array_get(v, 0), "type")),
	    "base");
	json_decref(v);
	return id;
}

static void
a_session_keeps_its_own(void **unused)
{
	auto_free char *mine = NULL, *again = NULL, *theirs = NULL;

	(void)unused;
	mine = id_of(ask("\"what\":\"sandbox.connect\""));
	again = id_of(ask("\"what\":\"sandbox.connect\",\"types\":[\"base\"]"));
	assert_string_equal(mine, again);
	/* Another's is another, of an agent too. */
	who.agent = "b";
	theirs = id_of(ask("\"what\":\"sandbox.connect\""));
	assert_string_not_equal(mine, theirs);
	until_count(2);
	assert_string_equal(ask("\"what\":\"sandbox.release\""),
	    "{\"released\":1}");
	assert_string_equal(ask("\"what\":\"sandbox.release\""),
	    "{\"released\":0}");
	assert_int_equal(state_of(theirs), REC_RELEASED);
	assert_int_equal(state_of(mine), REC_RUNNING);
}

static void
its_tools_are_called(void **unused)
{
	auto_free char *id = NULL, *line = NULL, *foreign = NULL;

	(void)unused;
	id = id_of(ask("\"what\":\"sandbox.connect\""));
	line = xasprintf("\"what\":\"sandbox.call\",\"id\":\"%s\",\"tool\":"
			 "\"run_shell_command\",\"arguments\":{\"command\":"
			 "\"echo hi\"}",
	    id);
	assert_string_equal(ask(line),
	    "{\"content\":[{\"type\":\"text\",\"text\":\"ran: echo hi\"}],"
	    "\"isError\":false}");
	/* Who has not connected to it can't call it. */
	who.session = "other";
	foreign = xstrdup(ask(line));
	assert_memory_equal(foreign, "!missing ", 9);
	who.session = "s";
	ask("\"what\":\"sandbox.call\",\"id\":\"x\"");
	assert_memory_equal(got.at, "!invalid ", 9);
	free(line);
	line = xasprintf("\"what\":\"sandbox.call\",\"id\":\"%s\",\"tool\":"
			 "\"nothing\"",
	    id);
	ask(line);
	assert_non_null(strstr(got.at, "\"isError\":true"));
}

static void
who_has_gone_hears_nothing(void **unused)
{
	(void)unused;
	start("\"what\":\"sandbox.connect\"");
	services_forget(s, &who);
	drive_for(t.loop, 50);
	assert_false(answered);
	ask("\"what\":\"sandbox.connect\",\"types\":[]");
	assert_memory_equal(got.at, "!invalid ", 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_keeps_its_own),
		TEST(its_tools_are_called),
		TEST(who_has_gone_hears_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
