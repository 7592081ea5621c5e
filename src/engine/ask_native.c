#include "engine/ask_native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/str.h"
#include "engine/event.h"
#include "engine/invalid.h"
#include "json/jtext.h"

static bool
absent(const json_t *v)
{
	return v == NULL || json_is_null(v);
}

int
ask_bool(const json_t *v)
{
	static const struct {
		const char *word;
		int is;
	} words[] = { { "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 },
		{ "on", 1 }, { "off", 0 }, { "1", 1 }, { "0", 0 }, { "t", 1 },
		{ "f", 0 }, { "y", 1 }, { "n", 0 } };
	const char *text = jtext_cstring(v);

	if (json_is_boolean(v))
		return json_is_true(v);
	if (json_is_number(v) &&
	    (json_number_value(v) == 0 || json_number_value(v) == 1))
		return json_number_value(v) != 0;
	for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words;
	     i++)
		if (strcasecmp(words[i].word, text) == 0)
			return words[i].is;
	return -1;
}

/* ---- scalars ---- */

static void
check_string(const struct place *at, const json_t *v, struct invalid *wrong)
{
	size_t n;

	if (!absent(v) && jtext_string(v, &n) == NULL)
		invalid_add(wrong, at, "string_type",
		    "Input should be a valid string", v, NULL);
}

/* A number, or a text that is one. */
static bool
number_of(const json_t *v, double *n)
{
	const char *text = jtext_cstring(v);
	char *end;

	if (json_is_number(v) || json_is_boolean(v)) {
		*n =
		    json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
		return true;
	}
	if (text == NULL || *text == '\0')
		return false;
	*n = strtod(text, &end);
	return *end == '\0' && isfinite(*n);
}

static void
check_number(const struct place *at, const json_t *v, struct invalid *wrong)
{
	double n;

	if (!absent(v) && !number_of(v, &n))
		invalid_add(wrong, at,
		    json_is_string(v) ? "float_parsing" : "float_type",
		    json_is_string(v) ? "Input should be a valid number, "
					"unable to parse string as a number"
				      : "Input should be a valid number",
		    v, NULL);
}

static void
check_int(const struct place *at, const json_t *v, struct invalid *wrong)
{
	double n;

	if (absent(v))
		return;
	if (!number_of(v, &n)) {
		invalid_add(wrong, at,
		    json_is_string(v) ? "int_parsing" : "int_type",
		    json_is_string(v) ? "Input should be a valid integer, "
					"unable to parse string as an integer"
				      : "Input should be a valid integer",
		    v, NULL);
	} else if (floor(n) != n) {
		invalid_add(wrong, at, "int_from_float",
		    "Input should be a valid integer, got a number with a "
		    "fractional part",
		    v, NULL);
	}
}

static void
check_n(const struct place *at, const json_t *v, struct invalid *wrong)
{
	unsigned before = wrong->n;
	double n;

	check_int(at, v, wrong);
	if (absent(v) || wrong->n > before || !number_of(v, &n))
		return;
	if (n < 1)
		invalid_add(wrong, at, "greater_than_equal",
		    "Input should be greater than or equal to 1", v,
		    "{\"ge\":1}");
	if (n > 5)
		invalid_add(wrong, at, "less_than_equal",
		    "Input should be less than or equal to 5", v, "{\"le\":5}");
}

static void
check_bool(const struct place *at, const json_t *v, struct invalid *wrong)
{
	if (!absent(v) && ask_bool(v) < 0)
		invalid_add(wrong, at, "bool_parsing",
		    "Input should be a valid boolean, unable to interpret "
		    "input",
		    v, NULL);
}

static void
check_stop(const struct place *at, const json_t *v, struct invalid *wrong)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(v)) {
		check_string(at, v, wrong);
		return;
	}
	json_array_foreach(v, i, item)
		check_string(&(struct place){ at, NULL, i }, item, wrong);
}

static void
check_list(const struct place *at, const json_t *v, struct invalid *wrong)
{
	if (!absent(v) && !json_is_array(v))
		invalid_add(wrong, at, "list_type",
		    "Input should be a valid list", v, NULL);
}

/* ---- messages ---- */

static void
not_an_object(const struct place *at, const json_t *v, struct invalid *wrong)
{
	invalid_add(wrong, at, "model_attributes_type",
	    "Input should be a valid dictionary or object to extract fields "
	    "from",
	    v, NULL);
}

static void
check_part_fields(const struct place *at, const json_t *part, int type,
    struct invalid *wrong)
{
	const char *const *field = part_kinds[type].field;

	for (; *field != NULL; field++) {
		const json_t *v = json_object_get(part, *field);
		const struct place place = { at, *field, 0 };

		if (type != PART_DATA)
			check_string(&place, v, wrong);
		else if (!absent(v) && !json_is_object(v))
			invalid_add(wrong, &place, "dict_type",
			    "Input should be a valid dictionary", v, NULL);
	}
}

static void
check_part(const struct place *at, const json_t *part, struct invalid *wrong)
{
	const json_t *tag = json_object_get(part, "type");
	const char *word = jtext_cstring(tag);
	int type = word != NULL ? part_type_parse(word) : -1;

	if (!json_is_object(part)) {
		not_an_object(at, part, wrong);
	} else if (tag == NULL) {
		invalid_add(wrong, at, "union_tag_not_found",
		    "Unable to extract tag using discriminator 'type'", part,
		    "{\"discriminator\":\"'type'\"}");
	} else if (type < 0) {
		invalid_add(wrong, at, "union_tag_invalid",
		    "Input tag does not match any of the expected tags: "
		    "'text', 'data', 'image', 'audio', 'file', 'refusal', "
		    "'video'",
		    part, NULL);
	} else {
		check_part_fields(at, part, type, wrong);
	}
}

static void
check_role(const struct place *at, const json_t *v, struct invalid *wrong)
{
	static const char *const roles[] = { "assistant", "user", "system",
		"tool" };
	const char *word = jtext_cstring(v);

	if (absent(v))
		return;
	for (size_t i = 0; word != NULL && i < 4; i++)
		if (strcmp(roles[i], word) == 0)
			return;
	invalid_add(wrong, at, "literal_error",
	    "Input should be 'assistant', 'user', 'system' or 'tool'", v,
	    "{\"expected\":\"'assistant', 'user', 'system' or 'tool'\"}");
}

static void
check_message(const struct place *at, json_t *m, struct invalid *wrong)
{
	json_t *content, *part;
	size_t i;

	if (!json_is_object(m)) {
		not_an_object(at, m, wrong);
		return;
	}
	check_role(&(struct place){ at, "role", 0 }, json_object_get(m, "role"),
	    wrong);
	check_string(&(struct place){ at, "type", 0 },
	    json_object_get(m, "type"), wrong);
	if (absent(json_object_get(m, "type")))
		json_object_set_new(m, "type", json_string("message"));
	content = json_object_get(m, "content");
	if (absent(content)) {
		json_object_set_new(m, "content", json_array());
		return;
	}
	check_list(&(struct place){ at, "content", 0 }, content, wrong);
	json_array_foreach(content, i, part) {
		const struct place list = { at, "content", 0 };

		check_part(&(struct place){ &list, NULL, i }, part, wrong);
	}
}

static void
check_input(json_t *q, struct invalid *wrong)
{
	const struct place at = { NULL, "input", 0 };
	json_t *input = json_object_get(q, "input"), *m;
	size_t i;

	if (input == NULL) {
		invalid_missing(wrong, NULL, "input", q);
		return;
	}
	if (!json_is_array(input)) {
		invalid_add(wrong, &at, "list_type",
		    "Input should be a valid list", input, NULL);
		return;
	}
	json_array_foreach(input, i, m)
		check_message(&(struct place){ &at, NULL, i }, m, wrong);
}

/* clang-format off */
static const struct {
	const char *name;
	void (*check)(const struct place *, const json_t *, struct invalid *);
} fields[] = {
	{ "stream",		check_bool },
	{ "id",			check_string },
	{ "model",		check_string },
	{ "top_p",		check_number },
	{ "temperature",	check_number },
	{ "frequency_penalty",	check_number },
	{ "presence_penalty",	check_number },
	{ "max_tokens",		check_int },
	{ "stop",		check_stop },
	{ "n",			check_n },
	{ "seed",		check_int },
	{ "tools",		check_list },
	{ "session_id",		check_string },
	{ "user_id",		check_string },
};
/* clang-format on */

int
ask_native(const json_t *body, json_t **request, bool *stream,
    struct invalid *wrong)
{
	json_t *q;

	if (absent(body)) {
		invalid_add(wrong, NULL, "missing", "Field required", NULL,
		    NULL);
		return -1;
	}
	if (!json_is_object(body)) {
		invalid_add(wrong, NULL, "dict_type",
		    "Input should be a valid dictionary", body, NULL);
		return -1;
	}
	q = json_deep_copy(body);
	check_input(q, wrong);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		fields[i].check(&(struct place){ NULL, fields[i].name, 0 },
		    json_object_get(q, fields[i].name), wrong);
	if (wrong->n > 0) {
		json_decref(q);
		return -1;
	}
	*stream = ask_bool(json_object_get(q, "stream")) != 0;
	*request = q;
	return 0;
}
