/*
 * completion, complete: a shell asks us for the words that may follow, so that
 * its part is a few lines and never out of step with the table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/options.h"

/* clang-format off */
static const char bash[] =
"_hutch()\n"
"{\n"
"	local cur=${COMP_WORDS[COMP_CWORD]} words\n"
"	words=$(hutch complete \"${COMP_WORDS[@]:1:COMP_CWORD-1}\" 2>/dev/null)\n"
"	mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
"	[ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default\n"
"}\n"
"complete -F _hutch hutch\n";
/* clang-format on */

int
cmd_completion(struct cli *cli, struct err *err)
{
	if (strcmp(cli->arg[0], "bash") != 0)
		return err_set(err, ERR_INVALID,
		    "only bash is known; in others, `hutch complete WORD...' "
		    "tells what may follow");
	fputs(bash, stdout);
	return 0;
}

/* Names that the daemon knows; silent if it doesn't answer. */
static void
known(struct cli *cli, const char *what, const char *key)
{
	json_t *answer = NULL, *o;
	struct err unused;
	size_t i;

	if (api_call(cli_api(cli), "GET", what, NULL, &answer, &unused) < 0)
		return;
	json_array_foreach(json_object_get(answer, what), i, o) {
		const char *name = json_string_value(json_object_get(o, key));

		if (name != NULL)
			puts(name);
	}
	json_decref(answer);
}

/* The first words of commands, or the second ones of those that have two. */
static void
command_words(const char *first)
{
	const char *last = "";

	for (const struct command *c = commands; c->name != NULL; c++) {
		size_t n = strcspn(c->name, " ");

		if (c->takes & TAKES_HIDDEN)
			continue;
		if (first == NULL && strncmp(last, c->name, n + 1) != 0 &&
		    !(strncmp(last, c->name, n) == 0 && last[n] == ' '))
			printf("%.*s\n", (int)n, c->name);
		if (first != NULL && strlen(first) == n &&
		    strncmp(first, c->name, n) == 0 && c->name[n] == ' ')
			puts(c->name + n + 1);
		last = c->name;
	}
}

int
cmd_complete(struct cli *cli, struct err *err)
{
	const struct command *c = NULL;
	const char *word;
	int at = 0;

	(void)err;
	/* Options before the command are not looked into. */
	while (at < cli->narg && cli->arg[at][0] == '-')
		at++;
	if (at == cli->narg) {
		command_words(NULL);
		return 0;
	}
	c = cli_find(cli->arg[at]);
	if (c == NULL && at + 1 < cli->narg) {
		char *two = xasprintf("%s %s", cli->arg[at], cli->arg[at + 1]);

		c = cli_find(two);
		free(two);
	}
	if (c == NULL) {
		command_words(cli->arg[at]);
		return 0;
	}
	for (int i = 0; (word = options_word(c, i)) != NULL; i++)
		puts(word);
	if (strncmp(c->args, "ID", 2) == 0 || strncmp(c->args, "[ID", 3) == 0)
		known(cli, "sandboxes", "id");
	else if (strncmp(c->name, "agent ", 6) == 0 &&
	    strstr(c->args, "NAME") != NULL)
		known(cli, "agents", "name");
	else if (strstr(c->args, "NAME") != NULL ||
	    strstr(c->args, "IMAGE") != NULL)
		known(cli, "images", "name");
	return 0;
}
