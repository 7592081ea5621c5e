#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "model/script.h"
#include "model/stub.h"

#define CREATED 1700000000 /* always the same: a test may compare */
#define ARGUMENT_PIECE 12
#define FOREVER_MS 1000

struct stub {
	json_t *request;
	struct script script;
	unsigned status;
	bool stream, usage, begun, ended;
	size_t act, at; /* where in which act */
	unsigned pace, calls, words, prompt;
	const char *reason;
	/* when it is answered whole */
	struct str text, thought;
	json_t *tool_calls;
};

static const char *
model_of(const struct stub *s)
{
	const char *name =
	    json_string_value(json_object_get(s->request, "model"));

	return name != NULL ? name : "stub";
}

static void
dump(struct str *out, json_t *j)
{
	auto_free char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	str_puts(out, text != NULL ? text : "{}");
}

static json_t *
usage(const struct stub *s)
{
	return json_pack("{si,si,si}", "prompt_tokens", (int)s->prompt,
	    "completion_tokens", (int)s->words, "total_tokens",
	    (int)(s->prompt + s->words));
}

static json_t *
head(const struct stub *s, const char *object)
{
	return json_pack("{ss,ss,si,ss}", "id", "chatcmpl-stub", "object",
	    object, "created", CREATED, "model", model_of(s));
}

/* ---- as a stream ---- */

static void
event(const struct stub *s, struct str *out, json_t *delta, const char *reason)
{
	json_t *all = head(s, "chat.completion.chunk");

	json_object_set_new(all, "choices",
	    json_pack("[{si,so,ss?}]", "index", 0, "delta", delta,
		"finish_reason", reason));
	str_puts(out, "data: ");
	dump(out, all);
	str_puts(out, "\n\n");
}

static void
begin(struct stub *s, struct str *out)
{
	if (!s->begun && s->stream)
		event(s, out,
		    json_pack("{ss,ss}", "role", "assistant", "content", ""),
		    NULL);
	s->begun = true;
}

static void
finish_stream(struct stub *s, struct str *out)
{
	event(s, out, json_object(), s->reason);
	if (s->usage) {
		json_t *all = head(s, "chat.completion.chunk");

		json_object_set_new(all, "choices", json_array());
		json_object_set_new(all, "usage", usage(s));
		str_puts(out, "data: ");
		dump(out, all);
		str_puts(out, "\n\n");
	}
	str_puts(out, "data: [DONE]\n\n");
}

static void
finish_whole(struct stub *s, struct str *out)
{
	json_t *m = json_pack("{ss,ss?}", "role", "assistant", "content",
		   s->text.len > 0 ? str_text(&s->text) : NULL),
	       *all = head(s, "chat.completion");

	if (s->thought.len > 0)
		json_object_set_new(m, "reasoning_content",
		    json_string(str_text(&s->thought)));
	if (s->tool_calls != NULL)
		json_object_set(m, "tool_calls", s->tool_calls);
	json_object_set_new(all, "choices",
	    json_pack("[{si,so,ss}]", "index", 0, "message", m, "finish_reason",
		s->reason));
	json_object_set_new(all, "usage", usage(s));
	dump(out, all);
}

static enum stub_word
finish(struct stub *s, struct str *out)
{
	if (s->ended || s->status != 200)
		return STUB_END;
	s->ended = true;
	begin(s, out);
	if (s->reason == NULL)
		s->reason = s->calls > 0 ? "tool_calls" : "stop";
	if (s->stream)
		finish_stream(s, out);
	else
		finish_whole(s, out);
	return STUB_END;
}

/* ---- acts ---- */

/* The next word with the blanks after it; a whole character at least. */
static size_t
word(const char *text)
{
	size_t n = strcspn(text, " \n");

	while (text[n] == ' ' || text[n] == '\n')
		n++;
	return n;
}

/* true: the act is over. */
static bool
speak(struct stub *s, const struct act *a, struct str *out)
{
	const char *at = a->text + s->at;
	size_t n = word(at);
	bool thought = a->kind == ACT_THINK;

	if (n == 0 && a->kind == ACT_ENDLESS && *a->text != '\0') {
		s->at = 0;
		return false;
	}
	if (n == 0)
		return true;
	s->at += n;
	s->words++;
	if (s->stream)
		event(s, out,
		    json_pack("{ss%}",
			thought ? "reasoning_content" : "content", at, n),
		    NULL);
	else
		str_add(thought ? &s->thought : &s->text, at, n);
	return a->kind != ACT_ENDLESS && a->text[s->at] == '\0';
}

static json_t *
call_json(const struct stub *s, const struct act *a, const char *args)
{
	auto_free char *id = xasprintf("call_%zu_%u",
	    json_array_size(json_object_get(s->request, "messages")), s->calls);

	return json_pack("{ss,ss,s{ss,ss}}", "id", id, "type", "function",
	    "function", "name", a->name, "arguments", args);
}

static bool
call(struct stub *s, const struct act *a, struct str *out)
{
	size_t left = strlen(a->text) - s->at;
	size_t n = left < ARGUMENT_PIECE ? left : ARGUMENT_PIECE;
	json_t *one;

	if (!s->stream) {
		if (s->tool_calls == NULL)
			s->tool_calls = json_array();
		json_array_append_new(s->tool_calls, call_json(s, a, a->text));
		s->calls++;
		return true;
	}
	if (s->at == 0) { /* its name comes first */
		one = call_json(s, a, "");
		json_object_set_new(one, "index", json_integer(s->calls));
		event(s, out, json_pack("{s[o]}", "tool_calls", one), NULL);
	}
	/* Never in the middle of a character. */
	while (n < left && (a->text[s->at + n] & 0xc0) == 0x80)
		n++;
	one = json_pack("{si,s{ss%}}", "index", (int)s->calls, "function",
	    "arguments", a->text + s->at, n);
	event(s, out, json_pack("{s[o]}", "tool_calls", one), NULL);
	s->at += n;
	if (a->text[s->at] != '\0')
		return false;
	s->calls++;
	return true;
}

static void
next_act(struct stub *s)
{
	s->act++;
	s->at = 0;
}

enum stub_word
stub_next(struct stub *s, struct str *out, unsigned *wait_ms)
{
	const struct act *a;
	bool over = true;

	*wait_ms = 0;
	if (s->status != 200 && !s->ended) {
		json_t *e = json_pack("{s{ss,ss,si}}", "error", "message",
		    s->reason, "type", "scripted", "code", (int)s->status);

		s->ended = true;
		dump(out, e);
		return STUB_END;
	}
	if (s->ended || s->act >= s->script.n)
		return finish(s, out);
	a = &s->script.act[s->act];
	*wait_ms = s->pace;
	switch (a->kind) {
	case ACT_SAY:
	case ACT_THINK:
	case ACT_ENDLESS:
		begin(s, out);
		over = speak(s, a, out);
		break;
	case ACT_CALL:
		begin(s, out);
		over = call(s, a, out);
		break;
	case ACT_PACE:
		s->pace = a->number;
		break;
	case ACT_WAIT:
		*wait_ms = a->number;
		break;
	case ACT_CUT:
		return STUB_CUT;
	case ACT_FINISH:
		s->reason = a->text;
		break;
	case ACT_FAIL: /* too late for a status: only the first act has one */
	case ACT_KINDS:
		break;
	}
	if (!over && !s->stream && a->kind == ACT_ENDLESS)
		*wait_ms = FOREVER_MS;
	if (over)
		next_act(s);
	return STUB_MORE;
}

/* ---- one answer ---- */

static void
fail(struct stub *s, unsigned status, const char *why)
{
	s->status = status;
	s->reason = why;
}

/* A failure has a status if nothing but waiting comes before it. */
static void
look_for_failure(struct stub *s)
{
	for (size_t i = 0; i < s->script.n; i++) {
		const struct act *a = &s->script.act[i];

		if (a->kind == ACT_FAIL)
			fail(s, a->number, a->text);
		if (a->kind != ACT_WAIT && a->kind != ACT_PACE)
			return;
	}
}

static void
count_prompt(struct stub *s)
{
	auto_free char *text =
	    json_dumps(json_object_get(s->request, "messages"), JSON_COMPACT);

	s->prompt = text != NULL ? (unsigned)(strlen(text) / 4) : 0;
}

struct stub *
stub_new(const void *body, size_t n)
{
	struct stub *s = xcalloc(1, sizeof *s);

	s->status = 200;
	s->request = json_loadb(body, n, 0, NULL);
	if (!json_is_array(json_object_get(s->request, "messages"))) {
		fail(s, 400, "the body takes an object with messages");
		return s;
	}
	s->stream = json_is_true(json_object_get(s->request, "stream"));
	s->usage = json_is_true(
	    json_object_get(json_object_get(s->request, "stream_options"),
		"include_usage"));
	count_prompt(s);
	script_make(&s->script, s->request);
	look_for_failure(s);
	return s;
}

void
stub_free(struct stub *s)
{
	if (s == NULL)
		return;
	script_free(&s->script);
	json_decref(s->request);
	json_decref(s->tool_calls);
	str_free(&s->text);
	str_free(&s->thought);
	free(s);
}

unsigned
stub_status(const struct stub *s)
{
	return s->status;
}

const char *
stub_type(const struct stub *s)
{
	return s->stream && s->status == 200
	    ? "text/event-stream; charset=utf-8"
	    : "application/json";
}

void
stub_models(struct str *out)
{
	dump(out,
	    json_pack("{ss,s[{ss,ss,si,ss}]}", "object", "list", "data", "id",
		"stub", "object", "model", "created", CREATED, "owned_by",
		"hutch"));
}
