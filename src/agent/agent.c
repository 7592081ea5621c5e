#include <stdlib.h>
#include <string.h>
#include "agent/agent.h"
#include "agent/call.h"
#include "agent/draft.h"
#include "agent/stream.h"
#include "agent/tool.h"
#include "agent/tools.h"
#include "agent/world.h"
#include "base/err.h"
#include "base/log.h"
#include "base/own.h"
#include "base/str.h"
#include "guest.pb-c.h"
#include "wire/loop.h"

#define VERSION 1

static struct {
	struct world *world;
	struct stream *stream; /* NULL: between two fronts */
	bool set_up;           /* Setup has come by this stream */
	struct drafts drafts;
	void (*gone)(void);
} agent;

/* ---- Setup, Hello ---- */

static void
free_env(char **env)
{
	for (char **e = env; e != NULL && *e != NULL; e++)
		free(*e);
	free(env);
}

static void
take_setup(const Guest__Setup *s)
{
	struct world *w = agent.world;
	size_t n = 0;

	free_env(w->env);
	free(w->cwd);
	w->env = xcalloc(s->n_env + 1, sizeof *w->env);
	for (size_t i = 0; i < s->n_env; i++)
		if (strchr(s->env[i], '=') != NULL)
			w->env[n++] = xstrdup(s->env[i]);
	w->cwd = xstrdup(s->cwd[0] != '\0' ? s->cwd : "/");
	w->generation = s->generation;
}

static void
describe_params(const struct tool *t, Guest__Tool *out)
{
	size_t n = 0;

	while (t->params[n].name != NULL)
		n++;
	out->n_params = n;
	out->params = xcalloc(n, sizeof *out->params);
	for (size_t i = 0; i < n; i++) {
		const struct param *p = &t->params[i];
		Guest__Param *g = xmalloc(sizeof *g);

		guest__param__init(g);
		g->name = xstrdup(p->name);
		g->text = xstrdup(p->text);
		g->type = (uint32_t)p->type;
		g->min = p->min;
		g->max = p->max;
		g->optional = p->optional;
		out->params[i] = g;
	}
}

static Guest__Tool *
describe(const struct tool *t)
{
	Guest__Tool *g = xmalloc(sizeof *g);

	guest__tool__init(g);
	g->name = xstrdup(t->name);
	g->text = xstrdup(t->text);
	g->internal = t->internal;
	describe_params(t, g);
	return g;
}

/* Hello but for its generation, in the wire's form: made while nobody waits. */
static struct str hello;

void
agent_ready(void)
{
	Guest__Hello h = GUEST__HELLO__INIT;

	h.version = VERSION;
	while (tool_at(h.n_tools) != NULL)
		h.n_tools++;
	h.tools = xcalloc(h.n_tools, sizeof *h.tools);
	for (size_t i = 0; i < h.n_tools; i++)
		h.tools[i] = describe(tool_at(i));
	guest__hello__pack(&h,
	    str_extend(&hello, guest__hello__get_packed_size(&h)));
	for (size_t i = 0; i < h.n_tools; i++)
		guest__tool__free_unpacked(h.tools[i], NULL);
	free(h.tools);
}

static void
add_number(struct str *out, uint64_t n)
{
	for (; n > 127; n >>= 7)
		str_putc(out, (char)(n | 128));
	str_putc(out, (char)n);
}

/* Fields may come in any order: so the generation is the last. */
static void
say_hello(void)
{
	auto_str struct str event = { 0 }, last = { 0 };

	str_putc(&last, 1 << 3); /* Hello.generation, a number */
	add_number(&last, agent.world->generation);
	str_putc(&event, 2 << 3 | 2); /* Event.hello, of a length */
	add_number(&event, hello.len + last.len);
	str_add(&event, hello.at, hello.len);
	str_add(&event, last.at, last.len);
	stream_put(agent.stream, event.at, event.len);
}

/* ---- requests ---- */

static int
on_setup(const Guest__Request *r, struct err *err)
{
	(void)err;
	take_setup(r->setup);
	agent.set_up = true;
	say_hello();
	return 0;
}

static void
begin(uint32_t number, struct draft *d)
{
	struct call *c =
	    call_new(agent.world, agent.stream, number, draft_limits(d));
	const struct tool *t = tool_find(draft_tool(d));
	struct args args = draft_args(d);
	struct err err;

	if (t == NULL)
		err_set(&err, ERR_MISSING, "no such tool: %s", draft_tool(d));
	else if (tool_check(t, &args, &err) == 0 && t->run(c, &args, &err) == 0)
		return;
	call_done(c, &(struct call_result){ .err = &err });
}

static int
on_run(const Guest__Request *r, struct err *err)
{
	struct draft *d;

	if (call_find(agent.stream, r->call) != NULL)
		return err_set(err, ERR_PROTO, "call %u: begun twice", r->call);
	d = drafts_add(&agent.drafts, r->call, r->run, err);
	if (d == NULL)
		return -1;
	if (r->run->more)
		return 0;
	begin(r->call, d);
	drafts_drop(&agent.drafts, d);
	return 0;
}

/* The rest is about a call; one that is over already is no mistake. */

static int
on_input(const Guest__Request *r, struct err *err)
{
	struct call *c = call_find(agent.stream, r->call);

	if (c == NULL)
		return 0;
	return call_input(c, r->input->data.data, r->input->data.len,
	    r->input->eof, err);
}

static int
on_cancel(const Guest__Request *r, struct err *err)
{
	struct call *c = call_find(agent.stream, r->call);

	(void)err;
	if (c != NULL)
		call_cancel(c);
	return 0;
}

static int
on_detach(const Guest__Request *r, struct err *err)
{
	struct call *c = call_find(agent.stream, r->call);

	(void)err;
	if (c != NULL)
		call_detach(c);
	return 0;
}

static int
on_credit(const Guest__Request *r, struct err *err)
{
	struct call *c = call_find(agent.stream, r->call);

	(void)err;
	if (c != NULL)
		call_credit(c, r->credit->bytes);
	return 0;
}

static int
on_resize(const Guest__Request *r, struct err *err)
{
	struct call *c = call_find(agent.stream, r->call);

	(void)err;
	if (c != NULL)
		call_resize(c, r->resize->rows, r->resize->cols);
	return 0;
}

static int
on_ping(const Guest__Request *r, struct err *err)
{
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Pong pong = GUEST__PONG__INIT;

	(void)err;
	e.call = r->call;
	e.kind_case = GUEST__EVENT__KIND_PONG;
	e.pong = &pong;
	stream_send(agent.stream, &e);
	return 0;
}

/* clang-format off */
static const struct {
	int (*fn)(const Guest__Request *, struct err *);
	bool early;	/* allowed before Setup */
} kinds[] = {
	[GUEST__REQUEST__KIND_SETUP]	= { on_setup,	true },
	[GUEST__REQUEST__KIND_PING]	= { on_ping,	true },
	[GUEST__REQUEST__KIND_RUN]	= { on_run,	false },
	[GUEST__REQUEST__KIND_INPUT]	= { on_input,	false },
	[GUEST__REQUEST__KIND_CANCEL]	= { on_cancel,	false },
	[GUEST__REQUEST__KIND_CREDIT]	= { on_credit,	false },
	[GUEST__REQUEST__KIND_RESIZE]	= { on_resize,	false },
	[GUEST__REQUEST__KIND_DETACH]	= { on_detach,	false },
};
/* clang-format on */

static int
request(void *arg, const Guest__Request *r, struct err *err)
{
	size_t kind = (size_t)r->kind_case;

	(void)arg;
	if (kind >= sizeof kinds / sizeof *kinds || kinds[kind].fn == NULL)
		return 0; /* of a newer front; it learns our version in Hello */
	if (!agent.set_up && !kinds[kind].early)
		return err_set(err, ERR_PROTO, "request before Setup");
	return kinds[kind].fn(r, err);
}

/* ---- the stream ---- */

static void
drop_stream(void)
{
	struct stream *s = agent.stream;

	if (s == NULL)
		return;
	call_lose_all(s);
	drafts_clear(&agent.drafts);
	stream_free(s);
	agent.stream = NULL;
}

static void
gone(void *arg, const struct err *why)
{
	(void)arg;
	if (why != NULL)
		log_err(LOG_WARN, why, "stream to the front is over", NULL);
	drop_stream();
	agent.gone();
}

static void
room(void *arg)
{
	(void)arg;
	call_room_all(agent.stream);
}

void
agent_start(struct world *world, void (*fn)(void))
{
	agent.world = world;
	agent.gone = fn;
}

void
agent_stream(int fd)
{
	struct stream_owner owner = { .request = request,
		.room = room,
		.gone = gone };

	drop_stream();
	agent.set_up = false;
	agent.stream = stream_new(agent.world->loop, fd, &owner);
}

void
agent_last_words(int fd, const struct err *why)
{
	struct stream_owner owner = { .request = request,
		.room = room,
		.gone = gone };
	struct stream *s = stream_new(agent.world->loop, fd, &owner);
	Guest__Event e = GUEST__EVENT__INIT;
	Guest__Done done = GUEST__DONE__INIT;

	e.kind_case = GUEST__EVENT__KIND_DONE;
	e.done = &done;
	done.code = 1 + (uint32_t)why->code;
	done.text = (char *)(uintptr_t)why->text;
	stream_send(s, &e);
	stream_flush(s);
	stream_free(s);
}
