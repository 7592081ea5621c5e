#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/own.h"
#include "base/str.h"
#include "base/utf8.h"
#include "engine/talk.h"
#include "json/jtext.h"

static const char *
text_of(const json_t *o, const char *name)
{
	return jtext_cstring(json_object_get(o, name));
}

static bool
is(const char *text, const char *want)
{
	return text != NULL && strcmp(text, want) == 0;
}

static json_t *
string(const char *text, size_t n)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, text, n);
	return json_stringn(str_text(&clean), clean.len);
}

/* A value's own text if it is a string, else its JSON. */
static void
put_value(struct str *out, const json_t *v)
{
	size_t n;
	const char *text = jtext_string(v, &n);

	if (text != NULL)
		str_add(out, text, n);
	else if (v != NULL && !json_is_null(v))
		jtext_write(out, v);
}

/* ---- parts ---- */

static json_t *
image(const json_t *part)
{
	const char *url = text_of(part, "image_url");

	return url == NULL ? NULL
			   : json_pack("{ss,s{ss}}", "type", "image_url",
				 "image_url", "url", url);
}

/* "data:audio/wav;base64,..." or the base64 alone. */
static json_t *
audio(const json_t *part)
{
	const char *data = text_of(part, "data"),
		   *format = text_of(part, "format"), *comma;

	if (data == NULL)
		return NULL;
	comma = strncmp(data, "data:", 5) == 0 ? strchr(data, ',') : NULL;
	return json_pack("{ss,s{ss,ss}}", "type", "input_audio", "input_audio",
	    "data", comma != NULL ? comma + 1 : data, "format",
	    format != NULL ? format : "wav");
}

static json_t *
file(const json_t *part)
{
	static const char *const names[] = { "file_id", "filename",
		"file_data" };
	json_t *f = json_object();
	const char *url = text_of(part, "file_url");
	auto_free char *said = NULL;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (text_of(part, names[i]) != NULL)
			json_object_set(f, names[i],
			    json_object_get(part, names[i]));
	if (json_object_get(f, "file_id") != NULL ||
	    json_object_get(f, "file_data") != NULL)
		return json_pack("{ss,so}", "type", "file", "file", f);
	json_decref(f);
	if (url == NULL)
		return NULL;
	said = xasprintf("[file: %s]", url);
	return json_pack("{ss,ss}", "type", "text", "text", said);
}

/* What is text, one way or another, is added to text. */
static json_t *
one_part(const json_t *part, struct str *text)
{
	const char *type = text_of(part, "type");

	if (is(type, "image"))
		return image(part);
	if (is(type, "audio"))
		return audio(part);
	if (is(type, "file"))
		return file(part);
	if (is(type, "data"))
		put_value(text, json_object_get(part, "data"));
	else if (is(type, "refusal"))
		put_value(text, json_object_get(part, "refusal"));
	else if (is(type, "video"))
		put_value(text, json_object_get(part, "video_url"));
	else
		put_value(text, json_object_get(part, "text"));
	return NULL;
}

/* One text if all of it is text; else a list, as it came. */
static json_t *
content_of(const json_t *message)
{
	const json_t *content = json_object_get(message, "content"), *part;
	auto_str struct str all = { 0 };
	json_t *list = json_array();
	bool media = false;
	size_t i;

	if (json_is_string(content))
		put_value(&all, content);
	json_array_foreach(content, i, part) {
		auto_str struct str text = { 0 };
		json_t *other = one_part(part, &text);

		media = media || other != NULL;
		if (other == NULL && text.len > 0)
			other = json_pack("{ss,so}", "type", "text", "text",
			    string(text.at, text.len));
		if (other != NULL)
			json_array_append_new(list, other);
		str_add(&all, str_text(&text), text.len);
	}
	if (media)
		return list;
	json_decref(list);
	return string(str_text(&all), all.len);
}

/* ---- tools ---- */

static const json_t *
data_of(const json_t *message)
{
	const json_t *content = json_object_get(message, "content");
	const json_t *data = NULL, *part;
	size_t i;

	json_array_foreach(content, i, part) {
		if (json_is_object(json_object_get(part, "data")))
			data = json_object_get(part, "data");
	}
	return data;
}

static json_t *
last(const json_t *messages)
{
	size_t n = json_array_size(messages);

	return n > 0 ? json_array_get(messages, n - 1) : NULL;
}

/* Calls that follow each other are one message of the model. */
static void
add_call(json_t *messages, const json_t *message)
{
	const json_t *data = data_of(message);
	json_t *before = last(messages), *calls;
	auto_str struct str args = { 0 };
	const char *name = text_of(data, "name"),
		   *id = text_of(data, "call_id");

	if (name == NULL || id == NULL)
		return;
	put_value(&args, json_object_get(data, "arguments"));
	if (!is(text_of(before, "role"), "assistant")) {
		before = json_pack("{ss,sn}", "role", "assistant", "content");
		json_array_append_new(messages, before);
	}
	calls = json_object_get(before, "tool_calls");
	if (calls == NULL) {
		calls = json_array();
		json_object_set_new(before, "tool_calls", calls);
	}
	json_array_append_new(calls,
	    json_pack("{ss,ss,s{ss,so}}", "id", id, "type", "function",
		"function", "name", name, "arguments",
		args.len > 0 ? string(args.at, args.len) : json_string("{}")));
}

/* The texts of a list of blocks, as tools of agents have them. */
static bool
blocks_text(const json_t *blocks, struct str *out)
{
	const json_t *b;
	size_t i;

	if (json_array_size(blocks) == 0)
		return false;
	json_array_foreach(blocks, i, b) {
		if (!is(text_of(b, "type"), "text"))
			return false;
		put_value(out, json_object_get(b, "text"));
	}
	return true;
}

static void
add_output(json_t *messages, const json_t *message)
{
	const json_t *data = data_of(message),
		     *output = json_object_get(data, "output");
	const char *id = text_of(data, "call_id");
	auto_str struct str text = { 0 };
	size_t n = 0;
	const char *said = jtext_string(output, &n);
	json_t *blocks = said != NULL
	    ? json_loadb(said, n, 0, NULL)
	    : json_incref((json_t *)(uintptr_t)output);

	if (id != NULL) {
		if (!blocks_text(blocks, &text)) {
			str_cut(&text, 0);
			put_value(&text, output);
		}
		json_array_append_new(messages,
		    talk_tool_result(id, str_text(&text), text.len));
	}
	json_decref(blocks);
}

json_t *
talk_tool_result(const char *call_id, const char *text, size_t n)
{
	return json_pack("{ss,ss,so}", "role", "tool", "tool_call_id", call_id,
	    "content", string(text, n));
}

/* ---- messages ---- */

static bool
ends(const char *text, const char *tail)
{
	size_t n = strlen(text), t = strlen(tail);

	return n > t && strcmp(text + n - t, tail) == 0;
}

static void
add_message(json_t *messages, const json_t *message)
{
	const char *type = text_of(message, "type"),
		   *role = text_of(message, "role");

	if (type != NULL && ends(type, "_call")) {
		add_call(messages, message);
		return;
	}
	if (type != NULL && ends(type, "_output")) {
		add_output(messages, message);
		return;
	}
	if (type != NULL && !is(type, "message"))
		return;
	if (role == NULL)
		role = "assistant";
	else if (strcmp(role, "tool") == 0 || strcmp(role, "developer") == 0)
		role = "system";
	json_array_append_new(messages,
	    json_pack("{ss,so}", "role", role, "content", content_of(message)));
}

void
talk_add_input(json_t *messages, const json_t *request)
{
	const json_t *input = json_object_get(request, "input"), *m;
	size_t i;

	json_array_foreach(input, i, m) {
		add_message(messages, m);
	}
}

static bool
has_result(const json_t *messages, size_t from, const char *id)
{
	for (size_t i = from; i < json_array_size(messages); i++)
		if (is(text_of(json_array_get(messages, i), "tool_call_id"),
			id))
			return true;
	return false;
}

void
talk_close_calls(json_t *messages, const char *text)
{
	for (size_t i = 0; i < json_array_size(messages); i++) {
		const json_t *calls =
		    json_object_get(json_array_get(messages, i), "tool_calls");
		size_t put = i + 1;

		while (
		    is(text_of(json_array_get(messages, put), "role"), "tool"))
			put++;
		for (size_t k = 0; k < json_array_size(calls); k++) {
			const char *id =
			    text_of(json_array_get(calls, k), "id");

			if (id != NULL && !has_result(messages, i + 1, id))
				json_array_insert_new(messages, put++,
				    talk_tool_result(id, text, strlen(text)));
		}
	}
}

static size_t
weight(const json_t *message)
{
	auto_str struct str text = { 0 };

	jtext_write(&text, message);
	return text.len;
}

/* A turn begins with a word of the user's: nothing may begin elsewhere. */
void
talk_trim(json_t *messages, size_t most)
{
	size_t n = json_array_size(messages), first = n, all = 0;

	for (size_t i = n; i-- > 0;) {
		const json_t *m = json_array_get(messages, i);

		all += weight(m);
		if (all > most)
			break;
		if (is(text_of(m, "role"), "user"))
			first = i;
	}
	while (first-- > 0)
		json_array_remove(messages, 0);
}
