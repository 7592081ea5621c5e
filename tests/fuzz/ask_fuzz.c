/*
 * Requests of OpenAI's two protocols.  What is taken has become messages, each
 * with a type, a role and a list of parts; what is not has a fault that says
 * where.  What is repeated of a request, and what is stored of it, is JSON.
 *
 * The first byte chooses the protocol, and whether the request's own input is
 * its history as well.
 */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "engine/ask.h"
#include "engine/escape.h"
#include "json/jtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
must(bool is)
{
	if (!is)
		abort();
}

static void
is_fault(const struct ask_fault *f)
{
	must(f->code != NULL && f->param[0] != '\0' && f->text[0] != '\0');
	must(strlen(f->param) < sizeof f->param);
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
stored(const json_t *body)
{
	auto_str struct str echo = { 0 }, text = { 0 };
	json_t *items, *item, *v;
	struct err err;
	size_t i;

	str_putc(&echo, '{');
	ask_responses_echo(&echo, body);
	str_putc(&echo, '}');
	v = jtext_read(echo.at, echo.len, NULL, &err);
	must(json_is_object(v));
	json_decref(v);
	items = ask_responses_input(body, "x");
	json_array_foreach(items, i, item)
		must(json_is_string(json_object_get(item, "id")));
	escape_json(&text, items);
	v = jtext_read(text.at, text.len, NULL, &err);
	must(json_is_array(v));
	json_decref(v);
	json_decref(items);
}

int
LLVMFuzzerTestOneInput(const uint8_t *b, size_t n)
{
	struct ask_fault fault = { 0 };
	json_t *body, *request;
	struct err err;

	if (n == 0)
		return 0;
	body = jtext_read(b + 1, n - 1, NULL, &err);
	if (body == NULL)
		return 0;
	if (b[0] & 1) {
		request = ask_chat(body, &fault);
	} else {
		const json_t *input = json_object_get(body, "input");

		request = ask_responses(body,
		    b[0] & 2 && json_is_array(input) ? input : NULL, &fault);
		if (request != NULL)
			stored(body);
	}
	if (request != NULL)
		is_request(request);
	else
		is_fault(&fault);
	json_decref(request);
	json_decref(body);
	return 0;
}
