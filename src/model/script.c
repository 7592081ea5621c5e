#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/own.h"
#include "base/str.h"
#include "model/script.h"

#define ACTS_MOST 256
#define FLAKY 64
#define COUNT_MOST 10000

/* What is known of the conversation. */
struct talk {
	const json_t *request, *messages;
	size_t n;
	size_t asked;    /* index of the last message of the user */
	unsigned step;   /* the model's own messages since */
	struct str text; /* what the user said last */
	struct str out;  /* what tools have said since the model spoke */
};

static struct act *
add(struct script *s, enum act_kind kind, const char *text)
{
	struct act *a;

	s->act = xrealloc(s->act, (s->n + 1) * sizeof *s->act);
	a = &s->act[s->n++];
	*a = (struct act){ .kind = kind, .text = xstrdup(text) };
	return a;
}

/* ---- the conversation ---- */

static void
text_of(const json_t *message, struct str *out)
{
	const json_t *content = json_object_get(message, "content"), *part;
	size_t i;

	if (json_is_string(content))
		str_puts(out, json_string_value(content));
	json_array_foreach(content, i, part) {
		const char *text =
		    json_string_value(json_object_get(part, "text"));

		if (text != NULL)
			str_puts(out, text);
	}
}

static bool
is_role(const json_t *message, const char *role)
{
	const char *has = json_string_value(json_object_get(message, "role"));

	return has != NULL && strcmp(has, role) == 0;
}

static const json_t *
nth(const struct talk *t, size_t i)
{
	return json_array_get(t->messages, i);
}

static void
listen(struct talk *t, const json_t *request)
{
	*t = (struct talk){ .request = request };
	t->messages = json_object_get(request, "messages");
	t->n = json_array_size(t->messages);
	t->asked = t->n;
	for (size_t i = 0; i < t->n; i++)
		if (is_role(nth(t, i), "user"))
			t->asked = i;
	if (t->asked < t->n)
		text_of(nth(t, t->asked), &t->text);
	for (size_t i = t->asked + 1; i < t->n; i++) {
		if (is_role(nth(t, i), "assistant")) {
			t->step++;
			str_cut(&t->out, 0);
		} else if (is_role(nth(t, i), "tool")) {
			if (t->out.len > 0)
				str_putc(&t->out, '\n');
			text_of(nth(t, i), &t->out);
		}
	}
}

static bool
has_tool(const struct talk *t, const char *name)
{
	const json_t *tool, *tools = json_object_get(t->request, "tools");
	size_t i;

	json_array_foreach(tools, i, tool) {
		const char *is = json_string_value(
		    json_object_get(json_object_get(tool, "function"), "name"));

		if (is != NULL && strcmp(is, name) == 0)
			return true;
	}
	return false;
}

/* ---- a script in the message ---- */

static char *
trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]);)
		s[--n] = '\0';
	return s;
}

/* $out, the tools' last word, and $step. */
static char *
expand(const struct talk *t, const char *text)
{
	struct str out = { 0 };

	for (const char *p = text; *p != '\0';) {
		if (strncmp(p, "$out", 4) == 0) {
			str_puts(&out, str_text(&t->out));
			p += 4;
		} else if (strncmp(p, "$step", 5) == 0) {
			str_printf(&out, "%u", t->step);
			p += 5;
		} else {
			str_putc(&out, *p++);
		}
	}
	return str_take(&out);
}

/* True for the first `times` times that this is asked of text. */
static bool
still_failing(const char *text, unsigned times)
{
	static struct {
		uint64_t hash;
		unsigned n;
	} seen[FLAKY];
	uint64_t h = 14695981039346656037ull;
	size_t i;

	for (const char *p = text; *p != '\0'; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211ull;
	for (i = 0; i < FLAKY - 1 && seen[i].n > 0 && seen[i].hash != h; i++)
		;
	if (seen[i].hash != h)
		seen[i].n = 0;
	seen[i].hash = h;
	if (++seen[i].n <= times)
		return true;
	seen[i].n = 0;
	return false;
}

static void
act_call(struct script *s, const char *rest)
{
	size_t n = strcspn(rest, " \t");
	const char *args = rest + n + strspn(rest + n, " \t");
	struct act *a = add(s, ACT_CALL, *args != '\0' ? args : "{}");

	a->name = xstrndup(rest, n);
}

static unsigned
failure(unsigned status)
{
	return status >= 400 && status < 600 ? status : 500;
}

static void
act_fail(struct script *s, const char *rest)
{
	char *text;
	unsigned status = (unsigned)strtoul(rest, &text, 10);
	struct act *a;

	while (isspace((unsigned char)*text))
		text++;
	a = add(s, ACT_FAIL, *text != '\0' ? text : "scripted failure");
	a->number = failure(status);
}

/* clang-format off */
static const struct {
	const char *word;
	enum act_kind kind;
	bool number;
} words[] = {
	{ "say",	ACT_SAY,	false },
	{ "think",	ACT_THINK,	false },
	{ "pace",	ACT_PACE,	true },
	{ "wait",	ACT_WAIT,	true },
	{ "cut",	ACT_CUT,	false },
	{ "endless",	ACT_ENDLESS,	false },
	{ "finish",	ACT_FINISH,	false },
};
/* clang-format on */

static void
directive(struct script *s, const struct talk *t, char *line)
{
	size_t n = strcspn(line, " \t");
	char *rest = line + n + (line[n] != '\0');
	auto_free char *text = expand(t, rest);
	unsigned times, status;

	line[n] = '\0';
	if (strcmp(line, "call") == 0)
		act_call(s, text);
	else if (strcmp(line, "fail") == 0)
		act_fail(s, text);
	else if (strcmp(line, "flaky") == 0 &&
	    sscanf(text, "%u %u", &times, &status) == 2) {
		if (still_failing(str_text(&t->text), times))
			add(s, ACT_FAIL, "try again")->number = failure(status);
	} else
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strcmp(words[i].word, line) == 0)
				add(s, words[i].kind, text)->number =
				    words[i].number
				    ? (unsigned)strtoul(text, NULL, 10)
				    : 0;
}

/* The end of a directive: ";;" or a new line. */
static char *
next(char **at)
{
	char *line = *at, *end = line;

	if (line == NULL)
		return NULL;
	while (
	    *end != '\0' && *end != '\n' && !(end[0] == ';' && end[1] == ';'))
		end++;
	if (*end == '\0') {
		*at = NULL;
	} else {
		*at = end + (*end == '\n' ? 1 : 2);
		*end = '\0';
	}
	return trim(line);
}

static void
follow(struct script *s, const struct talk *t, const char *text)
{
	auto_free char *copy = xstrdup(text);
	char *at = copy, *line;
	unsigned step = 0;

	while (s->n < ACTS_MOST && (line = next(&at)) != NULL) {
		if (strcmp(line, "then") == 0)
			step++;
		else if (step == t->step && *line != '\0')
			directive(s, t, line);
	}
	if (s->n == 0 && t->step > step)
		add(s, ACT_SAY, "The script is over.");
}

/* ---- plain talk ---- */

static const char *
after(const char *text, const char *word)
{
	const char *at = strcasestr(text, word);

	return at != NULL ? at + strlen(word) + strspn(at + strlen(word), " ")
			  : NULL;
}

static const char *
begins(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncasecmp(text, word, n) == 0
	    ? text + n + strspn(text + n, " ")
	    : NULL;
}

static void
call_one(struct script *s, const char *tool, const char *param,
    const char *value)
{
	json_t *args = json_pack("{ss}", param, value);
	auto_free char *text =
	    args != NULL ? json_dumps(args, JSON_COMPACT) : xstrdup("{}");
	struct act *a;

	json_decref(args);
	add(s, ACT_THINK, "A tool can tell.");
	a = add(s, ACT_CALL, text);
	a->name = xstrdup(tool);
}

static bool
tools_talk(struct script *s, const struct talk *t, const char *text)
{
	static const struct {
		const char *word, *tool, *param;
	} rows[] = {
		{ "run ", "run_shell_command", "command" },
		{ "$ ", "run_shell_command", "command" },
		{ "python ", "run_ipython_cell", "code" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *rest = begins(text, rows[i].word);

		if (rest == NULL || !has_tool(t, rows[i].tool))
			continue;
		if (t->step == 0) {
			call_one(s, rows[i].tool, rows[i].param, rest);
		} else {
			auto_free char *said =
			    xasprintf("It printed:\n%s", str_text(&t->out));

			add(s, ACT_SAY, said);
		}
		return true;
	}
	return false;
}

static bool
count_talk(struct script *s, const char *text)
{
	const char *rest = begins(text, "count to ");
	struct str all = { 0 };
	unsigned n;

	if (rest == NULL || (n = (unsigned)strtoul(rest, NULL, 10)) == 0)
		return false;
	if (n > COUNT_MOST)
		n = COUNT_MOST;
	for (unsigned i = 1; i <= n; i++)
		str_printf(&all, "%s%u", i > 1 ? " " : "", i);
	add(s, ACT_PACE, "")->number = 100;
	add(s, ACT_SAY, str_text(&all));
	str_free(&all);
	return true;
}

/* The user's own words, latest first; NULL: no more. */
static char *
said_before(const struct talk *t, size_t *at)
{
	while (*at > 0) {
		struct str text = { 0 };

		if (!is_role(nth(t, --*at), "user"))
			continue;
		text_of(nth(t, *at), &text);
		return str_take(&text);
	}
	return NULL;
}

static char *
name_said(const struct talk *t)
{
	size_t at = t->asked;
	char *text;

	while ((text = said_before(t, &at)) != NULL) {
		const char *name = after(text, "my name is ");
		char *found = name != NULL
		    ? xstrndup(name, strcspn(name, " .,!?\n"))
		    : NULL;

		free(text);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static bool
memory_talk(struct script *s, const struct talk *t, const char *text)
{
	const char *name = after(text, "my name is ");
	auto_free char *known = NULL, *said = NULL;
	size_t at = t->asked;

	if (strcasestr(text, "what is my name") != NULL ||
	    strcasestr(text, "what's my name") != NULL) {
		known = name_said(t);
		said = known != NULL ? xasprintf("Your name is %s.", known)
				     : xstrdup("You have not told me.");
	} else if (name != NULL) {
		known = xstrndup(name, strcspn(name, " .,!?\n"));
		said = xasprintf("Nice to meet you, %s.", known);
	} else if (strcasestr(text, "what did i say") != NULL) {
		known = said_before(t, &at);
		said = known != NULL ? xasprintf("You said: %s", known)
				     : xstrdup("Nothing before this.");
	}
	if (said == NULL)
		return false;
	add(s, ACT_SAY, said);
	return true;
}

static void
plain(struct script *s, const struct talk *t)
{
	const char *text = str_text(&t->text), *rest;
	auto_free char *said = NULL;

	if (tools_talk(s, t, text) || count_talk(s, text) ||
	    memory_talk(s, t, text))
		return;
	rest = begins(text, "think about ");
	if (rest != NULL) {
		said = xasprintf("About %s: one could say much.", rest);
		add(s, ACT_THINK, said);
		add(s, ACT_SAY, "I have thought about it.");
	} else if (strcasestr(text, "capital of france") != NULL) {
		add(s, ACT_SAY, "The capital of France is Paris.");
	} else {
		said = xasprintf("You said: %s", text);
		add(s, ACT_SAY, said);
	}
}

void
script_make(struct script *s, const json_t *request)
{
	struct talk t;
	const char *script;

	*s = (struct script){ 0 };
	listen(&t, request);
	script = begins(str_text(&t.text), "script:");
	if (script != NULL)
		follow(s, &t, script);
	else
		plain(s, &t);
	str_free(&t.text);
	str_free(&t.out);
}

void
script_free(struct script *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->act[i].name);
		free(s->act[i].text);
	}
	free(s->act);
	*s = (struct script){ 0 };
}
