#include <stdio.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "engine/escape.h"
#include "engine/react_int.h"
#include "engine/run.h"

#define GROWN 8 /* arguments are told again when they grew by an eighth */

static struct slice
label(struct react *r, char *buf, size_t room, char what, size_t n)
{
	int len = snprintf(buf, room, "%u%c%zu", r->step, what, n);

	return (struct slice){ buf, (size_t)len };
}

void
react_close_message(struct react *r, char what, size_t n,
    enum run_status status)
{
	char name[32];
	struct run_message m = { .status = status };

	m.label = label(r, name, sizeof name, what, n);
	run_message(r->run, &m);
}

static void
say(struct react *r, char what, const char *type, bool *open, const char *text,
    size_t n)
{
	auto_str struct str escaped = { 0 };
	char name[32];
	struct slice as = label(r, name, sizeof name, what, 0);
	struct run_content c = { .label = as,
		.type = PART_TEXT,
		.index = 0,
		.delta = true,
		.valued = true };

	if (r->over)
		return;
	if (!*open)
		run_message(r->run,
		    &(struct run_message){ .label = as,
			.type = type,
			.role = "assistant",
			.status = RUN_IN_PROGRESS });
	*open = true;
	escape_text(&escaped, text, n);
	c.value[0] = (struct slice){ str_text(&escaped), escaped.len };
	run_content(r->run, &c);
}

void
react_close_part(struct react *r, char what, bool *open)
{
	char name[32];
	struct run_content c = { .type = PART_TEXT, .completed = true };

	if (!*open || r->over)
		return;
	*open = false;
	c.label = label(r, name, sizeof name, what, 0);
	run_content(r->run, &c);
	react_close_message(r, what, 0, RUN_COMPLETED);
}

static void
on_text(void *arg, const char *text, size_t n)
{
	struct react *r = arg;

	react_close_part(r, 'r', &r->thought_open);
	say(r, 't', "message", &r->text_open, text, n);
}

static void
on_thought(void *arg, const char *text, size_t n)
{
	struct react *r = arg;

	if (r->conf.reasoning)
		say(r, 'r', "reasoning", &r->thought_open, text, n);
}

/* {"call_id","name","arguments"|"output"}: a message of one data part. */
void
react_tool_value(struct react *r, char what, size_t i, const char *member,
    const char *text, size_t n, bool completed)
{
	const struct tool_call *t = &r->said.call[i];
	auto_str struct str value = { 0 };
	char name[32];
	struct run_content c = { .type = PART_DATA,
		.index = 0,
		.valued = true,
		.completed = completed };

	str_puts(&value, "{\"call_id\":");
	escape_quote(&value, t->id);
	str_puts(&value, ",\"name\":");
	escape_quote(&value, t->name);
	str_printf(&value, ",\"%s\":\"", member);
	escape_text(&value, text, n);
	str_puts(&value, "\"}");
	c.label = label(r, name, sizeof name, what, i);
	c.value[0] = (struct slice){ value.at, value.len };
	run_content(r->run, &c);
}

void
react_open_tool(struct react *r, char what, size_t i, const char *type,
    const char *role)
{
	char name[32];
	struct run_message m = { .type = type,
		.role = role,
		.status = RUN_IN_PROGRESS };

	m.label = label(r, name, sizeof name, what, i);
	run_message(r->run, &m);
}

/* A call has no id of the model's: it gets one of ours. */
void
react_name_call(struct react *r, struct tool_call *t, size_t i)
{
	if (t->name == NULL)
		t->name = xstrdup("");
	if (t->id == NULL)
		t->id = xasprintf("call_%u_%zu", r->step, i);
}

static void
on_call(void *arg, size_t i)
{
	struct react *r = arg;
	struct tool_call *t = &r->said.call[i];
	size_t n = t->arguments.len;

	if (r->over)
		return;
	react_close_part(r, 'r', &r->thought_open);
	react_close_part(r, 't', &r->text_open);
	react_name_call(r, t, i);
	if (r->told[i] == 0) {
		react_open_tool(r, 'c', i, "plugin_call", "assistant");
		react_tool_value(r, 'c', i, "arguments", "", 0, false);
		r->told[i] = 1;
	}
	if (n == 0 || n + 1 <= r->told[i] + r->told[i] / GROWN)
		return;
	r->told[i] = n + 1;
	react_tool_value(r, 'c', i, "arguments", str_text(&t->arguments), n,
	    false);
}

const struct completion_ops react_said = { on_text, on_thought, on_call };

/* [{"type": "text", "text": ...}], as a tool's output is told. */
void
react_tell_output(struct react *r, size_t i, const char *text, size_t n)
{
	auto_str struct str all = { 0 };

	str_puts(&all, "[{\"type\": \"text\", \"text\": \"");
	escape_text(&all, text, n);
	str_puts(&all, "\"}]");
	react_tool_value(r, 'o', i, "output", all.at, all.len, true);
	react_close_message(r, 'o', i, RUN_COMPLETED);
}
