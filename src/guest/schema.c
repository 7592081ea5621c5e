#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/err.h"
#include "base/str.h"
#include "guest/schema.h"

/* What a client may add to any call, and what it then gets anyway. */
static const char *const ignored[] = { "split_output", "timeout" };

/* clang-format off */
static const struct {
	const char *json, *an;
} types[] = {
	[ARG_TEXT]	= { "string",	"a string" },
	[ARG_INT]	= { "integer",	"an integer" },
	[ARG_BOOL]	= { "boolean",	"true or false" },
	[ARG_LIST]	= { "array",	"an array of strings" },
};
/* clang-format on */

static json_t *
schema_param(const struct guest_param *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "type", json_string(types[p->type].json));
	if (p->type == ARG_LIST)
		json_object_set_new(o, "items",
		    json_pack("{s:s}", "type", "string"));
	if (p->type == ARG_INT) {
		json_object_set_new(o, "minimum", json_integer(p->min));
		json_object_set_new(o, "maximum", json_integer(p->max));
	}
	json_object_set_new(o, "description", json_string(p->text));
	return o;
}

json_t *
schema_tool(const struct guest_tool *t)
{
	json_t *properties = json_object(), *required = json_array();

	for (size_t i = 0; i < t->nparam; i++) {
		const struct guest_param *p = &t->param[i];

		json_object_set_new(properties, p->name, schema_param(p));
		if (!p->optional)
			json_array_append_new(required, json_string(p->name));
	}
	return json_pack("{s:s, s:{s:s, s:{s:s, s:s, s:{s:s, s:o, s:o}}}}",
	    "name", t->name, "json_schema", "type", "function", "function",
	    "name", t->name, "description", t->text, "parameters", "type",
	    "object", "properties", properties, "required", required);
}

json_t *
schema_tools(const struct guest *g)
{
	json_t *all = json_object();
	const struct guest_tool *t;

	for (size_t i = 0; (t = guest_tool(g, i)) != NULL; i++)
		if (!t->internal)
			json_object_set_new(all, t->name, schema_tool(t));
	return all;
}

/* ---- arguments ---- */

static int
wrong(const struct guest_tool *t, const struct guest_param *p, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s: %s must be %s", t->name, p->name,
	    types[p->type].an);
}

static int
take_text(const struct guest_tool *t, const struct guest_param *p, json_t *v,
    struct guest_arg *a, struct err *err)
{
	if (!json_is_string(v))
		return wrong(t, p, err);
	a->text = json_string_value(v);
	a->len = json_string_length(v);
	if (a->len == 0 && p->min > 0)
		return err_set(err, ERR_INVALID, "%s: %s is required", t->name,
		    p->name);
	if ((int64_t)a->len < p->min ||
	    (p->max > 0 && (int64_t)a->len > p->max))
		return err_set(err, ERR_INVALID,
		    "%s: %s has %zu bytes; %" PRId64 " to %" PRId64
		    " are allowed",
		    t->name, p->name, a->len, p->min, p->max);
	return 0;
}

static int
take_int(const struct guest_tool *t, const struct guest_param *p, json_t *v,
    struct guest_arg *a, struct err *err)
{
	double d = json_real_value(v);

	/* Models write 5.0 where they mean 5. */
	if (json_is_real(v) && floor(d) == d && fabs(d) < 9007199254740992.0)
		a->num = (int64_t)d;
	else if (json_is_integer(v))
		a->num = json_integer_value(v);
	else
		return wrong(t, p, err);
	if (a->num < p->min || a->num > p->max)
		return err_set(err, ERR_INVALID,
		    "%s: %s must be %" PRId64 " to %" PRId64, t->name, p->name,
		    p->min, p->max);
	return 0;
}

static int
take_bool(const struct guest_tool *t, const struct guest_param *p, json_t *v,
    struct guest_arg *a, struct err *err)
{
	if (!json_is_boolean(v))
		return wrong(t, p, err);
	a->num = json_is_true(v);
	return 0;
}

static int
take_list(const struct guest_tool *t, const struct guest_param *p, json_t *v,
    struct guest_arg *a, struct err *err)
{
	const char **list;
	json_t *item;
	size_t i;

	if (!json_is_array(v))
		return wrong(t, p, err);
	json_array_foreach(v, i, item)
		if (!json_is_string(item) ||
		    strlen(json_string_value(item)) != json_string_length(item))
			return wrong(t, p, err);
	list = xcalloc(json_array_size(v) + 1, sizeof *list);
	json_array_foreach(v, i, item)
		list[i] = json_string_value(item);
	a->list = list;
	return 0;
}

static int (*const take[])(const struct guest_tool *,
    const struct guest_param *, json_t *, struct guest_arg *, struct err *) = {
	[ARG_TEXT] = take_text,
	[ARG_INT] = take_int,
	[ARG_BOOL] = take_bool,
	[ARG_LIST] = take_list,
};

static bool
absent(const struct guest_param *p, const json_t *v)
{
	if (v == NULL || json_is_null(v))
		return true;
	return p->optional && json_is_string(v) && json_string_length(v) == 0;
}

static int
check_names(const struct guest_tool *t, json_t *args, struct err *err)
{
	const char *name;
	json_t *v;

	json_object_foreach(args, name, v) {
		bool known = false;

		for (size_t i = 0; i < t->nparam && !known; i++)
			known = strcmp(t->param[i].name, name) == 0;
		for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
			known = known || strcmp(ignored[i], name) == 0;
		if (!known)
			return err_set(err, ERR_INVALID,
			    "%s: there is no argument '%.64s'", t->name, name);
	}
	return 0;
}

static int
fill(const struct guest_tool *t, json_t *args, struct schema_args *out,
    struct err *err)
{
	for (size_t i = 0; i < t->nparam; i++) {
		const struct guest_param *p = &t->param[i];
		json_t *v = json_object_get(args, p->name);
		struct guest_arg *a = &out->arg[out->n];

		if (absent(p, v)) {
			if (p->optional)
				continue;
			return err_set(err, ERR_INVALID, "%s: %s is required",
			    t->name, p->name);
		}
		a->name = p->name;
		a->type = p->type;
		if (take[p->type](t, p, v, a, err) < 0) {
			a->name = NULL;
			return -1;
		}
		out->n++;
	}
	return 0;
}

int
schema_args(const struct guest_tool *t, json_t *args, struct schema_args *out,
    struct err *err)
{
	struct schema_args made = { 0 };

	if (args != NULL && !json_is_object(args) && !json_is_null(args))
		return err_set(err, ERR_INVALID,
		    "%s: the arguments must be an object", t->name);
	if (check_names(t, args, err) < 0)
		return -1;
	if (fill(t, args, &made, err) < 0) {
		schema_args_free(&made);
		return -1;
	}
	*out = made;
	return 0;
}

void
schema_args_free(struct schema_args *a)
{
	for (size_t i = 0; i < a->n; i++)
		free((void *)(uintptr_t)a->arg[i].list);
	*a = (struct schema_args){ 0 };
}
