#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "engine/ask.h"

/* clang-format off */
static const struct ask_member members[] = {
	/* name			     kind		from to	   values as */
	{ "messages",		     ASK_ARRAY,		1, 1e6,	   NULL, NULL },
	{ "model",		     ASK_STRING,	0, 0,	   NULL, "model" },
	{ "id",			     ASK_STRING,	1, 64,	   NULL, NULL },
	{ "session_id",		     ASK_STRING,	0, 256,	   NULL, "session_id" },
	{ "user_id",		     ASK_STRING,	0, 256,	   NULL, "user_id" },
	{ "user",		     ASK_STRING,	0, 256,	   NULL, NULL },
	{ "stream",		     ASK_BOOL,		0, 0,	   NULL, "stream" },
	{ "stream_options",	     ASK_OBJECT,	0, 0,	   NULL, NULL },
	{ "temperature",	     ASK_NUMBER,	0, 2,	   NULL, "temperature" },
	{ "top_p",		     ASK_NUMBER,	0, 1,	   NULL, "top_p" },
	{ "frequency_penalty",	     ASK_NUMBER,       -2, 2,	   NULL, "frequency_penalty" },
	{ "presence_penalty",	     ASK_NUMBER,       -2, 2,	   NULL, "presence_penalty" },
	{ "max_tokens",		     ASK_INT,		1, 1e9,	   NULL, "max_tokens" },
	{ "max_completion_tokens",   ASK_INT,		1, 1e9,	   NULL, "max_tokens" },
	{ "n",			     ASK_INT,		1, 1e6,	   NULL, NULL },
	{ "seed",		     ASK_INT,		0, 0,	   NULL, "seed" },
	{ "stop",		     ASK_STRING_ARRAY,	0, 0,	   NULL, "stop" },
	{ "metadata",		     ASK_OBJECT,	0, 0,	   NULL, "metadata" },
	{ "tools",		     ASK_ARRAY,		0, 0,	   NULL, NULL },
	{ "tool_choice",	     ASK_STRING_OBJECT,	0, 0,	   NULL, "tool_choice" },
	{ "parallel_tool_calls",     ASK_BOOL,		0, 0,	   NULL, "parallel_tool_calls" },
	{ "response_format",	     ASK_OBJECT,	0, 0,	   NULL, "response_format" },
	{ "reasoning_effort",	     ASK_STRING,	0, 0,	   NULL, "reasoning_effort" },
	{ "logprobs",		     ASK_BOOL,		0, 0,	   NULL, NULL },
	{ "top_logprobs",	     ASK_INT,		0, 20,	   NULL, NULL },
	{ "logit_bias",		     ASK_OBJECT,	0, 0,	   NULL, NULL },
	{ "store",		     ASK_BOOL,		0, 0,	   NULL, NULL },
	{ "service_tier",	     ASK_STRING,	0, 0,	   NULL, NULL },
};

static const struct ask_member message_members[] = {
	{ "role",	  ASK_STRING, 0, 0, NULL, NULL },
	{ "name",	  ASK_STRING, 0, 0, NULL, NULL },
	{ "tool_calls",	  ASK_ARRAY,  0, 0, NULL, NULL },
	{ "tool_call_id", ASK_STRING, 0, 0, NULL, NULL },
	{ "refusal",	  ASK_STRING, 0, 0, NULL, NULL },
	{ "function_call", ASK_OBJECT, 0, 0, NULL, NULL },
	{ "reasoning_content", ASK_STRING, 0, 0, NULL, NULL },
};
/* clang-format on */
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct into {
	json_t *messages;
	const json_t *list; /* the request's */
	size_t at;
	char param[48];
	struct ask_fault *fault;
};

static int
append(struct into *in, const char *type, const char *role, json_t *content)
{
	return content != NULL ? json_array_append_new(in->messages,
				     ask_message(type, role, content))
			       : -1;
}

static int
put_content(struct into *in, const json_t *m, const char *role)
{
	char at[96];

	snprintf(at, sizeof at, "%s.content", in->param);
	return append(in, "message", role,
	    ask_content(json_object_get(m, "content"), at, in->fault));
}

static int
put_call(struct into *in, const json_t *id, const json_t *function,
    const char *at)
{
	const json_t *name = json_object_get(function, "name"),
		     *args = json_object_get(function, "arguments");
	char where[96];

	if (json_is_string(name) && json_is_string(args))
		return append(in, "function_call", "assistant",
		    ask_data(json_pack("{s:O,s:O,s:O}", "call_id", id, "name",
			name, "arguments", args)));
	snprintf(where, sizeof where, "%.60s.function.%s", at,
	    json_is_string(name) ? "arguments" : "name");
	return ask_type(in->fault, where, "a string",
	    json_is_string(name) ? args : name);
}

static int
put_calls(struct into *in, const json_t *calls)
{
	json_t *call;
	size_t i;

	json_array_foreach(calls, i, call) {
		const json_t *id = json_object_get(call, "id"),
			     *custom = json_object_get(call, "custom");
		char at[96];

		snprintf(at, sizeof at, "%s.tool_calls[%zu]", in->param, i);
		if (!json_is_string(id))
			return ask_type(in->fault, at, "an object with an id",
			    call);
		if (json_is_object(custom)) {
			if (append(in, "plugin_call", "assistant",
				ask_data(json_pack("{s:O,s:O?,s:O?}", "call_id",
				    id, "name", json_object_get(custom, "name"),
				    "arguments",
				    json_object_get(custom, "input")))) < 0)
				return -1;
		} else if (put_call(in, id, json_object_get(call, "function"),
			       at) < 0) {
			return -1;
		}
	}
	return 0;
}

static int
take_assistant(struct into *in, const json_t *m, const char *role)
{
	const json_t *content = json_object_get(m, "content"),
		     *refusal = json_object_get(m, "refusal"),
		     *thought = json_object_get(m, "reasoning_content"),
		     *calls = json_object_get(m, "tool_calls"),
		     *old = json_object_get(m, "function_call");
	bool none = content == NULL || json_is_null(content);

	if (json_is_string(thought) && json_string_length(thought) > 0 &&
	    append(in, "reasoning", role, ask_texts(thought)) < 0)
		return -1;
	if (json_is_string(refusal) && json_string_length(refusal) > 0 &&
	    append(in, "message", role,
		json_pack("[{s:s,s:O}]", "type", "refusal", "refusal",
		    refusal)) < 0)
		return -1;
	if (none && !json_is_string(refusal) && !json_is_array(calls) &&
	    !json_is_object(old))
		return put_content(in, m, role);
	if (!none && put_content(in, m, role) < 0)
		return -1;
	if (json_is_object(old) &&
	    put_call(in, json_object_get(old, "name"), old, in->param) < 0)
		return -1;
	return put_calls(in, calls);
}

static json_t *
name_of_call(const struct into *in, const json_t *id)
{
	json_t *call;
	size_t k;

	for (size_t i = in->at; i-- > 0;) {
		json_array_foreach(json_object_get(json_array_get(in->list, i),
				       "tool_calls"),
		    k, call) {
			if (json_equal(json_object_get(call, "id"), id))
				return json_object_get(json_object_get(call,
							   "function"),
				    "name");
		}
	}
	return NULL;
}

static int
take_tool(struct into *in, const json_t *m, const char *role)
{
	const json_t *id = json_object_get(m, "tool_call_id"),
		     *content = json_object_get(m, "content"), *name;
	json_t *text, *part;
	char at[96];
	size_t i;

	if (id == NULL)
		id = json_object_get(m, "name"); /* of the old functions */
	snprintf(at, sizeof at, "%s.tool_call_id", in->param);
	if (!json_is_string(id))
		return ask_missing(in->fault, at);
	snprintf(at, sizeof at, "%s.content", in->param);
	if (!json_is_string(content) && !json_is_array(content))
		return content == NULL
		    ? ask_missing(in->fault, at)
		    : ask_type(in->fault, at, "a string or an array", content);
	text = json_is_string(content)
	    ? json_incref((json_t *)(uintptr_t)content)
	    : json_string("");
	json_array_foreach(content, i, part) {
		const char *more =
		    json_string_value(json_object_get(part, "text"));
		json_t *both = json_sprintf("%s%s", json_string_value(text),
		    more != NULL ? more : "");

		json_decref(text);
		text = both;
	}
	name = name_of_call(in, id);
	return append(in, "function_call_output", role,
	    ask_data(json_pack("{s:O,s:O?,s:o}", "call_id", id, "name", name,
		"output", text)));
}

static const struct {
	const char *role, *ours;
	int (*take)(struct into *, const json_t *, const char *role);
} roles[] = {
	{ "system", "system", put_content },
	{ "developer", "system", put_content },
	{ "user", "user", put_content },
	{ "assistant", "assistant", take_assistant },
	{ "tool", "tool", take_tool },
	{ "function", "tool", take_tool },
};

static int
take(struct into *in, const json_t *m)
{
	const char *role = json_string_value(json_object_get(m, "role"));
	char at[96];

	if (!json_is_object(m))
		return ask_type(in->fault, in->param, "an object", m);
	if (ask_check(m, message_members, COUNT(message_members), in->fault) <
	    0) {
		snprintf(at, sizeof at, "%s.%.40s", in->param,
		    in->fault->param);
		memcpy(in->fault->param, at, sizeof at);
		return -1;
	}
	snprintf(at, sizeof at, "%s.role", in->param);
	if (role == NULL)
		return ask_missing(in->fault, at);
	for (size_t i = 0; i < COUNT(roles); i++)
		if (strcmp(roles[i].role, role) == 0)
			return roles[i].take(in, m, roles[i].ours);
	return ask_value(in->fault, at, "'%.40s' is no role.", role);
}

static int
check(const json_t *body, struct ask_fault *f)
{
	const json_t *n = json_object_get(body, "n");

	if (!json_is_object(body))
		return ask_type(f, "body", "an object", body);
	if (ask_check(body, members, COUNT(members), f) < 0 ||
	    ask_metadata(json_object_get(body, "metadata"), f) < 0 ||
	    ask_tool_choice(json_object_get(body, "tool_choice"), f) < 0)
		return -1;
	if (!json_is_array(json_object_get(body, "messages")))
		return ask_missing(f, "messages");
	if (json_is_number(n) && json_number_value(n) != 1)
		return ask_value(f, "n",
		    "An agent gives one answer: 'n' is 1.");
	return 0;
}

json_t *
ask_chat(const json_t *body, struct ask_fault *f)
{
	const json_t *list = json_object_get(body, "messages"),
		     *user = json_object_get(body, "user");
	json_t *out, *m;
	struct into in = { .list = list, .fault = f };

	if (check(body, f) < 0)
		return NULL;
	out = json_object();
	in.messages = json_array();
	json_object_set_new(out, "input", in.messages);
	ask_copy(out, body, members, COUNT(members));
	json_array_foreach(list, in.at, m) {
		snprintf(in.param, sizeof in.param, "messages[%zu]", in.at);
		if (take(&in, m) < 0) {
			json_decref(out);
			return NULL;
		}
	}
	if (ask_tools(out, json_object_get(body, "tools"), f) < 0) {
		json_decref(out);
		return NULL;
	}
	if (json_is_string(user) && json_object_get(out, "user_id") == NULL)
		json_object_set(out, "user_id", (json_t *)(uintptr_t)user);
	return out;
}
