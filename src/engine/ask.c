#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "engine/ask.h"

int
ask_missing(struct ask_fault *f, const char *param)
{
	f->code = "missing_required_parameter";
	snprintf(f->param, sizeof f->param, "%s", param);
	snprintf(f->text, sizeof f->text, "'%.90s' is missing.", param);
	return -1;
}

static const char *
type_name(const json_t *v)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object",
		[JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",
		[JSON_INTEGER] = "an integer",
		[JSON_REAL] = "a number",
		[JSON_TRUE] = "a boolean",
		[JSON_FALSE] = "a boolean",
		[JSON_NULL] = "null",
	};

	return v == NULL ? "nothing" : names[json_typeof(v)];
}

int
ask_type(struct ask_fault *f, const char *param, const char *wanted,
    const json_t *got)
{
	f->code = "invalid_type";
	snprintf(f->param, sizeof f->param, "%s", param);
	snprintf(f->text, sizeof f->text, "'%.90s' has to be %s and is %s.",
	    param, wanted, type_name(got));
	return -1;
}

int
ask_value(struct ask_fault *f, const char *param, const char *fmt, ...)
{
	va_list ap;

	f->code = "invalid_value";
	snprintf(f->param, sizeof f->param, "%s", param);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
	return -1;
}

/* ---- members ---- */

static bool
is_kind(enum ask_kind kind, const json_t *v)
{
	switch (kind) {
	case ASK_STRING:
		return json_is_string(v);
	case ASK_BOOL:
		return json_is_boolean(v);
	case ASK_INT:
		return json_is_integer(v) ||
		    (json_is_real(v) &&
			json_real_value(v) == floor(json_real_value(v)) &&
			fabs(json_real_value(v)) < 9e15);
	case ASK_NUMBER:
		return json_is_number(v);
	case ASK_OBJECT:
		return json_is_object(v);
	case ASK_ARRAY:
		return json_is_array(v);
	case ASK_STRING_ARRAY:
		return json_is_string(v) || json_is_array(v);
	case ASK_STRING_OBJECT:
		return json_is_string(v) || json_is_object(v);
	}
	return false;
}

static const char *const kind_names[] = {
	[ASK_STRING] = "a string",
	[ASK_BOOL] = "a boolean",
	[ASK_INT] = "an integer",
	[ASK_NUMBER] = "a number",
	[ASK_OBJECT] = "an object",
	[ASK_ARRAY] = "an array",
	[ASK_STRING_ARRAY] = "a string or an array",
	[ASK_STRING_OBJECT] = "a string or an object",
};

static int
check_word(const struct ask_member *m, const char *text, struct ask_fault *f)
{
	char all[160] = "";
	size_t n = 0;

	for (int i = 0; m->words[i] != NULL; i++) {
		if (strcmp(m->words[i], text) == 0)
			return 0;
		if (n < sizeof all)
			n += (size_t)snprintf(all + n, sizeof all - n, "%s%s",
			    i > 0 ? ", " : "", m->words[i]);
	}
	return ask_value(f, m->name,
	    "'%.40s' is none of the values of '%s': %s.", text, m->name, all);
}

static int
check_one(const struct ask_member *m, const json_t *v, struct ask_fault *f)
{
	double n;

	if (!is_kind(m->kind, v))
		return ask_type(f, m->name, kind_names[m->kind], v);
	if (m->words != NULL && json_is_string(v))
		return check_word(m, json_string_value(v), f);
	if (m->min >= m->max)
		return 0;
	n = json_is_string(v)  ? (double)json_string_length(v)
	    : json_is_array(v) ? (double)json_array_size(v)
			       : json_number_value(v);
	if (n >= m->min && n <= m->max)
		return 0;
	return ask_value(f, m->name, "%s '%s' has to be from %g to %g.",
	    json_is_number(v) ? "The value of" : "The length of", m->name,
	    m->min, m->max);
}

int
ask_check(const json_t *object, const struct ask_member *m, size_t n,
    struct ask_fault *f)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_object_get(object, m[i].name);

		if (v != NULL && !json_is_null(v) && check_one(&m[i], v, f) < 0)
			return -1;
	}
	return 0;
}

void
ask_copy(json_t *to, const json_t *from, const struct ask_member *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_object_get(from, m[i].name);

		if (m[i].as == NULL || v == NULL || json_is_null(v))
			continue;
		if (m[i].kind == ASK_INT && json_is_real(v))
			json_object_set_new(to, m[i].as,
			    json_integer((json_int_t)json_real_value(v)));
		else
			json_object_set(to, m[i].as, v);
	}
}

/* ---- what both protocols have ---- */

#define META_PAIRS 16
#define META_KEY 64
#define META_VALUE 512

int
ask_metadata(const json_t *meta, struct ask_fault *f)
{
	json_t *v, *all = (json_t *)(uintptr_t)meta;
	const char *key;

	if (meta == NULL || json_is_null(meta))
		return 0;
	if (json_object_size(meta) > META_PAIRS)
		return ask_value(f, "metadata",
		    "'metadata' has at most %d pairs.", META_PAIRS);
	json_object_foreach(all, key, v) {
		char param[96];

		snprintf(param, sizeof param, "metadata.%.80s", key);
		if (!json_is_string(v))
			return ask_type(f, param, "a string", v);
		if (strlen(key) > META_KEY ||
		    json_string_length(v) > 4 * META_VALUE)
			return ask_value(f, param,
			    "Keys of 'metadata' have at most %d characters, "
			    "values %d.",
			    META_KEY, META_VALUE);
	}
	return 0;
}

static const struct ask_member function_members[] = {
	{ .name = "name", .kind = ASK_STRING, .min = 1, .max = 128 },
	{ .name = "description", .kind = ASK_STRING },
	{ .name = "parameters", .kind = ASK_OBJECT },
	{ .name = "strict", .kind = ASK_BOOL },
};
#define FUNCTION_MEMBERS (sizeof function_members / sizeof *function_members)

/* In Responses a function's members stand in the tool itself. */
static json_t *
nested(const json_t *tool)
{
	json_t *function = json_object(), *v;

	for (size_t i = 0; i < FUNCTION_MEMBERS; i++) {
		v = json_object_get(tool, function_members[i].name);
		if (v != NULL)
			json_object_set(function, function_members[i].name, v);
	}
	return json_pack("{s:s,s:o}", "type", "function", "function", function);
}

static json_t *
one_tool(json_t *tool, const char *param, struct ask_fault *f)
{
	const json_t *type = json_object_get(tool, "type"),
		     *function = json_object_get(tool, "function");
	const json_t *in = function != NULL ? function : tool;

	if (!json_is_object(tool)) {
		ask_type(f, param, "an object", tool);
		return NULL;
	}
	if (!json_is_string(type)) {
		ask_type(f, param, "an object with a type", tool);
		return NULL;
	}
	if (strcmp(json_string_value(type), "function") != 0)
		return json_incref(tool);
	if (!json_is_object(in)) {
		ask_type(f, param, "a tool with an object 'function'", in);
		return NULL;
	}
	if (ask_check(in, function_members, FUNCTION_MEMBERS, f) < 0) {
		snprintf(f->param, sizeof f->param, "%.60s", param);
		return NULL;
	}
	if (!json_is_string(json_object_get(in, "name"))) {
		char missing[96];

		snprintf(missing, sizeof missing, "%.60s%s.name", param,
		    function != NULL ? ".function" : "");
		ask_missing(f, missing);
		return NULL;
	}
	return nested(in);
}

int
ask_tools(json_t *to, const json_t *tools, struct ask_fault *f)
{
	json_t *out, *tool, *one;
	char param[32];
	size_t i;

	if (!json_is_array(tools))
		return 0;
	out = json_array();
	json_array_foreach(tools, i, tool) {
		snprintf(param, sizeof param, "tools[%zu]", i);
		one = one_tool(tool, param, f);
		if (one == NULL) {
			json_decref(out);
			return -1;
		}
		json_array_append_new(out, one);
	}
	json_object_set_new(to, "tools", out);
	return 0;
}

int
ask_tool_choice(const json_t *v, struct ask_fault *f)
{
	static const char *const words[] = { "none", "auto", "required", NULL };
	static const struct ask_member one = { .name = "tool_choice",
		.kind = ASK_STRING_OBJECT,
		.words = words };

	if (v == NULL || json_is_null(v))
		return 0;
	if (check_one(&one, v, f) < 0)
		return -1;
	if (json_is_object(v) && !json_is_string(json_object_get(v, "type")))
		return ask_type(f, "tool_choice.type", "a string",
		    json_object_get(v, "type"));
	return 0;
}
