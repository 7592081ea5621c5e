#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "guest/event.h"
#include "guest/guest.h"
#include "wire/frame.h"

#define NAME_MAX_LEN 64
#define TEXT_MAX_LEN 4096
#define PATH_MAX_LEN 4096

/* A whole frame as one Output, its copy, and what protobuf-c keeps beside. */
#define SPACE (FRAME_MAX + 256 * 1024)

struct event_space {
	ProtobufCAllocator alloc;
	size_t used;
	_Alignas(16) uint8_t at[SPACE];
};

static void *
space_alloc(void *arg, size_t n)
{
	struct event_space *s = arg;
	size_t need = (n + 15) & ~(size_t)15;
	void *p = s->at + s->used;

	if (n > SPACE || need > SPACE - s->used)
		return NULL;
	s->used += need;
	return p;
}

static void
space_release(void *arg, void *p)
{
	(void)arg;
	(void)p; /* all at once, before the next event */
}

struct event_space *
event_space_new(void)
{
	struct event_space *s = xmalloc(sizeof *s);

	s->alloc.alloc = space_alloc;
	s->alloc.free = space_release;
	s->alloc.allocator_data = s;
	s->used = 0;
	return s;
}

static int
check_name(const char *name, const char *what, struct err *err)
{
	size_t n = strlen(name);

	if (n == 0 || n > NAME_MAX_LEN ||
	    strspn(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-") != n)
		return err_set(err, ERR_PROTO, "name of a %s", what);
	return 0;
}

static int
check_text(const char *text, struct err *err)
{
	size_t n = strlen(text);

	if (n > TEXT_MAX_LEN || utf8_span(text, n) != n)
		return err_set(err, ERR_PROTO, "text of a tool");
	return 0;
}

static int
check_tool(const Guest__Tool *t, struct err *err)
{
	if (check_name(t->name, "tool", err) < 0 ||
	    check_text(t->text, err) < 0)
		return -1;
	if (t->n_params > EVENT_PARAMS)
		return err_set(err, ERR_PROTO, "%zu parameters of a tool",
		    t->n_params);
	for (size_t i = 0; i < t->n_params; i++) {
		const Guest__Param *p = t->params[i];

		if (check_name(p->name, "parameter", err) < 0 ||
		    check_text(p->text, err) < 0)
			return -1;
		if (p->type > ARG_LIST)
			return err_set(err, ERR_PROTO, "parameter of type %u",
			    p->type);
	}
	return 0;
}

static int
check_hello(const Guest__Event *e, struct err *err)
{
	const Guest__Hello *h = e->hello;

	if (e->call != 0 || h->version != 1)
		return err_set(err, ERR_PROTO, "Hello of version %u",
		    h->version);
	if (h->n_tools > EVENT_TOOLS)
		return err_set(err, ERR_PROTO, "%zu tools", h->n_tools);
	for (size_t i = 0; i < h->n_tools; i++)
		if (check_tool(h->tools[i], err) < 0)
			return -1;
	return 0;
}

static int
check_output(const Guest__Event *e, struct err *err)
{
	if (e->output->stream < 1 || e->output->stream > 3)
		return err_set(err, ERR_PROTO, "Output of stream %u",
		    e->output->stream);
	return 0;
}

static int
check_done(const Guest__Event *e, struct err *err)
{
	if (e->done->code > ERR_CODES)
		return err_set(err, ERR_PROTO, "Done with code %u",
		    e->done->code);
	return 0;
}

static int
check_credit(const Guest__Event *e, struct err *err)
{
	if (e->credit->bytes > EVENT_CREDIT)
		return err_set(err, ERR_PROTO, "Credit of %u bytes",
		    e->credit->bytes);
	return 0;
}

static int
check_entry(const Guest__Event *e, struct err *err)
{
	const Guest__Entry *n = e->entry;

	if (n->type > ENTRY_OTHER || n->path.len > PATH_MAX_LEN ||
	    n->name.len > PATH_MAX_LEN)
		return err_set(err, ERR_PROTO, "Entry");
	return 0;
}

static int
check_pong(const Guest__Event *e, struct err *err)
{
	(void)e;
	(void)err;
	return 0;
}

/* clang-format off */
static const struct {
	Guest__Event__KindCase kind;
	int (*check)(const Guest__Event *, struct err *);
} kinds[] = {
	{ GUEST__EVENT__KIND_HELLO,	check_hello },
	{ GUEST__EVENT__KIND_OUTPUT,	check_output },
	{ GUEST__EVENT__KIND_DONE,	check_done },
	{ GUEST__EVENT__KIND_CREDIT,	check_credit },
	{ GUEST__EVENT__KIND_ENTRY,	check_entry },
	{ GUEST__EVENT__KIND_PONG,	check_pong },
};
/* clang-format on */

const Guest__Event *
event_decode(struct event_space *s, const uint8_t *bytes, size_t n,
    struct err *err)
{
	const Guest__Event *e;

	s->used = 0;
	e = guest__event__unpack(&s->alloc, n, bytes);
	if (e == NULL) {
		err_set(err, ERR_PROTO, "not an Event of ours");
		return NULL;
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].kind == e->kind_case)
			return kinds[i].check(e, err) < 0 ? NULL : e;
	err_set(err, ERR_PROTO, "Event without a kind");
	return NULL;
}
