#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/unit.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/pack.h"
#include "cli/table.h"
#include "cli/term.h"

/* ---- what is shown ---- */

static void
nothing_shown_can_drive_a_terminal(void **unused)
{
	auto_str struct str s = { 0 };
	const char evil[] = "a\033[2J\r\x9b\xc2\x9b\n\tb\xff\xe2\x82\xac\x7f";

	(void)unused;
	term_clean(&s, evil, sizeof evil - 1, false);
	assert_string_equal(str_text(&s),
	    "a\\x1b[2J\\x0d\\x9b\\xc2\\x9b\\x0a\\x09"
	    "b\\xff\xe2\x82\xac\\x7f");
	str_cut(&s, 0);
	term_clean(&s, "a\n\tb\r", 5, true);
	assert_string_equal(str_text(&s), "a\n\tb\\x0d");
}

static void
columns_are_as_wide_as_their_widest_cell(void **unused)
{
	static const char *const heads[] = { "ID", "STATE", NULL };
	struct table *t = table_new(heads);
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)unused;
	table_cell(t, "abcd");
	table_cell(t, "running");
	table_cellf(t, "%d", 7);
	table_cell(t, NULL);
	table_print(t, f);
	fclose(f);
	assert_string_equal(text, "ID    STATE\nabcd  running\n7     -\n");
	free(text);
	table_free(t);
}

static const char *
size(uint64_t n)
{
	static char text[16];
	auto_str struct str s = { 0 };

	table_size(&s, n);
	snprintf(text, sizeof text, "%s", str_text(&s));
	return text;
}

static const char *
age(double seconds)
{
	static char text[16];
	auto_str struct str s = { 0 };

	table_age(&s, seconds);
	snprintf(text, sizeof text, "%s", str_text(&s));
	return text;
}

static void
numbers_are_short(void **unused)
{
	(void)unused;
	assert_string_equal(size(0), "0B");
	assert_string_equal(size(999), "999B");
	assert_string_equal(size(1000), "1.0K");
	assert_string_equal(size(1536), "1.5K");
	assert_string_equal(size(20 << 20), "20M");
	assert_string_equal(size(1023ull << 20), "1.0G");
	assert_string_equal(size(UINT64_MAX), "16E");
	assert_string_equal(age(-5), "0s");
	assert_string_equal(age(59.9), "59s");
	assert_string_equal(age(3600 * 5.5), "5h");
	assert_string_equal(age(86400 * 400.0), "400d");
}

/* ---- what is read ---- */

/* The words of line; good until the next call. */
static void
parse(struct cli *cli, const char *line)
{
	static char words[256];
	static char *argv[32];
	int n = 0;

	snprintf(words, sizeof words, "%s", line);
	for (char *w = strtok(words, " "); w != NULL; w = strtok(NULL, " "))
		argv[n++] = w;
	argv[n] = NULL;
	*cli = (struct cli){ 0 };
	options_read(cli, n, argv);
}

static void
what_follows_the_image_is_not_ours(void **unused)
{
	struct cli cli;

	(void)unused;
	parse(&cli, "hutch --json run -e A=b --net none img ls -e --json --");
	assert_string_equal(cli.command->name, "run");
	assert_true(cli.json);
	assert_string_equal(cli.net, "none");
	assert_int_equal(cli.nenv, 1);
	assert_string_equal(cli.env[0], "A=b");
	assert_int_equal(cli.narg, 5);
	assert_string_equal(cli.arg[0], "img");
	assert_string_equal(cli.arg[2], "-e");
	assert_string_equal(cli.arg[4], "--");
	assert_null(cli.arg[5]);
	options_free(&cli);
}

static void
two_dashes_before_a_command_are_dropped(void **unused)
{
	struct cli cli;

	(void)unused;
	parse(&cli, "hutch exec -T id -- -- x");
	assert_true(cli.no_tty);
	assert_int_equal(cli.narg, 3);
	assert_string_equal(cli.arg[1], "--");
	options_free(&cli);
}

static void
a_command_may_have_two_words(void **unused)
{
	struct cli cli;
	char *socket;

	(void)unused;
	setenv("HUTCH_URL", "http://elsewhere", 1);
	parse(&cli, "hutch --root /r image ls -q");
	unsetenv("HUTCH_URL");
	assert_string_equal(cli.command->name, "image ls");
	assert_true(cli.quiet);
	assert_null(cli.url); /* the command line beats the environment */
	socket = cli_socket(&cli);
	assert_string_equal(socket, "/r/run/api.sock");
	free(socket);
	options_free(&cli);
}

static void
environment_without_a_value_is_ours(void **unused)
{
	struct cli cli;

	(void)unused;
	setenv("CLI_TEST", "x=y", 1);
	unsetenv("CLI_NONE");
	parse(&cli, "hutch create -eCLI_TEST -e CLI_NONE");
	assert_int_equal(cli.nenv, 1);
	assert_string_equal(cli.env[0], "CLI_TEST=x=y");
	assert_null(cli.env[1]);
	options_free(&cli);
}

static void
every_command_can_be_found(void **unused)
{
	(void)unused;
	for (const struct command *c = commands; c->name != NULL; c++) {
		assert_ptr_equal(cli_find(c->name), c);
		assert_true(c->min <= c->max);
		assert_true(c->rest == 0 || c->rest <= c->min ||
		    c->takes & TAKES_HIDDEN);
		assert_string_equal(options_word(c, 0), "--root");
	}
}

/* ---- what the daemon says ---- */

static void
a_failure_keeps_the_daemons_words(void **unused)
{
	const char body[] = "{\"code\":\"missing\",\"detail\":\"no x\"}";
	struct err err;

	(void)unused;
	assert_int_equal(api_failure(404, body, sizeof body - 1, &err), -1);
	assert_int_equal(err.code, ERR_MISSING);
	assert_string_equal(err.text, "no x");
	api_failure(500, "<html>", 6, &err);
	assert_int_equal(err.code, ERR_PROTO);
	assert_non_null(strstr(err.text, "500"));
}

static void
names_are_quoted_for_a_path(void **unused)
{
	char *q = api_quote("repo/a b:tag?&\xc3\xa4");

	(void)unused;
	assert_string_equal(q, "repo%2Fa%20b%3Atag%3F%26%C3%A4");
	free(q);
}

/* ---- a folder as a tar ---- */

static void
put(const char *dir, const char *name, const char *text)
{
	char at[256];
	FILE *f;

	snprintf(at, sizeof at, "%s/%s", dir, name);
	f = fopen(at, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
a_folder_becomes_the_same_tar_each_time(void **unused)
{
	char dir[] = "/tmp/cli_test.XXXXXX", link[64];
	struct str first = { 0 }, second = { 0 };
	struct str *at[] = { &first, &second };
	struct err err;
	char buf[100];
	ssize_t n = 0;

	(void)unused;
	assert_non_null(mkdtemp(dir));
	put(dir, "b", "bytes of b");
	put(dir, "a", "");
	for (int i = 0; i < 2; i++) {
		struct pack *p = pack_open(dir, &err);

		assert_non_null(p);
		while ((n = pack_read(p, buf, sizeof buf, &err)) > 0)
			str_add(at[i], buf, (size_t)n);
		assert_int_equal(n, 0);
		pack_free(p);
	}
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.at, second.at, first.len);
	assert_string_equal(first.at, "a");
	assert_string_equal(first.at + 512, "b");
	assert_string_equal(first.at + 1024, "bytes of b");
	str_free(&first);
	str_free(&second);

	snprintf(link, sizeof link, "%s/c", dir);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	struct pack *p = pack_open(dir, &err);
	while ((n = pack_read(p, buf, sizeof buf, &err)) > 0)
		;
	assert_int_equal(n, -1);
	assert_non_null(strstr(err.text, "neither a file nor a folder"));
	pack_free(p);
	unlink(link);
	snprintf(link, sizeof link, "%s/a", dir);
	unlink(link);
	snprintf(link, sizeof link, "%s/b", dir);
	unlink(link);
	rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_shown_can_drive_a_terminal),
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(numbers_are_short),
		cmocka_unit_test(what_follows_the_image_is_not_ours),
		cmocka_unit_test(two_dashes_before_a_command_are_dropped),
		cmocka_unit_test(a_command_may_have_two_words),
		cmocka_unit_test(environment_without_a_value_is_ours),
		cmocka_unit_test(every_command_can_be_found),
		cmocka_unit_test(a_failure_keeps_the_daemons_words),
		cmocka_unit_test(names_are_quoted_for_a_path),
		cmocka_unit_test(a_folder_becomes_the_same_tar_each_time),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
