/*
 * Requests of AG-UI and A2A, and the envelope of JSON-RPC.  What is taken has
 * become messages, each with a type, a role and a list of parts; what is not
 * has a fault that is JSON.  A2A's shapes are changed into each other, whatever
 * they hold.
 *
 * The first byte chooses.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/a2a_shape.h"
#include "engine/ask_a2a.h"
#include "engine/ask_agui.h"
#include "engine/invalid.h"
#include "engine/reply_a2a.h"
#include "engine/reply_agui.h"
#include "json/jtext.h"
#include "web/jsonrpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
is_json(const struct str *s)
{
	struct err err;
	json_t *v = jtext_read(str_text(s), s->len, NULL, &err);

	must(v != NULL);
	json_decref(v);
}

static void
is_request(const json_t *request)
{
	const json_t *input = json_object_get(request, "input"), *m, *part;
	size_t i, k;

	must(json_is_array(input));
	json_array_foreach(input, i, m) {
		const json_t *content = json_object_get(m, "content");

		must(json_is_string(json_object_get(m, "type")));
		must(json_is_string(json_object_get(m, "role")));
		must(json_is_array(content));
		json_array_foreach(content, k, part)
			must(json_is_string(json_object_get(part, "type")));
	}
}

static void
agui(const json_t *body)
{
	struct invalid wrong = { 0 };
	struct agui_ask ask = { 0 };
	auto_str struct str out = { 0 };

	if (ask_agui(body, &ask, &wrong) == 0) {
		is_request(ask.request);
		json_decref(ask.request);
		must(wrong.n == 0);
		return;
	}
	must(wrong.n > 0);
	invalid_take(&wrong, &out);
	is_json(&out);
}

static void
a2a(const json_t *body, bool modern)
{
	json_t *params =
	    modern ? a2a_legacy_params(body) : json_incref((json_t *)body);
	auto_str struct str wrong = { 0 }, list = { 0 };
	struct a2a_ask ask;
	json_t *shaped;

	if (ask_a2a(params, modern, &ask, &wrong) == 0) {
		is_request(ask.request);
		must(wrong.len == 0 && json_is_object(ask.message));
		shaped = a2a_modern_result(ask.message);
		must(json_is_object(json_object_get(shaped, "message")));
		json_decref(shaped);
		json_decref(ask.request);
		json_decref(ask.message);
	} else {
		str_printf(&list, "[%s]", str_text(&wrong));
		is_json(&list);
		must(wrong.len > 0);
	}
	json_decref(params);
}

static void
shapes(const json_t *body)
{
	auto_str struct str out = { 0 };
	json_t *modern, *task;

	if (!json_is_object(body))
		return;
	modern = a2a_modern(body);
	must(json_object_get(modern, "kind") == NULL);
	json_decref(modern);
	modern = a2a_modern_push(body);
	json_decref(a2a_legacy_push(modern));
	json_decref(modern);
	task = json_deep_copy(body);
	a2a_trim(task, 1, false);
	a2a_answer(&out, "1", true, task);
	is_json(&out);
	json_decref(task);
}

static void
envelope(const uint8_t *b, size_t n)
{
	struct jsonrpc r;
	const char *why = NULL;
	auto_str struct str out = { 0 };
	int code = jsonrpc_read(&r, b, n, &why);

	must(r.id != NULL && (code == 0) == (why == NULL));
	jsonrpc_error(&out, r.id, code, why != NULL ? why : "", NULL);
	is_json(&out);
	jsonrpc_free(&r);
}

/* Two beginnings of the same arguments. */
static void
settled(const char *b, size_t n)
{
	struct slice before = { b, n / 2 }, now = { b, n };
	size_t told = agui_settled(before, now);

	must(told <= n);
	must(agui_settled(now, now) <= n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *b, size_t n)
{
	json_t *body;
	struct err err;

	if (n == 0)
		return 0;
	if (b[0] % 8 == 6)
		envelope(b + 1, n - 1);
	if (b[0] % 8 == 7)
		settled((const char *)b + 1, n - 1);
	body = b[0] % 8 < 6 ? jtext_read(b + 1, n - 1, NULL, &err) : NULL;
	if (body == NULL)
		return 0;
	if (b[0] % 8 < 2)
		agui(body);
	else if (b[0] % 8 < 4)
		a2a(body, b[0] & 1);
	else
		shapes(body);
	json_decref(body);
	return 0;
}
