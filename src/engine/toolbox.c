#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "base/utf8.h"
#include "engine/toolbox.h"
#include "guest/guest.h"
#include "manager/manager.h"
#include "wire/loop.h"

#define KEEP 65536     /* of one stream of a tool's output */
#define SLACK 4096     /* an honest agent's marker */
#define ANSWER_MS 5000 /* more than the work has */
#define WRITE_MOST (8u << 20)
#define ARGS 2

struct tool_param {
	const char *name, *type, *text;
	bool optional;
};

struct tool_row {
	const char *name, *text;
	const char *guest; /* the agent's tool */
	struct tool_param param[ARGS + 1];
	const char *input; /* the parameter that is written as Input */
	bool warm;         /* runs in the interpreter */
};

/* clang-format off */
static const struct tool_row rows[] = {
	{ "run_shell_command",
	    "Run a shell command in the workspace of the sandbox. Its output is returned.",
	    "run_shell_command", {
		{ "command", "string", "The command.", false }, { NULL } }, NULL, false },
	{ "run_ipython_cell",
	    "Run Python code in an IPython session that keeps its state between calls. What it prints is returned.",
	    "run_ipython_cell", {
		{ "code", "string", "The code.", false }, { NULL } }, NULL, true },
	{ "read_file",
	    "Read a text file of the workspace.",
	    "fs_read", {
		{ "path", "string", "Relative to the workspace.", false }, { NULL } }, NULL, false },
	{ "write_file",
	    "Write a text file of the workspace; its directories are made.",
	    "fs_write", {
		{ "path", "string", "Relative to the workspace.", false },
		{ "content", "string", "All of the file.", false }, { NULL } }, "content", false },
	{ "list_files",
	    "List the files below a directory of the workspace.",
	    "fs_list", {
		{ "path", "string", "Relative to the workspace; all of it if absent.", true }, { NULL } }, NULL, false },
};
/* clang-format on */

#define ROWS (sizeof rows / sizeof *rows)
_Static_assert(TOOLBOX_ALL == (1u << ROWS) - 1, "a bit for each row");

struct toolbox_call {
	struct toolbox *of;
	size_t index;
	const struct tool_row *row;
	json_t *args;
	struct guest_call *call;
	struct str out, errs;
	size_t written; /* of the input */
	bool failed;    /* known before it began: out says why */
	TAILQ_ENTRY(toolbox_call) next;
};

struct toolbox {
	struct toolbox_conf conf;
	char *session, *identity;
	struct sandbox *sandbox; /* held */
	struct wait *wait;
	bool warmed;
	TAILQ_HEAD(, toolbox_call) calls;
};

unsigned
toolbox_bit(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return 1u << i;
	return 0;
}

static json_t *
schema(const struct tool_row *row)
{
	json_t *props = json_object(), *required = json_array();

	for (const struct tool_param *p = row->param; p->name != NULL; p++) {
		json_object_set_new(props, p->name,
		    json_pack("{ss,ss}", "type", p->type, "description",
			p->text));
		if (!p->optional)
			json_array_append_new(required, json_string(p->name));
	}
	return json_pack("{ss,s{ss,ss,s{ss,so,so}}}", "type", "function",
	    "function", "name", row->name, "description", row->text,
	    "parameters", "type", "object", "properties", props, "required",
	    required);
}

char *
toolbox_schema(unsigned bits)
{
	json_t *all = json_array();
	char *text;

	for (size_t i = 0; i < ROWS; i++)
		if (bits & 1u << i)
			json_array_append_new(all, schema(&rows[i]));
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	return text;
}

/* ---- the end of a call ---- */

static void
call_free(struct toolbox_call *c)
{
	TAILQ_REMOVE(&c->of->calls, c, next);
	if (c->call != NULL) {
		guest_cancel(c->call);
		guest_detach(c->call);
	}
	loop_unpost(c->of->conf.loop, c);
	json_decref(c->args);
	str_free(&c->out);
	str_free(&c->errs);
	free(c);
}

static void
tell(void *arg)
{
	struct toolbox_call *c = arg;
	struct toolbox *b = c->of;
	auto_str struct str text = { 0 };
	size_t index = c->index;
	bool failed = c->failed;

	utf8_clean(&text, str_text(&c->out), c->out.len);
	call_free(c);
	b->conf.done(b->conf.arg, index, failed, str_text(&text), text.len);
}

/* Told from the loop, never from within what found it out. */
static void
fail(struct toolbox_call *c, const char *text)
{
	c->failed = true;
	str_cut(&c->out, 0);
	str_printf(&c->out, "Error: %s", text);
	loop_unpost(c->of->conf.loop, c);
	loop_post(c->of->conf.loop, tell, c);
}

/* ---- what the tool says ---- */

static void
on_output(void *arg, int stream, const uint8_t *bytes, size_t n)
{
	struct toolbox_call *c = arg;
	struct str *to = stream == 2 ? &c->errs : &c->out;
	size_t room = KEEP + SLACK - to->len;

	str_add(to, bytes, n < room ? n : room);
	guest_took(c->call, n);
}

static void
on_entry(void *arg, const struct guest_entry *e)
{
	static const char *const marks[] = { "", "/", "@", "?" };
	struct toolbox_call *c = arg;

	if (strcmp(c->row->guest, "fs_list") != 0 || c->out.len >= KEEP)
		return;
	str_add(&c->out, e->path, e->path_len);
	str_puts(&c->out,
	    marks[e->type <= ENTRY_OTHER ? e->type : ENTRY_OTHER]);
	str_putc(&c->out, '\n');
}

/* As much of the input as the agent takes now. */
static void
pour(struct toolbox_call *c)
{
	const json_t *v = json_object_get(c->args, c->row->input);
	size_t n = json_string_length(v), left = n - c->written,
	       room = guest_room(c->call);

	if (left > 0 && room > 0) {
		if (left > room)
			left = room;
		guest_input(c->call, json_string_value(v) + c->written, left);
		c->written += left;
	}
	if (c->written == n) {
		guest_input_end(c->call);
		c->written = n + 1;
	}
}

static void
on_room(void *arg)
{
	struct toolbox_call *c = arg;

	if (c->row->input != NULL &&
	    c->written <=
		json_string_length(json_object_get(c->args, c->row->input)))
		pour(c);
}

static void
on_done(void *arg, const struct guest_done *d)
{
	struct toolbox_call *c = arg;

	c->call = NULL;
	if (c->errs.len > 0) {
		if (c->out.len > 0 && c->out.at[c->out.len - 1] != '\n')
			str_putc(&c->out, '\n');
		str_add(&c->out, c->errs.at, c->errs.len);
	}
	if (d->has_exit && d->exit != 0)
		str_printf(&c->out, "%s[exit status %d]",
		    c->out.len > 0 ? "\n" : "", d->exit);
	if (d->err != NULL)
		str_printf(&c->out, "%s[%s]", c->out.len > 0 ? "\n" : "",
		    d->err->text);
	if (d->running)
		str_puts(&c->out, "\n[it still runs]");
	c->failed = d->err != NULL || (d->has_exit && d->exit != 0);
	if (c->row->input != NULL && d->err == NULL)
		str_puts(&c->out, "Written.");
	loop_post(c->of->conf.loop, tell, c);
}

static const struct guest_sink sink = { on_output, on_entry, on_room, on_done };

/* ---- the beginning ---- */

static void
run(struct toolbox_call *c)
{
	struct toolbox *b = c->of;
	struct guest *g = sandbox_guest(b->sandbox);
	struct guest_arg arg[ARGS + 1] = { 0 };
	struct guest_request r = { .tool = c->row->guest,
		.arg = arg,
		.answer_ms = b->conf.timeout_ms + ANSWER_MS,
		.work_ms = b->conf.timeout_ms,
		.cap = KEEP,
		.sink = &sink,
		.sink_arg = c };
	struct err err;
	size_t n = 0;

	for (const struct tool_param *p = c->row->param; p->name != NULL; p++) {
		const json_t *v = json_object_get(c->args, p->name);

		if (v == NULL ||
		    (c->row->input != NULL &&
			strcmp(c->row->input, p->name) == 0))
			continue;
		arg[n++] = (struct guest_arg){ p->name, ARG_TEXT,
			json_string_value(v), json_string_length(v) };
	}
	if (g == NULL) {
		fail(c, "the sandbox has ended");
		return;
	}
	c->call = guest_call(g, &r, &err);
	if (c->call == NULL)
		fail(c, err.text);
	else if (c->row->input != NULL)
		pour(c);
}

/* Those that wait for the sandbox, or for its interpreter. */
static void
run_waiting(struct toolbox *b)
{
	struct toolbox_call *c, *after;

	for (c = TAILQ_FIRST(&b->calls); c != NULL; c = after) {
		after = TAILQ_NEXT(c, next);
		if (c->call == NULL && !c->failed &&
		    (!c->row->warm || b->warmed))
			run(c);
	}
}

static bool
some_warm(const struct toolbox *b)
{
	const struct toolbox_call *c;

	TAILQ_FOREACH(c, &b->calls, next)
		if (c->call == NULL && !c->failed && c->row->warm)
			return true;
	return false;
}

static void
fail_waiting(struct toolbox *b, const struct err *why)
{
	struct toolbox_call *c;

	TAILQ_FOREACH(c, &b->calls, next)
		if (c->call == NULL && !c->failed)
			fail(c, why->text);
}

static void
on_warm(void *arg, struct sandbox *sb, const struct err *err)
{
	struct toolbox *b = arg;

	b->wait = NULL;
	b->warmed = true;
	if (sb == NULL)
		fail_waiting(b, err);
	else
		run_waiting(b);
}

static void
warm(struct toolbox *b)
{
	if (b->warmed || b->wait != NULL || !some_warm(b))
		return;
	b->wait = manager_warm(b->conf.manager, b->sandbox, on_warm, b);
	if (b->wait == NULL)
		b->warmed = true;
}

static void
on_sandbox(void *arg, struct sandbox *sb, const struct err *err)
{
	struct toolbox *b = arg;

	b->wait = NULL;
	if (sb == NULL) {
		fail_waiting(b, err);
		return;
	}
	sandbox_hold(sb);
	b->sandbox = sb;
	warm(b);
	run_waiting(b);
}

/* The newest of the session, restored if need be; else a new one. */
static int
find_sandbox(struct toolbox *b, struct err *err)
{
	struct manager *m = b->conf.manager;
	struct create create = { .tenant = b->conf.tenant,
		.type = b->conf.type,
		.pooled = true };
	json_t *known = manager_session(m, b->conf.tenant, b->session);
	const char *id = b->identity != NULL
	    ? b->identity
	    : json_string_value(
		  json_array_get(known, json_array_size(known) - 1));

	if (id != NULL) {
		b->wait = manager_ready(m, b->conf.tenant, id, false,
		    on_sandbox, b, err);
	} else {
		create.meta = json_pack("{ss}", "session_ctx_id", b->session);
		b->wait = manager_create(m, &create, on_sandbox, b, err);
		json_decref(create.meta);
	}
	json_decref(known);
	return b->wait != NULL ? 0 : -1;
}

static void
begin(struct toolbox *b)
{
	struct err err;

	if (b->sandbox != NULL && sandbox_guest(b->sandbox) == NULL &&
	    b->wait == NULL) { /* it has ended since */
		sandbox_drop(take_ptr(&b->sandbox));
		b->warmed = false;
	}
	if (b->sandbox != NULL) {
		warm(b);
		run_waiting(b);
	} else if (b->wait == NULL && find_sandbox(b, &err) < 0)
		fail_waiting(b, &err);
}

/* ---- asking ---- */

static int
check(struct toolbox_call *c, const char *arguments, size_t n, struct err *err)
{
	json_error_t e;

	c->args = n > 0 ? json_loadb(arguments, n, 0, &e) : json_object();
	if (!json_is_object(c->args))
		return err_set(err, ERR_INVALID,
		    "the arguments are not a JSON object");
	for (const struct tool_param *p = c->row->param; p->name != NULL; p++) {
		const json_t *v = json_object_get(c->args, p->name);

		if (v == NULL && p->optional)
			continue;
		if (!json_is_string(v))
			return err_set(err, ERR_INVALID,
			    "the argument \"%s\" has to be a string", p->name);
		if (json_string_length(v) > WRITE_MOST)
			return err_set(err, ERR_LIMIT, "\"%s\" is too long",
			    p->name);
	}
	return 0;
}

void
toolbox_call(struct toolbox *b, size_t index, const char *name,
    const char *arguments, size_t n)
{
	struct toolbox_call *c = xcalloc(1, sizeof *c);
	unsigned bit = toolbox_bit(name) & b->conf.bits;
	auto_free char *text = NULL;
	struct err err;

	c->of = b;
	c->index = index;
	TAILQ_INSERT_TAIL(&b->calls, c, next);
	if (bit == 0) {
		text = xasprintf("there is no tool %.60s", name);
		fail(c, text);
		return;
	}
	c->row = &rows[__builtin_ctz(bit)];
	if (check(c, arguments, n, &err) < 0)
		fail(c, err.text);
	else
		begin(b);
}

struct toolbox *
toolbox_new(const struct toolbox_conf *conf)
{
	struct toolbox *b = xcalloc(1, sizeof *b);

	b->conf = *conf;
	b->session = xstrdup(conf->session);
	if (conf->identity != NULL)
		b->identity = xstrdup(conf->identity);
	TAILQ_INIT(&b->calls);
	return b;
}

void
toolbox_free(struct toolbox *b)
{
	struct toolbox_call *c;

	if (b == NULL)
		return;
	while ((c = TAILQ_FIRST(&b->calls)) != NULL)
		call_free(c);
	if (b->wait != NULL)
		manager_forget(b->wait);
	if (b->sandbox != NULL)
		sandbox_drop(b->sandbox);
	free(b->session);
	free(b->identity);
	free(b);
}
