#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/str.h"
#include "engine/ask.h"
#include "engine/escape.h"

static const char *const truncations[] = { "auto", "disabled", NULL };
static const char *const tiers[] = { "auto", "default", "flex", "scale",
	"priority", "fast", NULL };

/* clang-format off */
static const struct ask_member members[] = {
	/* name			   kind		      from to	    values  as */
	{ "input",		   ASK_STRING_ARRAY,  0, 0,	    NULL, NULL },
	{ "model",		   ASK_STRING,	      0, 0,	    NULL, "model" },
	{ "id",			   ASK_STRING,	      1, 64,	    NULL, NULL },
	{ "session_id",		   ASK_STRING,	      0, 256,	    NULL, "session_id" },
	{ "user_id",		   ASK_STRING,	      0, 256,	    NULL, "user_id" },
	{ "stream",		   ASK_BOOL,	      0, 0,	    NULL, "stream" },
	{ "instructions",	   ASK_STRING,	      0, 0,	    NULL, NULL },
	{ "previous_response_id",  ASK_STRING,	      1, 128,	    NULL, NULL },
	{ "conversation",	   ASK_STRING_OBJECT, 0, 0,	    NULL, NULL },
	{ "background",		   ASK_BOOL,	      0, 0,	    NULL, NULL },
	{ "store",		   ASK_BOOL,	      0, 0,	    NULL, NULL },
	{ "temperature",	   ASK_NUMBER,	      0, 2,	    NULL, "temperature" },
	{ "top_p",		   ASK_NUMBER,	      0, 1,	    NULL, "top_p" },
	{ "frequency_penalty",	   ASK_NUMBER,	     -2, 2,	    NULL, "frequency_penalty" },
	{ "presence_penalty",	   ASK_NUMBER,	     -2, 2,	    NULL, "presence_penalty" },
	{ "max_tokens",		   ASK_INT,	      1, 1e9,	    NULL, "max_tokens" },
	{ "max_output_tokens",	   ASK_INT,	      1, 1e9,	    NULL, "max_tokens" },
	{ "max_tool_calls",	   ASK_INT,	      1, 1e9,	    NULL, "max_tool_calls" },
	{ "n",			   ASK_INT,	      1, 5,	    NULL, "n" },
	{ "seed",		   ASK_INT,	      0, 0,	    NULL, "seed" },
	{ "stop",		   ASK_STRING_ARRAY,  0, 0,	    NULL, "stop" },
	{ "metadata",		   ASK_OBJECT,	      0, 0,	    NULL, "metadata" },
	{ "user",		   ASK_STRING,	      0, 256,	    NULL, NULL },
	{ "safety_identifier",	   ASK_STRING,	      0, 256,	    NULL, NULL },
	{ "prompt_cache_key",	   ASK_STRING,	      0, 256,	    NULL, NULL },
	{ "parallel_tool_calls",   ASK_BOOL,	      0, 0,	    NULL, "parallel_tool_calls" },
	{ "reasoning",		   ASK_OBJECT,	      0, 0,	    NULL, "reasoning" },
	{ "text",		   ASK_OBJECT,	      0, 0,	    NULL, "text" },
	{ "prompt",		   ASK_OBJECT,	      0, 0,	    NULL, "prompt" },
	{ "tools",		   ASK_ARRAY,	      0, 0,	    NULL, NULL },
	{ "tool_choice",	   ASK_STRING_OBJECT, 0, 0,	    NULL, "tool_choice" },
	{ "include",		   ASK_ARRAY,	      0, 0,	    NULL, NULL },
	{ "stream_options",	   ASK_OBJECT,	      0, 0,	    NULL, NULL },
	{ "service_tier",	   ASK_STRING,	      0, 0,	    tiers, NULL },
	{ "top_logprobs",	   ASK_INT,	      0, 20,	    NULL, NULL },
	{ "truncation",		   ASK_STRING,	      0, 0,  truncations, NULL },
};
/* clang-format on */
#define MEMBERS (sizeof members / sizeof *members)

const char *
ask_conversation(const json_t *body)
{
	const json_t *v = json_object_get(body, "conversation");
	const char *id =
	    json_string_value(json_is_object(v) ? json_object_get(v, "id") : v);

	return id != NULL ? id : "";
}

static bool
has(const json_t *body, const char *name)
{
	const json_t *v = json_object_get(body, name);

	return v != NULL && !json_is_null(v);
}

/* What the members of this must be, if it has them. */
static const struct ask_member reasoning_members[] = {
	{ .name = "effort", .kind = ASK_STRING },
	{ .name = "summary", .kind = ASK_STRING },
};
static const struct ask_member text_members[] = {
	{ .name = "format", .kind = ASK_OBJECT },
	{ .name = "verbosity", .kind = ASK_STRING },
};

static int
check_inner(const json_t *body, const char *name, const struct ask_member *m,
    size_t n, struct ask_fault *f)
{
	char inner[96];

	if (ask_check(json_object_get(body, name), m, n, f) == 0)
		return 0;
	snprintf(inner, sizeof inner, "%.30s.%.60s", name, f->param);
	memcpy(f->param, inner, sizeof inner);
	return -1;
}

static int
check_conversation(const json_t *body, struct ask_fault *f)
{
	if (!has(body, "conversation"))
		return 0;
	if (*ask_conversation(body) == '\0')
		return ask_type(f, "conversation.id", "a string",
		    json_object_get(json_object_get(body, "conversation"),
			"id"));
	if (strlen(ask_conversation(body)) > 128)
		return ask_value(f, "conversation",
		    "An id has at most 128 characters.");
	if (has(body, "previous_response_id"))
		return ask_value(f, "previous_response_id",
		    "There may be one of 'conversation' and "
		    "'previous_response_id', not both.");
	return 0;
}

int
ask_responses_check(const json_t *body, struct ask_fault *f)
{
	if (!json_is_object(body))
		return ask_type(f, "body", "an object", body);
	if (ask_check(body, members, MEMBERS, f) < 0 ||
	    check_conversation(body, f) < 0 ||
	    check_inner(body, "reasoning", reasoning_members, 2, f) < 0 ||
	    check_inner(body, "text", text_members, 2, f) < 0 ||
	    ask_metadata(json_object_get(body, "metadata"), f) < 0 ||
	    ask_tool_choice(json_object_get(body, "tool_choice"), f) < 0)
		return -1;
	if (!has(body, "input") && !has(body, "prompt") &&
	    !has(body, "previous_response_id") && !has(body, "conversation"))
		return ask_missing(f, "input");
	if (json_is_true(json_object_get(body, "background")) &&
	    json_is_false(json_object_get(body, "store")))
		return ask_value(f, "store",
		    "What runs in the background has to be stored.");
	return 0;
}

/* What was said before stands before what is new. */
static int
put_items(json_t *messages, const json_t *history, const json_t *body,
    size_t *nhistory, struct ask_fault *f)
{
	json_t *input = json_object_get(body, "input"), *old;
	int rc;

	old = history != NULL ? ask_paired(history, input) : json_array();
	rc = ask_items(messages, NULL, old, "history", f);
	*nhistory = json_array_size(messages);
	if (rc == 0 && json_is_array(input))
		rc = ask_items(messages, old, input, "input", f);
	else if (rc == 0 && json_is_string(input))
		json_array_append_new(messages,
		    ask_message("message", "user", ask_texts(input)));
	json_decref(old);
	return rc;
}

json_t *
ask_responses(const json_t *body, const json_t *history, struct ask_fault *f)
{
	const json_t *instructions = json_object_get(body, "instructions"),
		     *user = json_object_get(body, "user");
	json_t *out, *messages;
	size_t nhistory;

	if (ask_responses_check(body, f) < 0)
		return NULL;
	out = json_object();
	messages = json_array();
	json_object_set_new(out, "input", messages);
	ask_copy(out, body, members, MEMBERS);
	if (put_items(messages, history, body, &nhistory, f) < 0 ||
	    ask_tools(out, json_object_get(body, "tools"), f) < 0) {
		json_decref(out);
		return NULL;
	}
	if (json_is_string(instructions))
		json_array_insert_new(messages, 0,
		    ask_message("message", "system", ask_texts(instructions)));
	if (json_is_string(user) && !has(out, "user_id"))
		json_object_set(out, "user_id", (json_t *)(uintptr_t)user);
	if (*ask_conversation(body) != '\0')
		json_object_set_new(out, "session_id",
		    json_string(ask_conversation(body)));
	/* How many of the first messages are not new: for agents that
	 * remember by themselves. */
	if (nhistory > 0)
		json_object_set_new(out, "history",
		    json_integer((json_int_t)nhistory));
	return out;
}

/* ---- what is repeated ---- */

/* otherwise: JSON, when the request has none. */
static const struct {
	const char *name, *otherwise;
} echoes[] = {
	{ "background", "false" },
	{ "conversation", "null" },
	{ "frequency_penalty", "0.0" },
	{ "instructions", "null" },
	{ "max_output_tokens", "null" },
	{ "max_tool_calls", "null" },
	{ "metadata", "{}" },
	{ "parallel_tool_calls", "true" },
	{ "presence_penalty", "0.0" },
	{ "previous_response_id", "null" },
	{ "prompt", "null" },
	{ "prompt_cache_key", "null" },
	{ "reasoning", "{\"effort\":null,\"summary\":null}" },
	{ "safety_identifier", "null" },
	{ "service_tier", "\"default\"" },
	{ "store", "true" },
	{ "temperature", "1.0" },
	{ "text", "{\"format\":{\"type\":\"text\"}}" },
	{ "tool_choice", "\"auto\"" },
	{ "tools", "[]" },
	{ "top_logprobs", "0" },
	{ "top_p", "1.0" },
	{ "truncation", "\"disabled\"" },
	{ "user", "null" },
};

/* What the schema of a response demands and a request may leave out. */
static json_t *
completed(const char *name, json_t *v)
{
	json_t *tool;
	size_t i;

	if (strcmp(name, "conversation") == 0 && json_is_string(v))
		return json_pack("{s:O}", "id", v);
	if (strcmp(name, "text") == 0 && json_object_get(v, "format") == NULL) {
		v = json_copy(v);
		json_object_set_new(v, "format",
		    json_pack("{s:s}", "type", "text"));
		return v;
	}
	if (strcmp(name, "tools") != 0)
		return json_incref(v);
	v = json_deep_copy(v);
	json_array_foreach(v, i, tool) {
		const char *type =
		    json_string_value(json_object_get(tool, "type"));
		json_t *function = json_object_get(tool, "function");

		if (type == NULL || strcmp(type, "function") != 0)
			continue;
		if (json_is_object(function)) {
			json_object_update(tool, function);
			json_object_del(tool, "function");
		}
		if (json_object_get(tool, "description") == NULL)
			json_object_set_new(tool, "description", json_null());
		if (json_object_get(tool, "parameters") == NULL)
			json_object_set_new(tool, "parameters", json_null());
		if (!json_is_boolean(json_object_get(tool, "strict")))
			json_object_set_new(tool, "strict", json_false());
	}
	return v;
}

void
ask_responses_echo(struct str *out, const json_t *body)
{
	for (size_t i = 0; i < sizeof echoes / sizeof *echoes; i++) {
		json_t *v = json_object_get(body, echoes[i].name);

		str_printf(out, "%s\"%s\":", i > 0 ? "," : "", echoes[i].name);
		if (v == NULL || json_is_null(v)) {
			str_puts(out, echoes[i].otherwise);
			continue;
		}
		v = completed(echoes[i].name, v);
		escape_json(out, v);
		json_decref(v);
	}
}

/* ---- what is stored ---- */

/* As the API tells it: a message has parts, an id and a status. */
static json_t *
stored(json_t *item, const char *id)
{
	const char *role = json_string_value(json_object_get(item, "role"));
	json_t *out = json_copy(item), *content;
	const char *type = role != NULL && strcmp(role, "assistant") == 0
	    ? "output_text"
	    : "input_text";

	if (json_object_get(out, "type") == NULL)
		json_object_set_new(out, "type", json_string("message"));
	if (!json_is_string(json_object_get(out, "id")))
		json_object_set_new(out, "id", json_string(id));
	if (role == NULL)
		return out;
	if (json_object_get(out, "status") == NULL)
		json_object_set_new(out, "status", json_string("completed"));
	content = json_object_get(out, "content");
	if (json_is_string(content)) {
		content =
		    json_pack("[{s:s,s:O}]", "type", type, "text", content);
		if (strcmp(type, "output_text") == 0)
			json_object_set_new(json_array_get(content, 0),
			    "annotations", json_array());
		json_object_set_new(out, "content", content);
	}
	return out;
}

json_t *
ask_responses_input(const json_t *body, const char *unique)
{
	json_t *input = json_object_get(body, "input"), *out = json_array(),
	       *item, *one;
	char id[96];
	size_t i;

	if (json_is_string(input)) {
		one = json_pack("{s:s,s:O}", "role", "user", "content", input);
		snprintf(id, sizeof id, "msg_%.60s_0", unique);
		json_array_append_new(out, stored(one, id));
		json_decref(one);
		return out;
	}
	json_array_foreach(input, i, item) {
		snprintf(id, sizeof id, "%s_%.60s_%zu",
		    json_object_get(item, "role") != NULL ? "msg" : "item",
		    unique, i);
		json_array_append_new(out, stored(item, id));
	}
	return out;
}
