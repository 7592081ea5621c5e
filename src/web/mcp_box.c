/* Tools of a sandbox as MCP has them: commands, cells, files. */
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "engine/escape.h"
#include "guest/guest.h"
#include "json/jtext.h"
#include "manager/manager.h"
#include "web/app.h"
#include "web/http.h"
#include "web/mcp_int.h"
#include "web/work.h"
#include "wire/loop.h"

#define LISTED 2000 /* entries of a folder that are told */
#define ALIVE_MS 5000

struct mcp_tool {
	const char *name, *text;
	const char *tool;               /* the agent's; NULL: see run */
	const char *arg, *arg_text;     /* its one argument that is needed */
	const char *input, *input_text; /* and its content; NULL: none */
	bool timeout;
};

static const struct mcp_tool tools[] = {
	{ "run_shell_command",
	    "Run a command with /bin/sh in a sandbox; its folder is "
	    "/workspace.",
	    "run_shell_command", "command", "The command.", NULL, NULL, true },
	{ "run_ipython_cell",
	    "Run Python in a sandbox, in an interpreter that keeps its state.",
	    "run_ipython_cell", "code", "The code, as a cell of IPython.", NULL,
	    NULL, true },
	{ "read_file", "Read a file of the sandbox's workspace.", "fs_read",
	    "path", "Relative to /workspace, or absolute and in it.", NULL,
	    NULL, false },
	{ "write_file",
	    "Write a file of the sandbox's workspace; folders are made.",
	    "fs_write", "path",
	    "Relative to /workspace, or absolute and in it.", "content",
	    "The whole text of the file.", false },
	{ "list_files", "List a folder of the sandbox's workspace.", "fs_list",
	    "path", "A folder; \".\" is /workspace.", NULL, NULL, false },
	{ "open_sandbox",
	    "Make a sandbox of one's own; its id goes into the other tools' "
	    "sandbox argument.",
	    NULL, NULL, NULL, NULL, NULL, false },
	{ "close_sandbox", "Give a sandbox back that open_sandbox made.", NULL,
	    NULL, NULL, NULL, NULL, false },
};

const struct mcp_tool *
mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

static void
add_param(json_t *schema, const char *name, const char *type, const char *text,
    bool required)
{
	json_object_set_new(json_object_get(schema, "properties"), name,
	    json_pack("{s:s,s:s}", "type", type, "description", text));
	if (required)
		json_array_append_new(json_object_get(schema, "required"),
		    json_string(name));
}

void
mcp_box_tools(json_t *list)
{
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		const struct mcp_tool *t = &tools[i];
		json_t *s = json_pack("{s:s,s:{},s:[]}", "type", "object",
		    "properties", "required");

		if (t->arg != NULL)
			add_param(s, t->arg, "string", t->arg_text, true);
		if (t->input != NULL)
			add_param(s, t->input, "string", t->input_text, true);
		if (t->timeout)
			add_param(s, "timeout", "number",
			    "Seconds after which it is ended.", false);
		if (strcmp(t->name, "open_sandbox") == 0)
			add_param(s, "type", "string",
			    "The type of sandbox; absent: the usual one.",
			    false);
		else
			add_param(s, "sandbox", "string",
			    "A sandbox's id from open_sandbox; absent: the "
			    "session's own, where there are sessions.",
			    t->tool == NULL);
		json_array_append_new(list,
		    json_pack("{s:s,s:s,s:o}", "name", t->name, "description",
			t->text, "inputSchema", s));
	}
}

/* ---- one call ---- */

struct boxcall {
	struct mcp_call c; /* its rpc is owned */
	const struct mcp_tool *tool;
	const json_t *args;
	struct mcp_wait *box;
	struct wait *wait;
	struct work *work;
	struct watch *alive;
	char *progress; /* NULL: one JSON reply */
	unsigned steps;
	int64_t started_ms;
	struct str list;
	unsigned listed;
	struct guest_arg arg[2];
};

static void
closed(struct http_req *q)
{
	struct boxcall *b = http_req_data(q);

	if (b->box != NULL)
		mcp_wait_forget(b->box);
	if (b->wait != NULL)
		manager_forget(b->wait);
	if (b->work != NULL)
		work_forget(b->work);
	if (b->c.session != NULL)
		mcp_session_drop(b->c.session);
	watch_free(b->alive);
	jsonrpc_free(&b->c.rpc);
	str_free(&b->list);
	free(b->progress);
	free(b);
}

static void
say_event(struct boxcall *b, const struct str *json)
{
	http_reply_write(b->c.q, "data: ", 6);
	http_reply_write(b->c.q, str_text(json), json->len);
	http_reply_write(b->c.q, "\n\n", 2);
}

static void
say_progress(void *arg, int what)
{
	struct boxcall *b = arg;
	auto_str struct str s = { 0 };

	(void)what;
	str_printf(&s,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
	    "\"params\":{\"progressToken\":%s,\"progress\":%u}}",
	    b->progress, b->steps++);
	say_event(b, &s);
	watch_arm(b->alive, ALIVE_MS);
}

/* result is taken; the last that is said. */
static void
finish(struct boxcall *b, json_t *result)
{
	auto_str struct str out = { 0 }, text = { 0 };

	if (b->progress == NULL) {
		mcp_say(&b->c, result);
		return;
	}
	if (b->c.modern)
		json_object_set_new(result, "resultType",
		    json_string("complete"));
	escape_json(&text, result);
	json_decref(result);
	jsonrpc_result(&out, b->c.rpc.id, str_text(&text));
	say_event(b, &out);
	http_reply_end(b->c.q);
}

static void
finish_err(struct boxcall *b, const struct err *err)
{
	finish(b, mcp_text_result(err->text, true));
}

static void
entry(void *arg, const struct guest_entry *e)
{
	static const char marks[] = { 'f', 'd', 'l', 'o' };
	struct boxcall *b = arg;

	if (b->listed++ >= LISTED)
		return;
	str_printf(&b->list, "%c %10lld ", marks[e->type],
	    (long long)(e->size < 0 ? 0 : e->size));
	str_add(&b->list, e->path, e->path_len);
	str_putc(&b->list, '\n');
}

/* Bytes as a string, whatever they are. */
static json_t *
bytes(const char *at, size_t n)
{
	auto_str struct str quoted = { 0 };

	jtext_quote(&quoted, at, n);
	return json_loadb(quoted.at, quoted.len,
	    JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static void
add_text(json_t *content, const struct str *s)
{
	json_array_append_new(content,
	    json_pack("{s:s,s:o}", "type", "text", "text",
		bytes(str_text(s), s->len)));
}

static json_t *
result_of(struct boxcall *b, const struct work_outcome *o)
{
	json_t *content = json_array(), *more = json_object();
	bool listing = strcmp(b->tool->name, "list_files") == 0;
	auto_str struct str remark = { 0 };

	add_text(content, listing ? &b->list : &o->out);
	if (o->errs.len > 0)
		add_text(content, &o->errs);
	if (o->tool_err != NULL)
		str_puts(&remark, o->tool_err->text);
	else if (o->running)
		str_printf(&remark,
		    "[not done after %u s: it goes on in the sandbox]",
		    o->waited_s);
	else if (o->has_exit && o->exit != 0)
		str_printf(&remark, "[exit status %d]", o->exit);
	if (b->listed > LISTED)
		str_printf(&remark, "[%u entries; the first %u are here]",
		    b->listed, LISTED);
	if (remark.len > 0)
		add_text(content, &remark);
	if (o->has_exit && !o->running)
		json_object_set_new(more, "exit_code", json_integer(o->exit));
	if (b->tool->timeout) {
		json_object_set_new(more, "stdout",
		    bytes(str_text(&o->out), o->out.len));
		json_object_set_new(more, "stderr",
		    bytes(str_text(&o->errs), o->errs.len));
	}
	more = json_object_size(more) > 0
	    ? json_pack("{s:o,s:o}", "content", content, "structuredContent",
		  more)
	    : (json_decref(more), json_pack("{s:o}", "content", content));
	json_object_set_new(more, "isError",
	    json_boolean(o->tool_err != NULL || (o->has_exit && o->exit != 0)));
	return more;
}

static void
worked(void *arg, struct work_outcome *o)
{
	struct boxcall *b = arg;

	b->work = NULL;
	if (o->err != NULL)
		finish_err(b, o->err);
	else
		finish(b, result_of(b, o));
}

static void
have_box(void *arg, const char *identity, const struct err *err)
{
	struct boxcall *b = arg;
	const json_t *v = json_object_get(b->args, b->tool->arg);
	struct work_request want = { .app = b->c.app,
		.tenant = b->c.tenant,
		.identity = identity,
		.tool = b->tool->tool,
		.arg = b->arg,
		.started_ms = b->started_ms,
		.entry = entry };
	double s = json_number_value(json_object_get(b->args, "timeout"));
	struct err why;

	b->box = NULL;
	if (identity == NULL) {
		finish_err(b, err);
		return;
	}
	b->arg[0] = (struct guest_arg){ .name = b->tool->arg,
		.type = ARG_TEXT,
		.text = jtext_string(v, &b->arg[0].len) };
	(void)jtext_string(v, &b->arg[0].len);
	if (b->tool->timeout && s > 0 && s < 1e6)
		want.work_ms = (uint32_t)(s * 1000) + 1;
	if (b->tool->input != NULL)
		want.input =
		    jtext_string(json_object_get(b->args, b->tool->input),
			&want.input_len);
	b->work = work_start(&want, worked, b, &why);
	if (b->work == NULL)
		finish_err(b, &why);
}

static void
opened(void *arg, struct sandbox *sb, const struct err *err)
{
	struct boxcall *b = arg;
	const char *id;

	b->wait = NULL;
	if (sb == NULL) {
		finish_err(b, err);
		return;
	}
	id = sandbox_record(sb)->id;
	finish(b,
	    json_pack("{s:[{s:s,s:s}],s:{s:s},s:b}", "content", "type", "text",
		"text", id, "structuredContent", "sandbox", id, "isError", 0));
}

static void
open_box(struct boxcall *b)
{
	struct create want = { .tenant = b->c.tenant,
		.type = jtext_cstring(json_object_get(b->args, "type")),
		.pooled = true };
	struct err err;

	b->wait = manager_create(b->c.app->manager, &want, opened, b, &err);
	if (b->wait == NULL)
		finish_err(b, &err);
}

/* Without an agent's tool: open_sandbox, close_sandbox. */
static void
run_own(struct boxcall *b, const char *sandbox)
{
	struct manager *m = b->c.app->manager;

	if (strcmp(b->tool->name, "open_sandbox") == 0)
		open_box(b);
	else if (sandbox == NULL)
		finish(b, mcp_text_result("sandbox is missing", true));
	else if (manager_find(m, b->c.tenant, sandbox, true) == NULL ||
	    manager_release(m, b->c.tenant, sandbox) != 1)
		finish(b, mcp_text_result("there is no such sandbox", true));
	else
		finish(b, mcp_text_result("closed", false));
}

/* NULL: nothing is wrong with the arguments. */
static const char *
missing(const struct mcp_tool *t, const json_t *args)
{
	size_t n;

	if (t->arg != NULL &&
	    jtext_string(json_object_get(args, t->arg), &n) == NULL)
		return t->arg;
	if (t->input != NULL &&
	    jtext_string(json_object_get(args, t->input), &n) == NULL)
		return t->input;
	return NULL;
}

static struct boxcall *
boxcall_new(struct mcp_call *c, const struct mcp_tool *t, const json_t *args,
    const char *progress)
{
	struct boxcall *b = xcalloc(1, sizeof *b);

	b->c = *c;
	c->rpc = (struct jsonrpc){ 0 }; /* is this call's now */
	b->tool = t;
	b->args = args;
	b->started_ms = clock_ms();
	if (b->c.session != NULL)
		mcp_session_hold(b->c.session);
	http_req_set_data(c->q, b);
	http_req_on_closed(c->q, closed);
	if (progress != NULL && mcp_wants_stream(c->q)) {
		b->progress = xstrdup(progress);
		b->alive = watch_timer(c->app->loop, say_progress, b);
		http_reply_start(c->q, 200, "text/event-stream", -1);
		say_progress(b, 0);
	}
	return b;
}

void
mcp_box_call(struct mcp_call *c, const struct mcp_tool *t, const json_t *args,
    const char *progress)
{
	const char *what = missing(t, args);
	const char *sandbox = jtext_cstring(json_object_get(args, "sandbox"));
	auto_str struct str why = { 0 };
	struct boxcall *b;

	if (what != NULL) {
		str_printf(&why, "arguments.%s must be a string", what);
		mcp_fail(c, 200, RPC_PARAMS, why.at, NULL);
		return;
	}
	b = boxcall_new(c, t, args, progress);
	if (t->tool == NULL)
		run_own(b, sandbox);
	else if (sandbox != NULL)
		have_box(b, sandbox, NULL);
	else if (b->c.session != NULL)
		b->box = mcp_session_box(b->c.session, have_box, b);
	else
		finish(b,
		    mcp_text_result("sandbox is missing: open_sandbox gives "
				    "one",
			true));
}
