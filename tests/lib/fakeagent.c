#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"
#include "tests/lib/fakeagent.h"
#include "wire/frame.h"
#include "wire/loop.h"

#define CALLS 64

struct fakeagent {
	struct loop *loop;
	int fd;
	struct watch *in, *out;
	struct frame_reader reader;
	struct str queue;
	const struct faketool *tool;
	void *arg;
	struct fakecall call[CALLS]; /* number 0: free */
	Guest__Request *request[CALLS];
	struct str text[CALLS][16]; /* arguments that came in pieces */
	Guest__Request *setup;
	uint32_t last;
	bool silent, busy, freed;
	struct str workspace; /* what fs_tar gives and fs_untar takes */
};

static void
flush(struct fakeagent *a)
{
	while (a->queue.len > 0) {
		ssize_t n = send(a->fd, a->queue.at, a->queue.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			break;
		str_drop(&a->queue, (size_t)n);
	}
	if (a->queue.len > 0)
		watch_go(a->out);
	else
		watch_stop(a->out);
}

static void
writable(void *arg, int what)
{
	(void)what;
	flush(arg);
}

void
fakeagent_raw(struct fakeagent *a, const void *bytes, size_t n)
{
	str_add(&a->queue, bytes, n);
	flush(a);
}

void
fakeagent_send(struct fakeagent *a, const Guest__Event *e)
{
	size_t n = guest__event__get_packed_size(e);
	uint8_t head[FRAME_HEAD];

	frame_head(head, n);
	str_add(&a->queue, head, sizeof head);
	guest__event__pack(e, str_extend(&a->queue, n));
	flush(a);
}

void
fakeagent_hello(struct fakeagent *a, uint32_t generation)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Hello h = GUEST__HELLO__INIT;
	Guest__Tool tool[16], *at[16];
	Guest__Param param[16], *params[16];

	e.kind_case = GUEST__EVENT__KIND_HELLO;
	e.hello = &h;
	h.generation = generation;
	h.version = 1;
	for (; a->tool[h.n_tools].name != NULL && h.n_tools < 16; h.n_tools++) {
		const struct faketool *t = &a->tool[h.n_tools];
		size_t i = h.n_tools;

		guest__tool__init(&tool[i]);
		guest__param__init(&param[i]);
		tool[i].name = (char *)(uintptr_t)t->name;
		tool[i].text = (char *)(uintptr_t) "A tool.";
		tool[i].internal = t->internal;
		if (t->param != NULL) {
			param[i].name = (char *)(uintptr_t)t->param;
			param[i].text = (char *)(uintptr_t) "A text.";
			param[i].min = 1;
			params[i] = &param[i];
			tool[i].params = &params[i];
			tool[i].n_params = 1;
		}
		at[i] = &tool[i];
	}
	h.tools = at;
	fakeagent_send(a, &e);
}

/* ---- calls ---- */

static size_t
slot_of(const struct fakecall *c)
{
	return (size_t)(c - c->agent->call);
}

struct fakecall *
fakeagent_call(struct fakeagent *a, uint32_t number)
{
	for (size_t i = 0; i < CALLS; i++)
		if (a->call[i].number == number)
			return &a->call[i];
	return NULL;
}

unsigned
fakeagent_calls(const struct fakeagent *a)
{
	unsigned n = 0;

	for (size_t i = 0; i < CALLS; i++)
		n += a->call[i].number != 0;
	return n;
}

uint32_t
fakeagent_last(const struct fakeagent *a)
{
	return a->last;
}

static void
call_free(struct fakecall *c)
{
	struct fakeagent *a = c->agent;
	size_t i = slot_of(c);

	guest__request__free_unpacked(a->request[i], NULL);
	a->request[i] = NULL;
	for (size_t k = 0; k < 16; k++)
		str_free(&a->text[i][k]);
	free(c->data);
	*c = (struct fakecall){ 0 };
}

const char *
fakecall_text(const struct fakecall *c, const char *name)
{
	for (size_t i = 0; i < c->call->n_args; i++)
		if (strcmp(c->call->args[i]->name, name) == 0)
			return str_text(&c->agent->text[slot_of(c)][i]);
	return "";
}

void
fakecall_output(struct fakecall *c, int stream, const void *bytes, size_t n)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Output o = GUEST__OUTPUT__INIT;

	e.call = c->number;
	e.kind_case = GUEST__EVENT__KIND_OUTPUT;
	e.output = &o;
	o.stream = (uint32_t)stream;
	o.data.data = (uint8_t *)(uintptr_t)bytes;
	o.data.len = n;
	c->credit -= (uint32_t)(n < c->credit ? n : c->credit);
	fakeagent_send(c->agent, &e);
}

void
fakecall_puts(struct fakecall *c, int stream, const char *text)
{
	fakecall_output(c, stream, text, strlen(text));
}

void
fakecall_entry(struct fakecall *c, const char *path, int type)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Entry n = GUEST__ENTRY__INIT;
	const char *slash = strrchr(path, '/');

	e.call = c->number;
	e.kind_case = GUEST__EVENT__KIND_ENTRY;
	e.entry = &n;
	n.path.data = (uint8_t *)(uintptr_t)path;
	n.path.len = strlen(path);
	n.name.data = (uint8_t *)(uintptr_t)(slash ? slash + 1 : path);
	n.name.len = strlen((const char *)n.name.data);
	n.type = (uint32_t)type;
	n.size = type == 0 ? 5 : -1;
	n.mtime_ms = 1796048410194;
	fakeagent_send(c->agent, &e);
}

void
fakecall_want(struct fakecall *c, uint32_t bytes)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Credit k = GUEST__CREDIT__INIT;

	e.call = c->number;
	e.kind_case = GUEST__EVENT__KIND_CREDIT;
	e.credit = &k;
	k.bytes = bytes;
	fakeagent_send(c->agent, &e);
}

void
fakecall_done(struct fakecall *c, int exit, int code, const char *text)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Done d = GUEST__DONE__INIT;
	struct fakeagent *a = c->agent;

	e.call = c->number;
	e.kind_case = GUEST__EVENT__KIND_DONE;
	e.done = &d;
	d.has_exit = exit >= -1000;
	d.exit = exit >= -1000 ? exit : 0;
	d.code = (uint32_t)code;
	d.text = (char *)(uintptr_t)(text != NULL ? text : "");
	fakeagent_send(a, &e);
	call_free(c);
}

/* ---- what comes ---- */

static const struct faketool *
tool_find(const struct fakeagent *a, const char *name)
{
	for (size_t i = 0; a->tool[i].name != NULL; i++)
		if (strcmp(a->tool[i].name, name) == 0)
			return &a->tool[i];
	return NULL;
}

static void
start(struct fakecall *c)
{
	const struct faketool *t = tool_find(c->agent, c->tool);

	if (t == NULL)
		fakecall_done(c, -2000, 1 + ERR_MISSING, "no such tool");
	else
		t->run(c);
}

/* The texts of a frame's arguments, put behind those that came before. */
static void
add_texts(struct fakeagent *a, size_t i, const Guest__Call *first,
    const Guest__Call *now)
{
	for (size_t k = 0; k < now->n_args; k++)
		for (size_t m = 0; m < first->n_args && m < 16; m++)
			if (strcmp(first->args[m]->name, now->args[k]->name) ==
				0 &&
			    now->args[k]->value_case == GUEST__ARG__VALUE_TEXT)
				str_add(&a->text[i][m], now->args[k]->text.data,
				    now->args[k]->text.len);
}

static void
on_run(struct fakeagent *a, Guest__Request *r)
{
	struct fakecall *c = fakeagent_call(a, r->call);
	bool more = r->run->more;

	if (c != NULL) {
		add_texts(a, slot_of(c), c->call, r->run);
		guest__request__free_unpacked(r, NULL);
	} else {
		c = fakeagent_call(a, 0);
		if (c == NULL)
			abort();
		a->request[c - a->call] = r;
		*c = (struct fakecall){ .agent = a,
			.number = r->call,
			.tool = r->run->tool,
			.call = r->run,
			.credit = r->run->credit };
		add_texts(a, slot_of(c), r->run, r->run);
		a->last = r->call;
	}
	if (!more)
		start(c);
}

static void
on_input(struct fakeagent *a, const Guest__Request *r)
{
	struct fakecall *c = fakeagent_call(a, r->call);
	const struct faketool *t = c ? tool_find(a, c->tool) : NULL;

	if (t == NULL)
		return;
	c->input += r->input->data.len;
	if (t->input != NULL && r->input->data.len > 0)
		t->input(c, r->input->data.data, r->input->data.len);
	if (t->input != NULL && r->input->eof)
		t->input(c, NULL, 0);
}

static void
on_small(struct fakeagent *a, const Guest__Request *r)
{
	struct fakecall *c = fakeagent_call(a, r->call);
	const struct faketool *t = c ? tool_find(a, c->tool) : NULL;

	if (c == NULL || r->call == 0)
		return;
	if (r->kind_case == GUEST__REQUEST__KIND_CREDIT) {
		c->credit += r->credit->bytes;
		if (t != NULL && t->credit != NULL)
			t->credit(c);
	} else if (r->kind_case == GUEST__REQUEST__KIND_CANCEL) {
		if (t != NULL && t->cancel != NULL)
			t->cancel(c);
		else
			fakecall_done(c, -9, 0, NULL);
	}
}

static void
on_request(struct fakeagent *a, Guest__Request *r)
{
	switch (r->kind_case) {
	case GUEST__REQUEST__KIND_SETUP:
		if (a->setup != NULL)
			guest__request__free_unpacked(a->setup, NULL);
		a->setup = r;
		if (!a->silent)
			fakeagent_hello(a, r->setup->generation);
		return;
	case GUEST__REQUEST__KIND_RUN:
		on_run(a, r);
		return;
	case GUEST__REQUEST__KIND_INPUT:
		on_input(a, r);
		break;
	default:
		on_small(a, r);
		break;
	}
	guest__request__free_unpacked(r, NULL);
}

static void
readable(void *arg, int what)
{
	static uint8_t buf[65536];
	struct fakeagent *a = arg;
	ssize_t n = recv(a->fd, buf, sizeof buf, MSG_DONTWAIT);
	const uint8_t *at;
	size_t len;
	struct err err;

	(void)what;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		watch_stop(a->in);
		return;
	}
	a->busy = true;
	frame_feed(&a->reader, buf, (size_t)n);
	while (!a->freed && frame_next(&a->reader, &at, &len, &err) == 1) {
		Guest__Request *r = guest__request__unpack(NULL, len, at);

		if (r == NULL)
			abort();
		on_request(a, r);
	}
	a->busy = false;
	if (a->freed)
		fakeagent_free(a);
}

struct fakeagent *
fakeagent_new(const struct fakeagent_conf *conf)
{
	struct fakeagent *a = xcalloc(1, sizeof *a);

	a->loop = conf->loop;
	a->fd = conf->fd;
	a->tool = conf->tool != NULL ? conf->tool : fakeagent_tools;
	a->silent = conf->silent;
	a->arg = conf->arg;
	a->in = watch_fd(a->loop, a->fd, WATCH_READ, readable, a);
	a->out = watch_fd(a->loop, a->fd, WATCH_WRITE, writable, a);
	return a;
}

void
fakeagent_free(struct fakeagent *a)
{
	a->freed = true;
	if (a->busy)
		return;
	for (size_t i = 0; i < CALLS; i++)
		if (a->call[i].number != 0)
			call_free(&a->call[i]);
	if (a->setup != NULL)
		guest__request__free_unpacked(a->setup, NULL);
	watch_free(a->in);
	watch_free(a->out);
	close(a->fd);
	frame_reader_free(&a->reader);
	str_free(&a->queue);
	str_free(&a->workspace);
	free(a);
}

void *
fakeagent_arg(const struct fakeagent *a)
{
	return a->arg;
}

struct str *
fakeagent_workspace(struct fakeagent *a)
{
	return &a->workspace;
}

uint32_t
fakeagent_generation(const struct fakeagent *a)
{
	return a->setup != NULL ? a->setup->setup->generation : 0;
}

const char *
fakeagent_env(const struct fakeagent *a, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; a->setup != NULL && i < a->setup->setup->n_env; i++)
		if (strncmp(a->setup->setup->env[i], name, n) == 0 &&
		    a->setup->setup->env[i][n] == '=')
			return a->setup->setup->env[i] + n + 1;
	return NULL;
}

/* ---- tools that most tests can do with ---- */

/*
 * "hang": never ends by itself.  "fail TEXT": an error.  "exit N".  "write
 * TEXT" and "read": the workspace.  Anything else is said back.
 */
static void
run_shell(struct fakecall *c)
{
	const char *cmd = fakecall_text(c, "command");

	if (strcmp(cmd, "hang") == 0)
		return;
	if (strncmp(cmd, "fail ", 5) == 0) {
		fakecall_done(c, -2000, 1 + ERR_INVALID, cmd + 5);
		return;
	}
	if (strncmp(cmd, "exit ", 5) == 0) {
		fakecall_done(c, atoi(cmd + 5), 0, NULL);
		return;
	}
	if (strncmp(cmd, "write ", 6) == 0) {
		str_cut(&c->agent->workspace, 0);
		str_puts(&c->agent->workspace, cmd + 6);
	} else if (strcmp(cmd, "read") == 0) {
		fakecall_puts(c, 1, str_text(&c->agent->workspace));
	} else {
		fakecall_puts(c, 1, "ran: ");
		fakecall_puts(c, 1, cmd);
	}
	fakecall_done(c, 0, 0, NULL);
}

static void
run_cell(struct fakecall *c)
{
	fakecall_puts(c, 1, "cell: ");
	fakecall_puts(c, 1, fakecall_text(c, "code"));
	fakecall_done(c, -2000, 0, NULL);
}

static void
run_tar(struct fakecall *c)
{
	fakecall_puts(c, 3, "TAR:");
	fakecall_puts(c, 3, str_text(&c->agent->workspace));
	fakecall_done(c, -2000, 0, NULL);
}

static void
run_untar(struct fakecall *c)
{
	str_cut(&c->agent->workspace, 0);
	fakecall_want(c, 1 << 20);
}

static void
input_untar(struct fakecall *c, const uint8_t *bytes, size_t n)
{
	struct str *w = &c->agent->workspace;

	str_add(w, bytes, n);
	if (bytes != NULL)
		return;
	if (w->len < 4 || memcmp(w->at, "TAR:", 4) != 0) {
		fakecall_done(c, -2000, 1 + ERR_INVALID, "not an archive");
		return;
	}
	str_drop(w, 4);
	fakecall_done(c, -2000, 0, NULL);
}

const struct faketool fakeagent_tools[] = {
	{ .name = "run_shell_command", .param = "command", .run = run_shell },
	{ .name = "run_ipython_cell", .param = "code", .run = run_cell },
	{ .name = "fs_tar", .internal = true, .run = run_tar },
	{ .name = "fs_untar",
	    .internal = true,
	    .run = run_untar,
	    .input = input_untar },
	{ .name = NULL },
};
