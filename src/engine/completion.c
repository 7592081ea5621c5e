#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/own.h"
#include "base/utf8.h"
#include "engine/completion.h"
#include "json/jtext.h"

#define NAME_MOST 256
#define ERROR_MOST 1000

void
completion_init(struct completion *c, const struct completion_ops *ops,
    void *arg)
{
	*c = (struct completion){ .ops = ops, .arg = arg };
}

void
completion_free(struct completion *c)
{
	for (size_t i = 0; i < c->ncall; i++) {
		free(c->call[i].id);
		free(c->call[i].name);
		str_free(&c->call[i].arguments);
	}
	str_free(&c->text);
	str_free(&c->thought);
	free(c->finish);
	json_decref(c->usage);
	*c = (struct completion){ .ops = c->ops, .arg = c->arg };
}

static int
add(struct str *to, const char *text, size_t n, struct err *err)
{
	if (to->len + n > COMPLETION_MOST)
		return err_set(err, ERR_LIMIT,
		    "the model said more than %u bytes", COMPLETION_MOST);
	str_add(to, text, n);
	return 0;
}

/* A string member that is not empty. */
static const char *
text_of(const json_t *o, const char *name, size_t *n)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_string(v) || json_string_length(v) == 0)
		return NULL;
	*n = json_string_length(v);
	return json_string_value(v);
}

/* ---- tool calls ---- */

static struct tool_call *
new_call(struct completion *c, struct err *err)
{
	if (c->ncall == COMPLETION_CALLS) {
		err_set(err, ERR_LIMIT, "more than %d tool calls at once",
		    COMPLETION_CALLS);
		return NULL;
	}
	return &c->call[c->ncall++];
}

/*
 * Which call a piece belongs to: by its index; without one a new id begins a
 * new call and the rest is the last one's.
 */
static struct tool_call *
find_call(struct completion *c, const json_t *piece, struct err *err)
{
	const json_t *index = json_object_get(piece, "index");
	struct tool_call *last = c->ncall > 0 ? &c->call[c->ncall - 1] : NULL;
	size_t n;
	const char *id = text_of(piece, "id", &n);

	if (json_is_integer(index)) {
		json_int_t i = json_integer_value(index);

		if (i >= 0 && (size_t)i < c->ncall)
			return &c->call[i];
		return new_call(c, err); /* in order, come what may */
	}
	if (last == NULL ||
	    (id != NULL && last->id != NULL && strcmp(last->id, id) != 0))
		return new_call(c, err);
	return last;
}

static void
set_once(char **to, const char *text, size_t n)
{
	if (text != NULL && *to == NULL && n <= NAME_MOST && strlen(text) == n)
		*to = xstrndup(text, n);
}

static int
call_piece(struct completion *c, const json_t *piece, struct err *err)
{
	const json_t *f = json_object_get(piece, "function"), *args;
	struct tool_call *t;
	const char *text;
	size_t n = 0;

	if (!json_is_object(piece))
		return 0;
	t = find_call(c, piece, err);
	if (t == NULL)
		return -1;
	text = text_of(piece, "id", &n);
	set_once(&t->id, text, n);
	text = text_of(f, "name", &n);
	set_once(&t->name, text, n);
	args = json_object_get(f, "arguments");
	if (json_is_object(args)) { /* some say it as it is */
		struct str all = { 0 };
		int r;

		jtext_write(&all, args);
		r = add(&t->arguments, all.at, all.len, err);
		str_free(&all);
		if (r < 0)
			return -1;
	} else if ((text = text_of(f, "arguments", &n)) != NULL &&
	    add(&t->arguments, text, n, err) < 0)
		return -1;
	if (c->ops != NULL && t->name != NULL)
		c->ops->call(c->arg, (size_t)(t - c->call));
	return 0;
}

/* ---- a delta, or a message ---- */

static int
said(struct completion *c, const json_t *what, struct err *err)
{
	static const char *const thoughts[] = { "reasoning_content",
		"reasoning" };
	const json_t *calls = json_object_get(what, "tool_calls"), *piece;
	const char *text = NULL;
	size_t i, n = 0;

	for (i = 0; text == NULL && i < 2; i++)
		text = text_of(what, thoughts[i], &n);
	if (text != NULL) {
		if (add(&c->thought, text, n, err) < 0)
			return -1;
		if (c->ops != NULL)
			c->ops->thought(c->arg, text, n);
	}
	if ((text = text_of(what, "content", &n)) != NULL ||
	    (text = text_of(what, "refusal", &n)) != NULL) {
		if (add(&c->text, text, n, err) < 0)
			return -1;
		if (c->ops != NULL)
			c->ops->text(c->arg, text, n);
	}
	json_array_foreach(calls, i, piece) {
		if (call_piece(c, piece, err) < 0)
			return -1;
	}
	return 0;
}

static int
failed(const json_t *error, struct err *err)
{
	auto_free char *text = NULL;
	auto_str struct str all = { 0 };

	jtext_write(&all, error);
	text = completion_error(all.at, all.len);
	return err_set(err, ERR_SYS, "%.200s", text);
}

static int
object(struct completion *c, const json_t *o, const char *member,
    struct err *err)
{
	const json_t *choice = json_array_get(json_object_get(o, "choices"), 0);
	const json_t *usage = json_object_get(o, "usage"),
		     *error = json_object_get(o, "error");
	const char *finish;
	size_t n;

	if (error != NULL && !json_is_null(error))
		return failed(error, err);
	if (json_is_object(usage)) {
		json_decref(c->usage);
		c->usage = json_deep_copy(usage);
	}
	finish = text_of(choice, "finish_reason", &n);
	if (finish != NULL && n <= NAME_MOST) {
		free(c->finish);
		c->finish = xstrndup(finish, n);
	}
	return said(c, json_object_get(choice, member), err);
}

static int
parse(struct completion *c, const char *text, size_t n, const char *member,
    struct err *err)
{
	auto_str struct str clean = { 0 };
	json_t *o;
	int r;

	if (utf8_span(text, n) != n) {
		utf8_clean(&clean, text, n);
		text = clean.at;
		n = clean.len;
	}
	o = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
	if (!json_is_object(o)) {
		json_decref(o);
		return err_set(err, ERR_PROTO,
		    "the model's answer is not JSON: %.*s",
		    (int)(n < 60 ? n : 60), text);
	}
	r = object(c, o, member, err);
	json_decref(o);
	return r;
}

int
completion_chunk(struct completion *c, const char *text, size_t n,
    struct err *err)
{
	if (n == 6 && memcmp(text, "[DONE]", 6) == 0) {
		c->done = true;
		return 0;
	}
	return c->done || n == 0 ? 0 : parse(c, text, n, "delta", err);
}

int
completion_whole(struct completion *c, const char *text, size_t n,
    struct err *err)
{
	c->done = true;
	return parse(c, text, n, "message", err);
}

/* ---- what was said, as a message ---- */

static json_t *
text_json(const struct str *s)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, str_text(s), s->len);
	return json_stringn(str_text(&clean), clean.len);
}

json_t *
completion_text(const struct completion *c)
{
	return json_pack("{ss,so}", "role", "assistant", "content",
	    text_json(&c->text));
}

json_t *
completion_message(const struct completion *c)
{
	json_t *m = json_pack("{ss}", "role", "assistant"), *calls;

	json_object_set_new(m, "content",
	    c->text.len > 0 || c->ncall == 0 ? text_json(&c->text)
					     : json_null());
	if (c->ncall == 0)
		return m;
	calls = json_array();
	for (size_t i = 0; i < c->ncall; i++) {
		const struct tool_call *t = &c->call[i];

		json_array_append_new(calls,
		    json_pack("{ss,ss,s{ss,so}}", "id",
			t->id != NULL ? t->id : "", "type", "function",
			"function", "name", t->name != NULL ? t->name : "",
			"arguments",
			t->arguments.len > 0 ? text_json(&t->arguments)
					     : json_string("{}")));
	}
	json_object_set_new(m, "tool_calls", calls);
	return m;
}

/* ---- errors ---- */

static const json_t *
message_of(const json_t *o)
{
	const json_t *e = json_object_get(o, "error"), *m;

	if (json_is_string(e))
		return e;
	m = json_object_get(json_is_object(e) ? e : o, "message");
	if (json_is_string(m))
		return m;
	m = json_object_get(o, "detail");
	return json_is_string(m) ? m : NULL;
}

char *
completion_error(const char *body, size_t n)
{
	auto_str struct str clean = { 0 };
	const json_t *m;
	json_t *o;

	utf8_clean(&clean, body, n);
	o = json_loadb(str_text(&clean), clean.len, JSON_DECODE_ANY, NULL);
	m = json_is_string(o) ? o : message_of(o);
	if (m != NULL) {
		str_cut(&clean, 0);
		str_puts(&clean, json_string_value(m));
	}
	json_decref(o);
	if (clean.len > ERROR_MOST)
		str_cut(&clean,
		    utf8_span(clean.at, ERROR_MOST)); /* whole characters */
	for (size_t i = 0; i < clean.len; i++)
		if ((unsigned char)clean.at[i] < ' ')
			clean.at[i] = ' ';
	return str_take(&clean);
}
