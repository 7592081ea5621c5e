#include <string.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "conf/conf.h"
#include "conf/models.h"
#include "conf/list.h"
#include "conf/option.h"

static int
read_text(struct config *c, const char *text, struct err *err)
{
	auto_fd int fd = file_memfd("conf", text, strlen(text), err);

	assert_true(fd >= 0);
	return conf_read_fd(c, fd, "hutch.conf", err);
}

static char *
printed(const struct config *c)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	conf_print(c, f);
	fclose(f);
	return text;
}

static int
read_env(struct config *c, const char *const *env, struct err *err)
{
	return conf_read_environ(c, (char *const *)(uintptr_t)env, err);
}

static char *
env_file(const char *text)
{
	char path[] = "/tmp/hutch-env-XXXXXX";
	auto_fd int fd = mkstemp(path);
	struct err err;

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text, strlen(text), &err), 0);
	return xstrdup(path);
}

static void
defaults_stand_and_are_complete(void **unused)
{
	struct config *c = conf_new();
	const struct conf_type *t;
	struct err err;

	(void)unused;
	assert_int_equal(conf_check(c, &err), 0);
	assert_string_equal(c->host, "127.0.0.1");
	assert_int_equal(c->port, 8000);
	assert_string_equal(c->socket, "/run/hutch/api.sock");
	assert_int_equal(c->ntenant, 0);
	assert_int_equal(c->timeout, 60);
	assert_true(c->auto_cleanup);
	t = conf_type_find(c, "base_async");
	assert_non_null(t);
	assert_ptr_equal(t, conf_type_find(c, "base"));
	assert_string_equal(t->image, "agentscope/runtime-sandbox-base:latest");
	assert_true(t->limits.memory == 2ull << 30);
	assert_int_equal(t->limits.cpu_milli, 1000);
	assert_int_equal(t->work_timeout, 600);
	assert_string_equal(conf_type_find(c, "gui")->image, "");
	assert_null(conf_type_find(c, "nonesuch"));
	conf_free(c);
}

/* The first or the last, whichever is not the default. */
static const char *
other_word(const struct option *o)
{
	static char word[32];
	const char *last = strrchr(o->rule.words, ' ') + 1;

	if (strcmp(o->value, last) != 0)
		return last;
	snprintf(word, sizeof word, "%.*s", (int)strcspn(o->rule.words, " "),
	    o->rule.words);
	return word;
}

/* Another value than the default, for every kind of row. */
static const char *
other(const struct option *o)
{
	static const char *const by_kind[VALUE_KINDS] = {
		[VALUE_TEXT] = "other text",
		[VALUE_PATH] = "/srv/other",
		[VALUE_PORT] = "8001",
		[VALUE_SHA256] = "0123456789abcdef0123456789abcdef0123456789abc"
				 "def0123456789abcdef",
		[VALUE_TEXTS] = "gui, base",
		[VALUE_PATHS] = "/srv/a,/srv/b",
		[VALUE_BINDS] = "/srv/a:/mnt/a,/srv/b:/mnt/b",
		[VALUE_ENVS] = "A=1, 2, 3",
		[VALUE_CPU] = "2.25",
		[VALUE_TIME] = "125",
		[VALUE_SIZE] = "12345678",
		[VALUE_COUNT] = "9",
		[VALUE_IDLE] = "x",
	};

	if (o->rule.kind == VALUE_BOOL)
		return strcmp(o->value, "yes") == 0 ? "no" : "yes";
	if (o->rule.kind == VALUE_WORD)
		return other_word(o);
	if (o->rule.kind == VALUE_WORDS)
		return "io,memory";
	if (o->rule.kind == VALUE_SIZE && o->rule.min > 12345678)
		return "1TiB";
	if (strcmp(o->name, "id_base") == 0)
		return "131072";
	if (o->rule.kind == VALUE_COUNT && o->rule.min > 9)
		return "99";
	return by_kind[o->rule.kind];
}

static void
change_all(struct config *c, enum option_scope scope, const char *section)
{
	struct err err;

	for (const struct option *o = option_table(scope); o->name != NULL;
	     o++) {
		const char *value = other(o);

		if (value == NULL) /* a secret, or a refusal */
			continue;
		if (conf_set(c, section, o->name, value, &err) < 0)
			fail_msg("%s = %s: %s", o->name, value, err.text);
	}
}

static void
every_option_comes_back_as_printed(void **unused)
{
	struct config *c = conf_new(), *back = conf_new();
	auto_free char *first = NULL, *second = NULL, *plain = printed(back);
	struct err err;

	(void)unused;
	log_level(LOG_ERROR); /* idle options warn */
	change_all(c, OPTION_MAIN, "");
	change_all(c, OPTION_TENANT, "tenant alice");
	change_all(c, OPTION_TYPE, "type base");
	change_all(c, OPTION_TYPE, "type mine");
	first = printed(c);
	if (read_text(back, first, &err) < 0)
		fail_msg("%s", err.text);
	second = printed(back);
	assert_string_equal(first, second);
	assert_string_not_equal(first, plain);
	assert_string_equal(conf_type_find(back, "mine")->env.at[0],
	    "A=1, 2, 3");
	assert_int_equal(back->readonly_mounts.n, 2);
	conf_free(c);
	conf_free(back);
}

static void
errors_name_file_line_option_and_what_it_takes(void **unused)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "\nport = http\n",
		    "hutch.conf:2: port: takes a port from 0 to 65535; not "
		    "\"http\"" },
		{ "port = 8000\nport = 8001\n",
		    "hutch.conf:2: port: given twice" },
		{ "colour = blue\n", "hutch.conf:1: colour: no such option" },
		{ "[type base]\nport = 1\n",
		    "hutch.conf:2: port: no such option in section type base" },
		{ "[types]\na = 1\n",
		    "hutch.conf:2: section [types]: takes [tenant NAME], [type "
		    "NAME], [model NAME] or [agent NAME], a name of at most 31 "
		    "of a-z 0-9 _ -" },
		{ "what is this\n",
		    "hutch.conf:1: neither a section, an option nor a "
		    "comment" },
		{ "[type base]\nmemory = 2 hogsheads\n",
		    "hutch.conf:2: memory: takes a size from 8MiB to 64TiB; "
		    "not \"2 hogsheads\"" },
		{ "[type base]\nmemory = 1KiB\n",
		    "hutch.conf:2: memory: takes a size from 8MiB to 64TiB; "
		    "not \"1KiB\"" },
		{ "[type base]\ncpus = 1.5x\n",
		    "hutch.conf:2: cpus: takes a number from 0.01 to 4096; "
		    "not \"1.5x\"" },
		{ "timeout = 1\n",
		    "hutch.conf:1: timeout: takes a time from 3s to 1d; not "
		    "\"1\"" },
		{ "auto_cleanup = maybe\n",
		    "hutch.conf:1: auto_cleanup: takes yes or no; not "
		    "\"maybe\"" },
		{ "log_level = loud\n",
		    "hutch.conf:1: log_level: takes one of: error, warning, "
		    "notice, info, debug; not \"loud\"" },
		{ "mount_allow = srv\n",
		    "hutch.conf:1: mount_allow: takes at most 32 absolute "
		    "paths, commas between; not \"srv\"" },
		{ "readonly_mounts = /a:b\n",
		    "hutch.conf:1: readonly_mounts: takes at most 32 of "
		    "/HOST:/INSIDE, commas between; not \"/a:b\"" },
		{ "[tenant a]\ntoken_sha256 = ABC\n",
		    "hutch.conf:2: token_sha256: takes 64 lower-case "
		    "hexadecimal digits; not \"ABC\"" },
		{ "redis_enabled = true\n",
		    "hutch.conf:1: redis_enabled: takes only false no off 0; "
		    "not \"true\": shared state in Redis is not built yet" },
		{ "container_deployment = k8s\n",
		    "hutch.conf:1: container_deployment: takes only docker; "
		    "not \"k8s\": sandboxes run on this host" },
		{ "pool_size = 99999999999999999999999\n",
		    "hutch.conf:1: pool_size: takes a number from 0 to 1000; "
		    "not \"99999999999999999999999\"" },
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct config *c = conf_new();

		assert_int_equal(read_text(c, cases[i].text, &err), -1);
		assert_string_equal(err.text, cases[i].want);
		conf_free(c);
	}
}

static void
a_line_too_long_is_not_two_lines(void **unused)
{
	struct config *c = conf_new();
	auto_str struct str text = { 0 };
	struct err err;

	(void)unused;
	str_puts(&text, "# fine\nhosts = ");
	for (int i = 0; i < 300; i++)
		str_putc(&text, 'h');
	str_puts(&text, "\n");
	assert_int_equal(read_text(c, text.at, &err), -1);
	assert_non_null(strstr(err.text, "hutch.conf:2: line is longer than"));
	conf_free(c);
}

static void
no_value_makes_a_line_too_long(void **unused)
{
	const size_t most = 198; /* the library's 200, less "\n\0" */

	(void)unused;
	for (int scope = 0; scope < OPTION_SCOPES; scope++)
		for (const struct option *o =
			 option_table((enum option_scope)scope);
		     o->name != NULL; o++) {
			bool text = o->rule.kind == VALUE_TEXT ||
			    o->rule.kind == VALUE_PATH;
			size_t max = value_is_list(&o->rule) ? LIST_TEXT_MAX
			    : !text                          ? 0
			    : o->rule.max > 0                ? o->rule.max
							     : VALUE_TEXT_MAX;

			if (strlen(o->name) + strlen(" = ") + max > most)
				fail_msg("%s may have %zu bytes", o->name, max);
		}
}

static void
a_list_goes_on_in_indented_lines(void **unused)
{
	struct config *c = conf_new();
	struct err err;

	(void)unused;
	assert_int_equal(read_text(c, "hosts = a, b\n  c\n\t'd'\nport = 1\n",
			     &err),
	    0);
	assert_int_equal(c->hosts.n, 4);
	assert_string_equal(c->hosts.at[2], "c");
	assert_string_equal(c->hosts.at[3], "d");
	assert_int_equal(c->port, 1);
	conf_free(c);
}

static void
the_environment_speaks_upstreams_names(void **unused)
{
	const char *const env[] = { "PATH=/bin", "PORT=9000", "pool_size=3",
		"BEARER_TOKEN=secret",
		"DEFAULT_SANDBOX_TYPE=[\"base\",\"gui\"]",
		"READONLY_MOUNTS={\"/a\": \"/b\", \"/c\":\"/d\"}",
		"RELEASE_KET_TTL=12", "HEARTBEAT_TIMEOUT=", "REDIS_PORT=6379",
		"AUTO_CLEANUP=False", "HUTCH_ROOT=/srv/h",
		"RUNTIME_SANDBOX_REGISTRY=reg.example",
		"CONTAINER_DEPLOYMENT="
		"docker",
		NULL };
	struct config *c = conf_new();
	struct err err;

	(void)unused;
	if (read_env(c, env, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(conf_check(c, &err), 0);
	assert_int_equal(c->port, 9000);
	assert_int_equal(c->pool_size, 3);
	assert_int_equal(c->default_types.n, 2);
	assert_string_equal(c->default_types.at[1], "gui");
	assert_int_equal(c->readonly_mounts.n, 2);
	assert_string_equal(c->readonly_mounts.at[1], "/c:/d");
	assert_int_equal(c->released_ttl, 12);
	assert_int_equal(c->heartbeat_timeout, 300);
	assert_false(c->auto_cleanup);
	assert_string_equal(c->socket, "/srv/h/run/api.sock");
	assert_string_equal(conf_type_find(c, "base")->image,
	    "reg.example/agentscope/runtime-sandbox-base:latest");
	/* Agents run in the image of base. */
	assert_string_equal(conf_type_find(c, "app")->image,
	    conf_type_find(c, "base")->image);
	conf_free(c);
}

static void
the_environment_is_as_strict_as_the_file(void **unused)
{
	static const struct {
		const char *pair, *want;
	} cases[] = {
		{ "FILE_SYSTEM=oss",
		    "environment: FILE_SYSTEM: file_system: takes only local; "
		    "not \"oss\": object storage is not built yet" },
		{ "PORT=80a",
		    "environment: PORT: port: takes a port from 0 to 65535; "
		    "not \"80a\"" },
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const env[] = { cases[i].pair, NULL };
		struct config *c = conf_new();

		assert_int_equal(read_env(c, env, &err), -1);
		assert_string_equal(err.text, cases[i].want);
		conf_free(c);
	}
}

static void
an_env_file_is_read_as_upstream_reads_it(void **unused)
{
	auto_free char *path =
	    env_file("# comment\n\nexport PORT=8100 # here\nHOST=\"::1\"\n"
		     "CONTAINER_PREFIX_KEY='p # q'\nUNKNOWN=1\n");
	struct config *c = conf_new();
	struct err err;

	(void)unused;
	if (conf_read_env_file(c, path, &err) < 0)
		fail_msg("%s", err.text);
	unlink(path);
	assert_int_equal(c->port, 8100);
	assert_string_equal(c->host, "::1");
	assert_string_equal(c->prefix, "p # q");
	assert_int_equal(conf_check(c, &err), -1);
	assert_non_null(strstr(err.text, "container_prefix"));
	conf_free(c);
}

static void
an_env_file_names_the_line(void **unused)
{
	auto_free char *path = env_file("PORT=1\nnonsense\n");
	struct config *c = conf_new();
	struct err err;

	(void)unused;
	assert_int_equal(conf_read_env_file(c, path, &err), -1);
	assert_non_null(strstr(err.text, ":2: takes NAME=VALUE"));
	assert_int_equal(conf_read_env_file(c, "/nonesuch/env", &err), -1);
	assert_int_equal(err.code, ERR_SYS);
	unlink(path);
	conf_free(c);
}

static void
the_token_is_never_printed(void **unused)
{
	struct config *c = conf_new(), *back = conf_new();
	auto_free char *text = NULL;
	struct err err;

	(void)unused;
	assert_int_equal(conf_set(c, "", "bearer_token", "abc", &err), 0);
	assert_int_equal(conf_set(c, "", "host", "0.0.0.0", &err), 0);
	assert_int_equal(conf_check(c, &err), 0);
	assert_null(c->bearer_token);
	text = printed(c);
	assert_null(strstr(text, "bearer_token"));
	assert_non_null(strstr(text,
	    "[tenant default]\ntoken_sha256 = ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad"));
	assert_int_equal(read_text(back, text, &err), 0);
	assert_int_equal(back->ntenant, 1);
	assert_string_equal(back->tenant[0].name, "default");
	conf_free(c);
	conf_free(back);
}

static const char model_text[] =
    "[model big]\nurl = https://models.example/v1\nkey = sk-secret-key-1\n"
    "headers = X-Org: hidden-org, inc\n\tX-More: hidden-too\n"
    "timeout = 30s\nmodel = big-7b\n"
    "[agent helper]\nsystem = You help, briefly.\n\tBe kind; always.\n"
    "tools = run_shell_command,read_file\n";

static void
a_models_key_is_for_hutch_model_only(void **unused)
{
	struct config *c = conf_new(), *back = conf_new();
	auto_free char *text = NULL, *told = NULL;
	struct err err;
	size_t n;
	FILE *f;

	(void)unused;
	assert_int_equal(read_text(c, model_text, &err), 0);
	assert_int_equal(conf_check(c, &err), 0);
	assert_string_equal(c->agent[0].model, "big");
	text = printed(c);
	assert_null(strstr(text, "sk-secret"));
	assert_null(strstr(text, "hidden"));
	assert_int_equal(read_text(back, text, &err), 0);
	assert_int_equal(back->nmodel, 1);
	assert_string_equal(back->model[0].model, "big-7b");
	assert_int_equal(back->agent[0].system.n, 2);
	assert_string_equal(back->agent[0].system.at[0], "You help, briefly.");
	f = open_memstream(&told, &n);
	conf_print_models(c, f);
	fclose(f);
	assert_non_null(strstr(told,
	    "model big\nurl https://models.example/v1\nid big-7b\n"
	    "key sk-secret-key-1\nheader X-Org: hidden-org, inc\n"
	    "header X-More: hidden-too\ntimeout 30\n"));
	conf_free(c);
	conf_free(back);
}

static void
without_a_model_there_is_the_scripted_one(void **unused)
{
	struct config *c = conf_new();
	struct err err;

	(void)unused;
	assert_int_equal(read_text(c, "[agent a]\nmax_steps = 3\n", &err), 0);
	assert_int_equal(conf_check(c, &err), 0);
	assert_int_equal(c->nmodel, 1);
	assert_string_equal(c->model[0].url, "stub:");
	assert_string_equal(c->agent[0].model, c->model[0].name);
	conf_free(c);
}

static void
what_only_the_whole_shows_is_refused(void **unused)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "host = 0.0.0.0\n", "host: 0.0.0.0 can be reached" },
		{ "host = example.org\n", "host: takes a numeric address" },
		{ "default_sandbox_type = dog\n", "no type \"dog\"" },
		{ "[type dog]\nmemory = 1GiB\n", "[type dog]: image" },
		{ "[model m]\nurl = ftp://x/v1\n", "[model m]: url takes" },
		{ "[model m]\nurl = https://me:pw@x/v1\n",
		    "a name or a password" },
		{ "[model m]\nkey = a\nkey_file = /x\n", "one is enough" },
		{ "[model m]\nkey_file = /nowhere\n", "/nowhere" },
		{ "[agent a]\nmodel = b\n", "[agent a]: no [model b]" },
		{ "[agent a]\ntype = b\n", "no type \"b\"" },
		{ "[agent a]\ntemperature = hot\n", "takes a number" },
		{ "[tenant a]\nadmin = yes\n", "[tenant a]: token_sha256" },
		{ "default_mount_dir = /srv/x\nmount_allow = /srv/xy\n",
		    "default_mount_dir: /srv/x is not below" },
		{ "id_base = 65537\n", "id_base: takes a multiple" },
		{ "root = //\n", "root: takes a directory of its own" },
		{ "root = /./srv/..//\n", "root: takes a directory" },
		{ "bearer_token = x\n[tenant default]\ntoken_sha256 = "
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20"
		  "015ad\n",
		    "bearer_token: [tenant default] has another" },
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct config *c = conf_new();

		if (read_text(c, cases[i].text, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(conf_check(c, &err), -1);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("%s", err.text);
		conf_free(c);
	}
}

static void
a_running_process_takes_what_may_change(void **unused)
{
	static const char digest[] = "token_sha256 = 0123456789abcdef01234567"
				     "89abcdef0123456789abcdef0123456789abcd";
	auto_free char *a = xasprintf("[tenant a]\n%s00\n[tenant b]\n%s01\n"
				      "[type base]\nmemory = 1GiB\n",
	    digest, digest);
	auto_free char *b = xasprintf("port = 1\ntimeout = 99\nhosts = x\n"
				      "[tenant c]\n%s03\n[tenant b]\n%s02\n"
				      "[type base]\nmemory = 3GiB\n"
				      "[type mine]\nimage = i\n",
	    digest, digest);
	static const uint8_t none[32];
	struct config *now = conf_new(), *fresh = conf_new();
	const struct conf_type *base = conf_type_find(now, "base");
	struct err err;

	(void)unused;
	log_level(LOG_ERROR);
	assert_int_equal(read_text(now, a, &err), 0);
	assert_int_equal(read_text(fresh, b, &err), 0);
	assert_int_equal(conf_check(now, &err), 0);
	assert_int_equal(conf_check(fresh, &err), 0);
	conf_adopt(now, fresh);
	assert_int_equal(now->port, 8000);
	assert_int_equal(now->timeout, 99);
	assert_string_equal(now->hosts.at[0], "x");
	assert_true(base->limits.memory == 3ull << 30);
	assert_null(conf_type_find(now, "mine"));
	assert_int_equal(now->ntenant, 2);
	assert_string_equal(now->tenant[0].name, "a");
	assert_memory_equal(now->tenant[0].token_sha256, none, sizeof none);
	assert_int_equal(now->tenant[1].token_sha256[31], 2);
	conf_free(now);
}

static void
help_names_every_option(void **unused)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)unused;
	conf_help(f);
	fclose(f);
	for (int scope = 0; scope < OPTION_SCOPES; scope++)
		for (const struct option *o =
			 option_table((enum option_scope)scope);
		     o->name != NULL; o++)
			assert_non_null(strstr(text, o->name));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_stand_and_are_complete),
		cmocka_unit_test(every_option_comes_back_as_printed),
		cmocka_unit_test(
		    errors_name_file_line_option_and_what_it_takes),
		cmocka_unit_test(a_line_too_long_is_not_two_lines),
		cmocka_unit_test(no_value_makes_a_line_too_long),
		cmocka_unit_test(a_list_goes_on_in_indented_lines),
		cmocka_unit_test(the_environment_speaks_upstreams_names),
		cmocka_unit_test(the_environment_is_as_strict_as_the_file),
		cmocka_unit_test(an_env_file_is_read_as_upstream_reads_it),
		cmocka_unit_test(an_env_file_names_the_line),
		cmocka_unit_test(the_token_is_never_printed),
		cmocka_unit_test(a_models_key_is_for_hutch_model_only),
		cmocka_unit_test(without_a_model_there_is_the_scripted_one),
		cmocka_unit_test(what_only_the_whole_shows_is_refused),
		cmocka_unit_test(a_running_process_takes_what_may_change),
		cmocka_unit_test(help_names_every_option),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
